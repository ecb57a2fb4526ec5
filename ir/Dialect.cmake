# The attn dialect (MLIR side).
set(LLVM_TARGET_DEFINITIONS AttnOps.td)
mlir_tablegen(AttnDialect.h.inc -gen-dialect-decls -dialect=attn)
mlir_tablegen(AttnDialect.cpp.inc -gen-dialect-defs -dialect=attn)
mlir_tablegen(AttnEnums.h.inc -gen-enum-decls)
mlir_tablegen(AttnEnums.cpp.inc -gen-enum-defs)
mlir_tablegen(AttnOps.h.inc -gen-op-decls -dialect=attn)
mlir_tablegen(AttnOps.cpp.inc -gen-op-defs -dialect=attn)
add_public_tablegen_target(AttnIncGen)

attnc_library(attnc_ir MLIR
  SOURCES AttnDialect.cpp AttnFold.cpp AttnOps.cpp ParseIR.cpp
  LINK attnc_program
  DEPENDS AttnIncGen)

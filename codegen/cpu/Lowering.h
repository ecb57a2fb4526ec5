// From a staged variant to machine code: the vector-dialect module of the tile kernel,
// its lowering to LLVM, and the object.
#pragma once

#include <string>
#include <vector>

#include "codegen/cpu/KernelConfig.h"
#include "ir/AttnOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace attnc::cpu {

// Every dialect and translation that the CPU path needs.
void registerDialects(mlir::DialectRegistry &registry);

// A module of the kernel's functions, all schedules, in func, scf, arith, math, vector, llvm.
mlir::OwningOpRef<mlir::ModuleOp> emitKernelModule(StagedOp staged, const KernelConfig &config,
                                                   std::vector<ScheduleInfo> &schedules);

// func, scf, arith, math and vector to the LLVM dialect.
void buildLoweringPipeline(mlir::OpPassManager &passes);

enum class Artifact { LlvmIr, Assembly, Object };

// Translates, optimises (no fast-math) and emits a module of the LLVM dialect.
llvm::Expected<llvm::SmallVector<char, 0>> emitArtifact(mlir::ModuleOp module, Isa isa, Artifact artifact);

} // namespace attnc::cpu

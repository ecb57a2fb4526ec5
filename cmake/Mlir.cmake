# Finds MLIR 22 and says how code that includes its headers is compiled and linked.

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
# Debian's LLVM names Polly as a static extension but ships it in another package.
set_property(TARGET LLVMExtensions PROPERTY INTERFACE_LINK_LIBRARIES LLVMSupport)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM) # add_public_tablegen_target
include(AddMLIR) # mlir_tablegen
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})

function(attnc_mlir_flags name)
  separate_arguments(defs NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_definitions(${name} PRIVATE ${defs})
  target_compile_options(${name} PRIVATE
    -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections)
endfunction()

# Links the static archives: one self-contained binary that no other LLVM in the process
# can interfere with. The exported MLIR targets all pull in the shared LLVM, so the
# archives are named by path.
function(attnc_link_mlir_static target)
  get_property(all GLOBAL PROPERTY MLIR_ALL_LIBS)
  list(FILTER all EXCLUDE REGEX "CAPI|Test")
  foreach(lib IN LISTS all)
    get_target_property(type ${lib} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      list(APPEND mlir $<TARGET_FILE:${lib}>)
    endif()
  endforeach()
  llvm_map_components_to_libnames(llvm passes X86 AArch64)
  target_link_libraries(${target} PRIVATE
    -Wl,--start-group ${mlir} -Wl,--end-group ${llvm})
  target_link_options(${target} PRIVATE -Wl,--gc-sections)
endfunction()

# For tools and tests of our own: quicker to link.
function(attnc_link_mlir_shared target)
  target_link_libraries(${target} PRIVATE MLIR LLVM)
endfunction()

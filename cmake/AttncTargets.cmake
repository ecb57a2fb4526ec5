# How our libraries and tests are built: warnings are errors, hidden visibility, PIC.

add_compile_options(-fPIC -Wall -Wextra -Werror -Wno-unused-parameter)
if(ATTNC_SANITIZE)
  # LLVM has no RTTI for our vptr checks and is not instrumented itself.
  add_compile_options(-fsanitize=${ATTNC_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ATTNC_SANITIZE})
endif()
# One rounding an operation: the contract on bits covers our own C++ too.
add_compile_options(-ffp-contract=off)
add_link_options(-fuse-ld=lld)

# attnc_library(name SOURCES ... [LINK ...] [DEPENDS ...] [MLIR]): a static library. With
# MLIR it is compiled for LLVM's conventions and never names MLIR's libraries; only the
# final binary chooses how to link them.
function(attnc_library name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_MLIR)
    attnc_mlir_flags(${name})
  endif()
endfunction()

# attnc_unit_test(name SOURCES ... [LINK ...] [MLIR]): a GoogleTest program run by ctest.
function(attnc_unit_test name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main GTest::gmock)
  if(ARG_MLIR)
    attnc_mlir_flags(${name})
    attnc_link_mlir_shared(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
endfunction()

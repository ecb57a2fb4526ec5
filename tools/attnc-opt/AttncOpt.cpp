// The pass driver of the tests: our dialect, passes and pipelines behind mlir-opt's options.
#include "codegen/cpu/Lowering.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  attnc::cpu::registerDialects(registry);
  attnc::registerAttncPasses();
  attnc::registerAttncPipelines();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "attnc pass driver\n", registry));
}

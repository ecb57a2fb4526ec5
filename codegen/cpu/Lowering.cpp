#include "codegen/cpu/Lowering.h"

#include "codegen/cpu/TileKernel.h"
#include "ir/AttnDialect.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace attnc::cpu {

void registerDialects(DialectRegistry &registry) {
  registry.insert<AttnDialect, arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                  math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

OwningOpRef<ModuleOp> emitKernelModule(StagedOp staged, const KernelConfig &config,
                                       std::vector<ScheduleInfo> &schedules) {
  MLIRContext *context = staged.getContext();
  context->loadDialect<func::FuncDialect, scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect, math::MathDialect,
                       arith::ArithDialect>();
  OwningOpRef<ModuleOp> module(ModuleOp::create(staged.getLoc()));
  for (const Schedule &schedule : schedulesFor(config.isa))
    schedules.push_back(TileKernel(config, schedule, staged, *module).emit());
  return module;
}

void buildLoweringPipeline(OpPassManager &passes) {
  passes.addPass(createCSEPass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

} // namespace attnc::cpu

#include "passes/Pipelines.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;

namespace attnc {

void buildVariantPipeline(OpPassManager &passes) {
  passes.addPass(createSimplifyVariant());
  passes.addPass(createCSEPass());
  passes.addNestedPass<VariantOp>(createExtractMask());
  passes.addPass(createSimplifyVariant());
  passes.addPass(createCSEPass());
}

void buildStagedPipeline(OpPassManager &passes) {
  passes.addPass(createSplitDependence());
  passes.addPass(createCSEPass());
}

void registerAttncPipelines() {
  static PassPipelineRegistration<> variant("attn-variant-pipeline", "Simplify and extract the mask",
                                            buildVariantPipeline);
  static PassPipelineRegistration<> staged("attn-staged-pipeline", "Split by dependence", buildStagedPipeline);
}

} // namespace attnc

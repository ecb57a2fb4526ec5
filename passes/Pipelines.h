// The order of the passes, in one place.
#pragma once

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace attnc {

// attn.variant -> attn.variant: simplified, masking moved into mask_mod.
void buildVariantPipeline(mlir::OpPassManager &passes);
// attn.variant -> attn.staged.
void buildStagedPipeline(mlir::OpPassManager &passes);
// Makes both known to attnc-opt: --attn-variant-pipeline, --attn-staged-pipeline.
void registerAttncPipelines();

} // namespace attnc

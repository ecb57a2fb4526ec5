#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"

namespace attnc {
#define GEN_PASS_DEF_EXTRACTMASK
#include "passes/Passes.h.inc"
} // namespace attnc

using namespace mlir;

namespace attnc {

namespace {

static bool dependsOn(Value value, Value source) {
  SmallVector<Value> open = {value};
  llvm::DenseSet<Value> met;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (next == source)
      return true;
    if (!met.insert(next).second)
      continue;
    if (Operation *op = next.getDefiningOp())
      llvm::append_range(open, op->getOperands());
  }
  return false;
}

static bool isMinusInfinity(Value value) {
  APFloat constant(0.0f);
  return matchPattern(value, m_ConstantFloat(&constant)) && constant.isInfinity() && constant.isNegative();
}

// Clones what `value` is computed from to the builder's position.
static Value cloneSlice(Value value, OpBuilder &builder, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    cloneSlice(operand, builder, mapping);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

static MaskModOp getOrCreateMask(VariantOp variant, ScoreModOp score) {
  for (MaskModOp mask : variant.getBody().getOps<MaskModOp>())
    return mask;
  OpBuilder builder(variant.getContext());
  builder.setInsertionPointAfter(score);
  MaskModOp mask = MaskModOp::create(builder, score.getLoc());
  Block *body = builder.createBlock(&mask.getBody());
  for (int i = 0; i < 4; ++i)
    body->addArgument(builder.getI32Type(), score.getLoc());
  Value all = arith::ConstantOp::create(builder, score.getLoc(), builder.getBoolAttr(true));
  YieldOp::create(builder, score.getLoc(), ValueRange{all});
  return mask;
}

struct ExtractMaskPass final : impl::ExtractMaskBase<ExtractMaskPass> {
  void runOnOperation() override {
    VariantOp variant = getOperation();
    auto scores = variant.getBody().getOps<ScoreModOp>();
    if (scores.empty())
      return;
    ScoreModOp score = *scores.begin();
    while (moveOne(variant, score)) {
    }
    // An identity score_mod says nothing.
    Block &body = score.getBody().front();
    if (body.getTerminator()->getOperand(0) == body.getArgument(0))
      score.erase();
  }

private:
  static bool moveOne(VariantOp variant, ScoreModOp score) {
    Block &body = score.getBody().front();
    Operation *yield = body.getTerminator();
    auto select = yield->getOperand(0).getDefiningOp<arith::SelectOp>();
    if (!select)
      return false;
    const bool dropsWhenTrue = isMinusInfinity(select.getTrueValue());
    if (!dropsWhenTrue && !isMinusInfinity(select.getFalseValue()))
      return false;
    if (dependsOn(select.getCondition(), body.getArgument(0)))
      return false;

    MaskModOp mask = getOrCreateMask(variant, score);
    Block &target = mask.getBody().front();
    Operation *end = target.getTerminator();
    OpBuilder builder(end);
    IRMapping mapping;
    for (int i = 0; i < 4; ++i)
      mapping.map(body.getArgument(i + 1), target.getArgument(i));
    Value keep = cloneSlice(select.getCondition(), builder, mapping);
    Location at = select.getLoc();
    if (dropsWhenTrue) {
      Value all = arith::ConstantOp::create(builder, at, builder.getBoolAttr(true));
      keep = arith::XOrIOp::create(builder, at, keep, all);
    }
    end->setOperand(0, arith::AndIOp::create(builder, at, end->getOperand(0), keep));
    yield->setOperand(0, dropsWhenTrue ? select.getFalseValue() : select.getTrueValue());
    return true;
  }
};

} // namespace
} // namespace attnc

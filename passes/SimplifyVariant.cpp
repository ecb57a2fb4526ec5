#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Passes.h"

namespace attnc {
#define GEN_PASS_DEF_SIMPLIFYVARIANT
#include "passes/Passes.h.inc"
} // namespace attnc

using namespace mlir;

namespace attnc {

namespace {

// a and (a or b) = a; a or (a and b) = a.
template <typename Outer, typename Inner> struct Absorb : OpRewritePattern<Outer> {
  using OpRewritePattern<Outer>::OpRewritePattern;
  LogicalResult matchAndRewrite(Outer op, PatternRewriter &rewriter) const override {
    for (auto [kept, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto inner = other.template getDefiningOp<Inner>();
      if (inner && (inner.getLhs() == kept || inner.getRhs() == kept)) {
        rewriter.replaceOp(op, kept);
        return success();
      }
    }
    return rewriter.notifyMatchFailure(op, "no operand absorbs the other");
  }
};

static bool isDifferenceOfIndices(Value value) {
  auto difference = value.getDefiningOp<arith::SubIOp>();
  return difference && isa<BlockArgument>(difference.getLhs()) && isa<BlockArgument>(difference.getRhs());
}

// Positions are in [0, 2^31), so a difference of two never wraps and `q - kv >= 0` is
// `q >= kv`: the form with one side per row and column is what the mask analysis reads best.
struct CompareDifference : OpRewritePattern<arith::CmpIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::CmpIOp op, PatternRewriter &rewriter) const override {
    if (!matchPattern(op.getRhs(), m_Zero()) || !isDifferenceOfIndices(op.getLhs()))
      return rewriter.notifyMatchFailure(op, "not a difference of positions against zero");
    if (op.getPredicate() > arith::CmpIPredicate::sge)
      return rewriter.notifyMatchFailure(op, "unsigned comparison");
    auto difference = op.getLhs().getDefiningOp<arith::SubIOp>();
    rewriter.replaceOpWithNewOp<arith::CmpIOp>(op, op.getPredicate(), difference.getLhs(), difference.getRhs());
    return success();
  }
};

struct SimplifyVariantPass final : impl::SimplifyVariantBase<SimplifyVariantPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    for (RegisteredOperationName op : getContext().getRegisteredOperations()) {
      StringRef dialect = op.getDialectNamespace();
      if (dialect == "arith" || dialect == "attn" || dialect == "math")
        op.getCanonicalizationPatterns(patterns, &getContext());
    }
    patterns.add<Absorb<arith::AndIOp, arith::OrIOp>, Absorb<arith::OrIOp, arith::AndIOp>, CompareDifference>(
        &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace attnc

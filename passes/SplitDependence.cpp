#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "passes/Passes.h"

namespace attnc {
#define GEN_PASS_DEF_SPLITDEPENDENCE
#include "passes/Passes.h.inc"
} // namespace attnc

using namespace mlir;

namespace attnc {

namespace {

// What a value depends on, in order of execution. Row and Column are not comparable:
// together they make Element.
enum Stage { Head = 0, Row = 1, Column = 2, Element = 3 };

static Stage join(Stage a, Stage b) {
  if (a == b || b == Head)
    return a;
  return a == Head ? b : Element;
}

// Splits one block that computes (score, keep) from (score, b, h, q_idx, kv_idx).
class Splitter {
public:
  Splitter(Block &whole, OpBuilder &builder) : whole(whole), builder(builder) {
    classify();
    collectImports();
  }

  void emit(Location at) {
    emitStage<PerHeadOp>(Head, at, {1, 2}, {});
    emitStage<PerRowOp>(Row, at, {1, 2, 3}, {Head});
    emitStage<PerColumnOp>(Column, at, {1, 2, 4}, {Head});
    emitStage<PerElementOp>(Element, at, {0, 1, 2, 3, 4}, {Head, Row, Column});
  }

private:
  void classify() {
    const Stage ofArgument[] = {Element, Head, Head, Row, Column};
    for (auto [argument, stage] : llvm::zip_equal(whole.getArguments(), ofArgument))
      stageOf[argument] = stage;
    for (Operation &op : whole.without_terminator()) {
      Stage stage = Head;
      for (Value operand : op.getOperands())
        stage = join(stage, stageOf[operand]);
      stageOf[op.getResult(0)] = stage;
    }
  }

  // Constants are cloned where they are used, and every stage has its own arguments.
  static bool isFree(Value value) {
    Operation *op = value.getDefiningOp();
    return !op || op->hasTrait<OpTrait::ConstantLike>();
  }

  // A value that another stage uses is yielded by its own.
  void collectImports() {
    llvm::DenseSet<Operation *> live;
    SmallVector<Value> open(whole.getTerminator()->getOperands());
    while (!open.empty()) {
      Operation *op = open.pop_back_val().getDefiningOp();
      if (op && live.insert(op).second)
        llvm::append_range(open, op->getOperands());
    }
    for (Operation &op : whole.without_terminator()) {
      if (!live.contains(&op))
        continue;
      liveOps.push_back(&op);
      for (Value operand : op.getOperands())
        import(operand, stageOf[op.getResult(0)]);
    }
    for (Value result : whole.getTerminator()->getOperands())
      import(result, Element);
  }

  void import(Value value, Stage user) {
    Stage maker = stageOf[value];
    if (maker != user && !isFree(value))
      yields[maker].insert(value);
  }

  template <typename StageOp>
  void emitStage(Stage stage, Location at, ArrayRef<unsigned> arguments, ArrayRef<Stage> before) {
    StageOp op = StageOp::create(builder, at);
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&op.getBody());
    IRMapping mapping;
    auto add = [&](Value value) { mapping.map(value, body->addArgument(value.getType(), value.getLoc())); };
    for (unsigned index : arguments)
      add(whole.getArgument(index));
    for (Stage earlier : before)
      for (Value value : yields[earlier])
        add(value);
    for (Operation *live : liveOps)
      if (stageOf[live->getResult(0)] == stage && !isFree(live->getResult(0)))
        clone(live, mapping);
    SmallVector<Value> results;
    if (stage == Element)
      results.append(whole.getTerminator()->operand_begin(), whole.getTerminator()->operand_end());
    else
      results.append(yields[stage].begin(), yields[stage].end());
    for (Value &result : results)
      result = mapped(result, mapping);
    YieldOp::create(builder, at, results);
  }

  void clone(Operation *op, IRMapping &mapping) {
    for (Value operand : op->getOperands())
      mapped(operand, mapping);
    builder.clone(*op, mapping);
  }

  Value mapped(Value value, IRMapping &mapping) {
    if (!mapping.contains(value))
      builder.clone(*value.getDefiningOp(), mapping); // a constant
    return mapping.lookup(value);
  }

  Block &whole;
  OpBuilder &builder;
  llvm::DenseMap<Value, Stage> stageOf;
  SmallVector<Operation *> liveOps;
  llvm::SetVector<Value> yields[4];
};

// One block that computes the new score and the mask, common subexpressions shared.
static Block *joinFunctions(VariantOp variant, Region &into, OpBuilder &builder) {
  Location at = variant.getLoc();
  OpBuilder::InsertionGuard guard(builder);
  Block *whole = builder.createBlock(&into);
  whole->addArgument(builder.getF32Type(), at);
  for (int i = 0; i < 4; ++i)
    whole->addArgument(builder.getI32Type(), at);
  Value score = whole->getArgument(0), keep;
  auto inlineBody = [&](Block &body, unsigned firstArgument) {
    IRMapping mapping;
    for (BlockArgument argument : body.getArguments())
      mapping.map(argument, whole->getArgument(argument.getArgNumber() + firstArgument));
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
  };
  for (ScoreModOp function : variant.getBody().getOps<ScoreModOp>())
    score = inlineBody(function.getBody().front(), 0);
  for (MaskModOp function : variant.getBody().getOps<MaskModOp>())
    keep = inlineBody(function.getBody().front(), 1);
  if (!keep)
    keep = arith::ConstantOp::create(builder, at, builder.getBoolAttr(true));
  YieldOp::create(builder, at, ValueRange{score, keep});
  return whole;
}

struct SplitDependencePass final : impl::SplitDependenceBase<SplitDependencePass> {
  void runOnOperation() override {
    for (VariantOp variant : llvm::make_early_inc_range(getOperation().getOps<VariantOp>()))
      split(variant);
  }

private:
  static void split(VariantOp variant) {
    OpBuilder builder(variant);
    Location at = variant.getLoc();
    StagedOp staged = StagedOp::create(builder, at, variant.getSymName());
    builder.createBlock(&staged.getBody());
    for (Operation &op : variant.getBody().front())
      if (isa<CaptureOp, ScalarOp, ScaleOp>(op))
        builder.clone(op);

    // The joined block lives in a scratch stage that is dropped again.
    PerElementOp scratch = PerElementOp::create(builder, at);
    Block *whole = joinFunctions(variant, scratch.getBody(), builder);
    IRRewriter rewriter(builder);
    DominanceInfo dominance(scratch);
    eliminateCommonSubExpressions(rewriter, dominance, scratch);
    builder.setInsertionPoint(scratch);
    Splitter(*whole, builder).emit(at);
    scratch.erase();

    builder.setInsertionPointToEnd(&staged.getBody().front());
    for (SinkOp sink : variant.getBody().getOps<SinkOp>())
      builder.clone(*sink);
    variant.erase();
  }
};

} // namespace
} // namespace attnc

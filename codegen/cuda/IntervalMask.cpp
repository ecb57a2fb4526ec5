#include "codegen/cuda/IntervalMask.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using arith::CmpIPredicate;

namespace attnc::cuda {

namespace {

// Arguments of a per_element body: score, b, h, q_idx, kv_idx, head, row, column values.
constexpr unsigned kScore = 0, kQuery = 3, kKey = 4;

class Splitter {
public:
  Splitter(Block &element, unsigned columnArguments) : element(element), columnArguments(columnArguments) {}

  void take(Value condition, IntervalMask &into) {
    if (matchPattern(condition, m_One()))
      return;
    if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
      take(both.getLhs(), into);
      take(both.getRhs(), into);
      return;
    }
    if (!dependsOnKey(condition)) {
      into.rowConditions.push_back(condition);
      return;
    }
    KeyLimit limit;
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    if (compare && match(compare, limit))
      into.limits.push_back(limit);
    else
      into.rest.push_back(condition);
  }

private:
  bool dependsOnKey(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      const unsigned number = argument.getArgNumber();
      return number == kScore || number == kKey || number >= element.getNumArguments() - columnArguments;
    }
    auto [known, isNew] = memo.try_emplace(value, false);
    if (!isNew)
      return known->second;
    bool depends = llvm::any_of(value.getDefiningOp()->getOperands(), [&](Value v) { return dependsOnKey(v); });
    return memo[value] = depends;
  }

  bool match(arith::CmpIOp compare, KeyLimit &limit) {
    Value left = compare.getLhs(), right = compare.getRhs();
    CmpIPredicate predicate = compare.getPredicate();
    if (!dependsOnKey(left)) {
      std::swap(left, right);
      predicate = swapped(predicate);
    }
    if (dependsOnKey(right) || !isOrder(predicate))
      return false;
    limit.predicate = predicate;
    limit.bound = right;
    Value key = element.getArgument(kKey), query = element.getArgument(kQuery);
    if (left == key)
      return true;
    auto difference = left.getDefiningOp<arith::SubIOp>();
    if (!difference)
      return false;
    // Both indices are at least 0, so their difference does not wrap.
    if (difference.getLhs() == query && difference.getRhs() == key) {
      limit.base = query;
      limit.isMirrored = true;
      return true;
    }
    if (difference.getLhs() == key && difference.getRhs() == query) {
      limit.base = query;
      return true;
    }
    return false;
  }

  static bool isOrder(CmpIPredicate predicate) {
    switch (predicate) {
    case CmpIPredicate::slt:
    case CmpIPredicate::sle:
    case CmpIPredicate::sgt:
    case CmpIPredicate::sge:
    case CmpIPredicate::eq:
      return true;
    default:
      return false;
    }
  }
  static CmpIPredicate swapped(CmpIPredicate predicate) {
    switch (predicate) {
    case CmpIPredicate::slt:
      return CmpIPredicate::sgt;
    case CmpIPredicate::sle:
      return CmpIPredicate::sge;
    case CmpIPredicate::sgt:
      return CmpIPredicate::slt;
    case CmpIPredicate::sge:
      return CmpIPredicate::sle;
    default:
      return predicate;
    }
  }

  Block &element;
  const unsigned columnArguments;
  llvm::DenseMap<Value, bool> memo;
};

} // namespace

IntervalMask splitMask(Block &element, unsigned columnArguments) {
  IntervalMask mask;
  Splitter(element, columnArguments).take(element.getTerminator()->getOperand(1), mask);
  return mask;
}

} // namespace attnc::cuda

// Statements. return_c3: a return under a condition does not duplicate what follows it: the rest is
// evaluated once and the results are chosen between, so the size stays linear.
#include "frontend/Lower.h"

namespace attnc::frontend {

bool Lowering::isAlways(const Outcome &outcome) const { return outcome.condition && bitsOf(*outcome.condition) == 1u; }

Lowering::Outcome Lowering::inSequence(const Outcome &first, const Outcome &second, Span at) {
  if (!second.condition)
    return first;
  if (!first.condition)
    return second;
  Outcome both;
  both.condition = emit(Opcode::OrI, {*first.condition, *second.condition}, at);
  both.value = choose(*first.condition, first.value, second.value, at);
  return both;
}

Lowering::Outcome Lowering::lowerBlock(const Block &block) {
  Outcome total;
  for (const Stmt *stmt : block) {
    if (isExhausted)
      break;
    total = inSequence(total, lowerStmt(*stmt), stmt->span);
    if (isAlways(total))
      break;
  }
  return total;
}

Lowering::Outcome Lowering::lowerStmt(const Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::Declare: {
    const Decl &decl = *stmt.decl;
    ValueId value = lowerAs(*decl.value, *decl.type);
    if (decl.isMutable && !frame->values.contains(&decl))
      frame->order.push_back(&decl);
    frame->values[&decl] = value;
    return {};
  }
  case StmtKind::Assign:
    frame->values[stmt.decl] = lowerAs(*stmt.value, *stmt.decl->type);
    return {};
  case StmtKind::Return:
    return {target->builder->constBool(true), lowerAs(*stmt.value, *frame->function->returnType)};
  case StmtKind::If:
    return lowerIf(stmt);
  case StmtKind::For:
    return lowerFor(stmt);
  }
  return {};
}

// if_c1: a condition that is a constant chooses its arm; else both arms are evaluated.
Lowering::Outcome Lowering::lowerIf(const Stmt &stmt) {
  ValueId condition = lowerExpr(*stmt.value);
  if (std::optional<uint32_t> known = bitsOf(condition))
    return lowerBlock(*known ? stmt.body : stmt.otherwise);
  if (!spend(static_cast<uint32_t>(2 * frame->values.size()), stmt.span)) // the copies below
    return {};
  Frame before = *frame;
  Outcome then = lowerBlock(stmt.body);
  Frame afterThen = std::exchange(*frame, before);
  Outcome otherwise = lowerBlock(stmt.otherwise);
  if (isAlways(otherwise)) {
    *frame = std::move(afterThen);
  } else if (!isAlways(then)) {
    Frame afterElse = std::exchange(*frame, std::move(before));
    mergeVars(condition, afterThen, afterElse, stmt.span);
  }
  if (!then.condition && !otherwise.condition)
    return {};
  Outcome merged;
  ValueId never = target->builder->constBool(false);
  merged.condition = choose(condition, then.condition.value_or(never), otherwise.condition.value_or(never), stmt.span);
  if (then.condition && otherwise.condition)
    merged.value = choose(condition, then.value, otherwise.value, stmt.span);
  else
    merged.value = then.condition ? then.value : otherwise.value;
  return merged;
}

void Lowering::mergeVars(ValueId condition, const Frame &then, const Frame &otherwise, Span at) {
  for (const Decl *var : frame->order) {
    ValueId a = then.values.at(var), b = otherwise.values.at(var);
    frame->values[var] = a == b ? a : choose(condition, a, b, at);
  }
}

// for_c1: bounds are constants, at most kMaxLoopSteps steps, none if the upper is not larger.
Lowering::Outcome Lowering::lowerFor(const Stmt &stmt) {
  std::optional<uint32_t> bounds[2];
  const Expr *exprs[2] = {stmt.value, stmt.upper};
  for (int i = 0; i < 2; ++i) {
    bounds[i] = bitsOf(lowerExpr(*exprs[i]));
    if (!bounds[i]) {
      error(exprs[i]->span, "loop bounds must be known at compile time",
            "use a literal, a const, or a const parameter");
      return {};
    }
  }
  int64_t lower = static_cast<int32_t>(*bounds[0]), upper = static_cast<int32_t>(*bounds[1]);
  if (upper - lower > kMaxLoopSteps) {
    error(stmt.span,
          "loop of " + std::to_string(upper - lower) + " steps would be unrolled; the limit is " +
              std::to_string(kMaxLoopSteps),
          "put a table into a tensor, or compute the result without a loop");
    return {};
  }
  Outcome total;
  trace.push_back({stmt.span, "in the loop over " + inQuotes(stmt.decl->name) + " here"});
  for (int64_t i = lower; i < upper && !isAlways(total) && spend(1, stmt.span); ++i) {
    frame->values[stmt.decl] = target->builder->constInt(static_cast<int32_t>(i));
    total = inSequence(total, lowerBlock(stmt.body), stmt.span);
  }
  trace.pop_back();
  return total;
}

} // namespace attnc::frontend

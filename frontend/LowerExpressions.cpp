// Expressions other than calls, and the instructions they are made of.
#include "frontend/Lower.h"

#include <bit>

#include "frontend/TypeCheck.h"

namespace attnc::frontend {

ValueId Lowering::poison(ScalarType type) {
  FunctionBuilder &builder = *target->builder;
  return type == ScalarType::Bool  ? builder.constBool(false)
         : type == ScalarType::I32 ? builder.constInt(0)
                                   : builder.constFloat(0);
}

ValueId Lowering::checked(ValueId value, Span at) {
  if (value >= kMaxInstructions)
    tooLarge(at);
  return value;
}

ValueId Lowering::emit(Opcode op, std::vector<ValueId> operands, Span at) {
  return checked(target->builder->create(op, std::move(operands), locate(at)), at);
}

ValueId Lowering::widen(ValueId value, ScalarType type, Span at) {
  if (typeOf(value) == ScalarType::I32 && type == ScalarType::F32)
    return emit(Opcode::IntToFloat, {value}, at);
  return value;
}

ValueId Lowering::invert(ValueId value, Span at) {
  return emit(Opcode::XorI, {value, target->builder->constBool(true)}, at);
}

// Select; between booleans it is written with and/or where an arm is known, which is the
// form that the mask analysis reads best.
ValueId Lowering::choose(ValueId condition, ValueId a, ValueId b, Span at) {
  ScalarType type = typeOf(a) == typeOf(b) ? typeOf(a) : ScalarType::F32;
  a = widen(a, type, at);
  b = widen(b, type, at);
  if (type != ScalarType::Bool || a == b)
    return checked(target->builder->select(condition, a, b, locate(at)), at);
  if (std::optional<uint32_t> known = bitsOf(a))
    return *known ? emit(Opcode::OrI, {condition, b}, at) : emit(Opcode::AndI, {invert(condition, at), b}, at);
  if (std::optional<uint32_t> known = bitsOf(b))
    return *known ? emit(Opcode::OrI, {invert(condition, at), a}, at) : emit(Opcode::AndI, {condition, a}, at);
  return checked(target->builder->select(condition, a, b, locate(at)), at);
}

ValueId Lowering::lowerExpr(const Expr &expr) {
  if (!spend(1, expr.span))
    return poison(*expr.type);
  if (depth >= kMaxExpansionDepth) { // nesting_c2
    error(expr.span, "calls and expressions nest deeper than " + std::to_string(kMaxExpansionDepth) + " levels",
          "make the chain of functions shorter");
    isExhausted = true;
    return poison(*expr.type);
  }
  ++depth;
  ValueId value = lowerExprKind(expr);
  --depth;
  return value;
}

ValueId Lowering::lowerAs(const Expr &expr, ScalarType type) { return widen(lowerExpr(expr), type, expr.span); }

ValueId Lowering::lowerExprKind(const Expr &expr) {
  FunctionBuilder &builder = *target->builder;
  switch (expr.kind) {
  case ExprKind::Literal:
    return *expr.type == ScalarType::Bool  ? builder.constBool(expr.bits != 0)
           : *expr.type == ScalarType::I32 ? builder.constInt(static_cast<int32_t>(expr.bits))
                                           : builder.constFloat(std::bit_cast<float>(expr.bits));
  case ExprKind::Name:
    return lowerName(expr);
  case ExprKind::Negate:
    return lowerNegate(expr);
  case ExprKind::Not:
    return invert(lowerExpr(*expr.operands[0]), expr.span);
  case ExprKind::Binary:
    return lowerBinary(expr);
  case ExprKind::Compare:
    return lowerCompare(expr);
  case ExprKind::Logical:
    return lowerLogical(expr);
  case ExprKind::IfElse:
    return lowerIfElse(*expr.operands[0], *expr.operands[1], *expr.operands[2], expr);
  case ExprKind::Pipe: {
    ValueId value = lowerAs(*expr.operands[0], ScalarType::F32);
    std::optional<ValueId> &score = target->indices[static_cast<size_t>(ArgumentKind::Score)];
    std::optional<ValueId> outer = std::exchange(score, value);
    ValueId result = lowerAs(*expr.operands[1], *expr.type);
    target->indices[static_cast<size_t>(ArgumentKind::Score)] = outer;
    return result;
  }
  case ExprKind::Index:
    return lowerIndex(expr);
  case ExprKind::Reindex:
    return lowerReindex(expr);
  case ExprKind::Call:
    return lowerCall(expr);
  }
  return 0;
}

ValueId Lowering::lowerName(const Expr &expr) {
  if (expr.nameKind == NameKind::Implicit) {
    const std::optional<ValueId> &rebound = target->indices[expr.index];
    return rebound ? *rebound : target->builder->argument(static_cast<ArgumentKind>(expr.index));
  }
  if (expr.nameKind == NameKind::Dim)
    return target->builder->dim(static_cast<DimKind>(expr.index), locate(expr.span));
  const Decl &decl = *expr.decl;
  if (decl.kind == DeclKind::Const)
    return constValue(decl);
  if (decl.kind == DeclKind::Param) {
    if (!target->params.contains(&decl))
      addParam(decl);
    return target->builder->param(target->params[&decl], locate(expr.span));
  }
  auto found = frame->values.find(&decl);
  return found == frame->values.end() ? poison(*expr.type) : found->second;
}

ValueId Lowering::lowerNegate(const Expr &expr) {
  ValueId value = lowerExpr(*expr.operands[0]);
  if (typeOf(value) == ScalarType::F32)
    return emit(Opcode::NegF, {value}, expr.span);
  return emit(Opcode::SubI, {target->builder->constInt(0), value}, expr.span);
}

// The rules of arithmetic are those of the operations, see ir/ProgramEvaluate.cpp:
// add_c1 wraps, div_c1 and mod_c1 floor and are total, shift_c1 takes the amount modulo 32.
ValueId Lowering::lowerBinary(const Expr &expr) {
  if (expr.op == BinaryOp::Power)
    return lowerPower(expr);
  bool isFloat = *expr.type == ScalarType::F32;
  ValueId a = lowerAs(*expr.operands[0], *expr.type), b = lowerAs(*expr.operands[1], *expr.type);
  switch (expr.op) {
  case BinaryOp::Add:
    return emit(isFloat ? Opcode::AddF : Opcode::AddI, {a, b}, expr.span);
  case BinaryOp::Sub:
    return emit(isFloat ? Opcode::SubF : Opcode::SubI, {a, b}, expr.span);
  case BinaryOp::Mul:
    return emit(isFloat ? Opcode::MulF : Opcode::MulI, {a, b}, expr.span);
  case BinaryOp::Divide:
    return emit(Opcode::DivF, {a, b}, expr.span);
  case BinaryOp::FloorDiv:
  case BinaryOp::Modulo:
    if (bitsOf(b) == 0u)
      diagnostics.warning(expr.span, "division by zero: the result is always 0", "check the divisor");
    return emit(expr.op == BinaryOp::FloorDiv ? Opcode::FloorDiv : Opcode::FloorMod, {a, b}, expr.span);
  case BinaryOp::ShiftLeft:
    return emit(Opcode::ShlI, {a, b}, expr.span);
  case BinaryOp::ShiftRight:
    return emit(Opcode::ShrSI, {a, b}, expr.span);
  case BinaryOp::And:
    return emit(Opcode::AndI, {a, b}, expr.span);
  case BinaryOp::Or:
    return emit(Opcode::OrI, {a, b}, expr.span);
  case BinaryOp::Xor:
    return emit(Opcode::XorI, {a, b}, expr.span);
  case BinaryOp::Power:
    break; // above
  }
  return a;
}

// pow_c1: between f32 it is pow; between i32 a product, for a constant exponent >= 0.
ValueId Lowering::lowerPower(const Expr &expr) {
  ValueId base = lowerAs(*expr.operands[0], *expr.type);
  ValueId exponent = lowerAs(*expr.operands[1], *expr.type);
  if (*expr.type == ScalarType::F32)
    return emit(Opcode::Pow, {base, exponent}, expr.span);
  std::optional<uint32_t> known = bitsOf(exponent);
  if (!known || static_cast<int32_t>(*known) < 0) {
    error(expr.operands[1]->span, "the exponent of an i32 must be known at compile time and not negative",
          "write f32(x) ** y for a result in f32");
    return poison(ScalarType::I32);
  }
  ValueId result = target->builder->constInt(1);
  for (uint32_t rest = *known; rest != 0; rest >>= 1) {
    if (rest & 1)
      result = emit(Opcode::MulI, {result, base}, expr.span);
    if (rest > 1)
      base = emit(Opcode::MulI, {base, base}, expr.span);
  }
  return result;
}

// compare_c2: a comparison with NaN is false, except != which is true.
ValueId Lowering::compare(CompareOp op, ValueId a, ValueId b, Span at) {
  static constexpr IntPredicate ints[] = {IntPredicate::slt, IntPredicate::sle, IntPredicate::sgt,
                                          IntPredicate::sge, IntPredicate::eq,  IntPredicate::ne};
  static constexpr FloatPredicate floats[] = {FloatPredicate::olt, FloatPredicate::ole, FloatPredicate::ogt,
                                              FloatPredicate::oge, FloatPredicate::oeq, FloatPredicate::une};
  size_t index = static_cast<size_t>(op);
  if (typeOf(a) == ScalarType::Bool) {
    ValueId differ = emit(Opcode::XorI, {a, b}, at);
    return op == CompareOp::Equal ? invert(differ, at) : differ;
  }
  if (typeOf(a) == ScalarType::I32 && typeOf(b) == ScalarType::I32)
    return checked(target->builder->compare(ints[index], a, b, locate(at)), at);
  a = widen(a, ScalarType::F32, at);
  b = widen(b, ScalarType::F32, at);
  return checked(target->builder->compare(floats[index], a, b, locate(at)), at);
}

ValueId Lowering::lowerCompare(const Expr &expr) {
  ValueId left = lowerExpr(*expr.operands[0]);
  std::optional<ValueId> all;
  for (size_t i = 0; i < expr.compareOps.size(); ++i) {
    ValueId right = lowerExpr(*expr.operands[i + 1]);
    ValueId holds = compare(expr.compareOps[i], left, right, expr.span);
    all = all ? emit(Opcode::AndI, {*all, holds}, expr.span) : holds;
    left = right;
  }
  return *all;
}

// logic_c1: a constant on the left decides; else both sides are evaluated.
ValueId Lowering::lowerLogical(const Expr &expr) {
  ValueId a = lowerExpr(*expr.operands[0]);
  if (bitsOf(a) == (expr.isOr ? 1u : 0u))
    return a;
  ValueId b = lowerExpr(*expr.operands[1]);
  return emit(expr.isOr ? Opcode::OrI : Opcode::AndI, {a, b}, expr.span);
}

ValueId Lowering::lowerIfElse(const Expr &condition, const Expr &then, const Expr &otherwise, const Expr &whole) {
  ValueId test = lowerExpr(condition);
  if (std::optional<uint32_t> known = bitsOf(test))
    return lowerAs(*known ? then : otherwise, *whole.type);
  ValueId a = lowerAs(then, *whole.type), b = lowerAs(otherwise, *whole.type);
  return choose(test, a, b, whole.span);
}

// load_c2: each index is clamped to its axis.
ValueId Lowering::lowerIndex(const Expr &expr) {
  std::vector<ValueId> indices;
  for (size_t i = 1; i < expr.operands.size(); ++i)
    indices.push_back(lowerExpr(*expr.operands[i]));
  const Decl *tensor = tensorOf(*expr.decl);
  if (!tensor)
    return poison(*expr.type);
  if (!target->captures.contains(tensor))
    addTensor(*tensor);
  return checked(target->builder->load(target->captures[tensor], std::move(indices), locate(expr.span)), expr.span);
}

// reindex_c1: the new values are those before @, all at once.
ValueId Lowering::lowerReindex(const Expr &expr) {
  auto indices = target->indices;
  for (size_t i = 0; i < expr.rebound.size(); ++i) {
    bool isScore = expr.rebound[i] == ArgumentKind::Score;
    indices[static_cast<size_t>(expr.rebound[i])] =
        lowerAs(*expr.operands[i + 1], isScore ? ScalarType::F32 : ScalarType::I32);
  }
  std::swap(indices, target->indices);
  ValueId value = lowerExpr(*expr.operands[0]);
  target->indices = indices;
  return value;
}

} // namespace attnc::frontend

// Calls: expansion of functions, and what the built-in ones lower to.
#include "frontend/Lower.h"

#include "frontend/TypeCheck.h"

namespace attnc::frontend {

// A tensor formal stands for the tensor that was passed.
const Decl *Lowering::tensorOf(const Decl &decl) const {
  if (decl.kind != DeclKind::Formal)
    return &decl;
  auto found = frame->tensors.find(&decl);
  return found == frame->tensors.end() ? nullptr : found->second;
}

ValueId Lowering::lowerCall(const Expr &expr) {
  if (expr.nameKind == NameKind::Builtin)
    return lowerBuiltin(expr);
  return lowerFunctionCall(expr, static_cast<const FunctionDecl &>(*expr.decl));
}

ValueId Lowering::lowerFunctionCall(const Expr &expr, const FunctionDecl &callee) {
  Frame callFrame;
  callFrame.function = &callee;
  for (size_t i = 0; i < callee.formals.size(); ++i) {
    const Decl &formal = *callee.formals[i];
    const Expr &argument = *expr.operands[i];
    if (formal.tensor) {
      callFrame.tensors[&formal] = tensorOf(*argument.decl);
      continue;
    }
    ValueId value = lowerAs(argument, *formal.type);
    if (formal.isConst && !bitsOf(value)) // call_c5
      error(argument.span,
            "argument " + inQuotes(formal.name) + " of " + inQuotes(callee.name) + " must be known at compile time",
            "pass a literal or a const");
    callFrame.values[&formal] = value;
  }
  trace.push_back({expr.span, "in the call of " + inQuotes(callee.name) + " here"});
  Frame *outer = std::exchange(frame, &callFrame);
  Outcome outcome = lowerBlock(callee.body);
  frame = outer;
  trace.pop_back();
  return outcome.condition ? outcome.value : poison(*expr.type);
}

// cast_c1: f32 to i32 cuts toward zero and saturates, NaN gives 0; bool gives 0 or 1.
ValueId Lowering::lowerConversion(const Expr &expr, ScalarType to) {
  ValueId value = lowerExpr(*expr.operands[0]);
  ScalarType from = typeOf(value);
  if (from == to)
    return value;
  FunctionBuilder &builder = *target->builder;
  if (to == ScalarType::Bool)
    return compare(CompareOp::NotEqual, value, from == ScalarType::I32 ? builder.constInt(0) : builder.constFloat(0),
                   expr.span);
  if (from == ScalarType::Bool)
    value = emit(Opcode::BoolToInt, {value}, expr.span);
  return to == ScalarType::F32     ? widen(value, to, expr.span)
         : from == ScalarType::F32 ? emit(Opcode::FloatToInt, {value}, expr.span)
                                   : value;
}

ValueId Lowering::lowerBuiltin(const Expr &expr) {
  const BuiltinFunction &builtin = *expr.builtin;
  const Span at = expr.span;
  bool isFloat = *expr.type == ScalarType::F32;
  auto argument = [&](size_t i) { return lowerAs(*expr.operands[i], *expr.type); };
  auto fold = [&](Opcode ints) {
    ValueId result = argument(0);
    for (size_t i = 1; i < expr.operands.size(); ++i)
      result = emit(isFloat ? builtin.op : ints, {result, argument(i)}, at);
    return result;
  };
  switch (builtin.rule) {
  case BuiltinRule::Float:
    return emit(builtin.op, {argument(0)}, at);
  case BuiltinRule::Sigmoid: { // 1 / (1 + exp(-x))
    ValueId one = target->builder->constFloat(1);
    ValueId power = emit(Opcode::Exp, {emit(Opcode::NegF, {argument(0)}, at)}, at);
    return emit(Opcode::DivF, {one, emit(Opcode::AddF, {one, power}, at)}, at);
  }
  case BuiltinRule::Power:
    return lowerPower(expr);
  case BuiltinRule::Abs:
    return emit(isFloat ? Opcode::AbsF : Opcode::AbsI, {argument(0)}, at);
  case BuiltinRule::Min: // min_c1: NaN if any is
    return fold(Opcode::MinSI);
  case BuiltinRule::Max:
    return fold(Opcode::MaxSI);
  case BuiltinRule::Clamp: {
    ValueId x = argument(0), low = argument(1), high = argument(2);
    if (isFloat)
      return emit(Opcode::Clamp, {x, low, high}, at);
    return emit(Opcode::MinSI, {emit(Opcode::MaxSI, {x, low}, at), high}, at);
  }
  case BuiltinRule::Relu:
    return isFloat ? emit(Opcode::Relu, {argument(0)}, at)
                   : emit(Opcode::MaxSI, {argument(0), target->builder->constInt(0)}, at);
  case BuiltinRule::Select:
    return lowerIfElse(*expr.operands[0], *expr.operands[1], *expr.operands[2], expr);
  case BuiltinRule::ToI32:
    return lowerConversion(expr, ScalarType::I32);
  case BuiltinRule::ToF32:
    return lowerConversion(expr, ScalarType::F32);
  case BuiltinRule::ToBool:
    return lowerConversion(expr, ScalarType::Bool);
  }
  return 0;
}

} // namespace attnc::frontend

// Calls of functions and built-ins, and their arguments.
#include "frontend/TypeCheck.h"

namespace attnc::frontend {

// The tensor that an expression names, or null with an error.
Decl *TypeChecker::tensorNamed(Expr &expr) {
  if (expr.kind != ExprKind::Name) {
    checkExpr(expr);
    diagnostics.error(expr.span, "only tensors can be indexed", "declare one, for example: tensor t: f32[H];");
    return nullptr;
  }
  bool isImplicit = false;
  for (std::string_view name : kImplicitNames)
    isImplicit |= expr.name == name;
  Decl *decl = isImplicit ? nullptr : resolve(expr.name, expr.span);
  if (decl && decl->tensor) {
    expr.nameKind = NameKind::Declared;
    expr.decl = decl;
    decl->isUsed = true;
    return decl;
  }
  if (Type type = checkExpr(expr))
    diagnostics.error(
        expr.span, inQuotes(expr.name) + " is " + std::string(typeName(*type)) + ", not a tensor; it cannot be indexed",
        "declare one, for example: tensor t: f32[H];");
  return nullptr;
}

std::optional<ScalarType> TypeChecker::checkCall(Expr &expr) {
  Decl *decl = resolve(expr.name, expr.span);
  if (!decl) {
    if (const BuiltinFunction *builtin = findBuiltin(expr.name))
      return checkBuiltinCall(expr, *builtin);
    for (Expr *argument : expr.operands)
      checkExpr(*argument);
    undefined(expr, true);
    return std::nullopt;
  }
  decl->isUsed = true;
  if (decl->kind == DeclKind::Function)
    return checkFunctionCall(expr, static_cast<FunctionDecl &>(*decl));
  diagnostics.error(expr.span, inQuotes(expr.name) + " is not a function",
                    decl->tensor ? "index tensors with brackets: " + std::string(expr.name) + "[...]"
                                 : "only functions can be called");
  return std::nullopt;
}

namespace {

std::string formalNames(const FunctionDecl &callee) {
  std::string out;
  for (const Decl *formal : callee.formals)
    out += (out.empty() ? "" : ", ") + std::string(formal->name);
  return out.empty() ? out : " (" + out + ")";
}

std::string argumentCount(std::string_view name, size_t wanted, std::string_view names, size_t found) {
  return inQuotes(name) + " takes " + std::to_string(wanted) + (wanted == 1 ? " argument" : " arguments") +
         std::string(names) + ", found " + std::to_string(found);
}

} // namespace

// call_c1: a mask_mod needs b, h, q_idx and kv_idx where it is called, a score_mod also score.
bool TypeChecker::checkPlace(const Expr &expr, const FunctionDecl &callee) {
  bool needsIndices = callee.functionKind != FunctionKind::Fn;
  bool needsScore = callee.functionKind == FunctionKind::ScoreMod;
  if ((!needsIndices || context.available[static_cast<size_t>(ArgumentKind::KvIndex)]) &&
      (!needsScore || context.available[static_cast<size_t>(ArgumentKind::Score)]))
    return true;
  std::string hint = "call it in mask_mod or score_mod";
  if (needsScore)
    hint = "call it in score_mod: score |> " + std::string(callee.name);
  else if (context.place == Place::Fn)
    hint = "make the caller a mask_mod or score_mod";
  diagnostics.error(expr.span,
                    inQuotes(callee.name) + " is a " +
                        std::string(kFunctionKindNames[static_cast<size_t>(callee.functionKind)]) +
                        "; it cannot be used in " + std::string(placeName(context.place)),
                    hint);
  return false;
}

std::optional<ScalarType> TypeChecker::checkFunctionCall(Expr &expr, FunctionDecl &callee) {
  expr.nameKind = NameKind::Declared;
  expr.decl = &callee;
  if (!checkDecl(callee)) {
    // call_c2: functions are expanded in place, so none may reach itself.
    diagnostics.error(expr.span, inQuotes(callee.name) + " calls itself",
                      "functions are expanded where they are called; use a for loop with "
                      "constant bounds");
    return std::nullopt;
  }
  bool isRightPlace = checkPlace(expr, callee);
  if (expr.operands.size() != callee.formals.size()) {
    for (Expr *argument : expr.operands)
      if (argument->kind != ExprKind::Name) // a bare name may be a tensor
        checkExpr(*argument);
    diagnostics.error(expr.span,
                      argumentCount(callee.name, callee.formals.size(), formalNames(callee), expr.operands.size()),
                      callee.formals.empty() ? "write " + std::string(callee.name) : "give one value for each");
    diagnostics.note(callee.span, "declared here");
    return std::nullopt;
  }
  for (size_t i = 0; i < callee.formals.size(); ++i)
    checkArgument(callee, *callee.formals[i], *expr.operands[i]);
  return isRightPlace ? callee.returnType : std::nullopt;
}

// call_c3: an argument has the formal's type or widens to it.
void TypeChecker::checkArgument(const FunctionDecl &callee, const Decl &formal, Expr &argument) {
  if (formal.tensor)
    return checkTensorArgument(callee, formal, argument);
  std::string what = "argument " + inQuotes(formal.name) + " of " + inQuotes(callee.name);
  if (argument.kind == ExprKind::Name) {
    Decl *decl = resolve(argument.name, argument.span);
    if (decl && decl->tensor && formal.type) {
      diagnostics.error(argument.span, what + " must be " + std::string(typeName(*formal.type)) + ", found a tensor",
                        "index it, for example " + std::string(argument.name) + "[q_idx]");
      return;
    }
  }
  Type type = checkExpr(argument);
  if (type && formal.type)
    checkConversion(argument.span, what, *type, *formal.type, "must be");
}

namespace {

// Two axes that can never be the same size, as far as the declarations say.
bool contradict(const AxisSyntax &a, const AxisSyntax &b) {
  if (a.kind == AxisSyntax::Size && b.kind == AxisSyntax::Size)
    return a.size != b.size;
  return a.dim && b.dim && *a.dim != *b.dim;
}

} // namespace

// call_c4: a tensor argument is a tensor's name with the formal's element type and rank.
void TypeChecker::checkTensorArgument(const FunctionDecl &callee, const Decl &formal, Expr &argument) {
  std::string what = "argument " + inQuotes(formal.name) + " of " + inQuotes(callee.name) + " must be " +
                     tensorTypeName(*formal.tensor);
  Decl *decl = argument.kind == ExprKind::Name ? resolve(argument.name, argument.span) : nullptr;
  if (!decl || !decl->tensor) {
    if (Type type = checkExpr(argument))
      diagnostics.error(argument.span, what + ", found " + std::string(typeName(*type)), "pass the name of a tensor");
    return;
  }
  decl->isUsed = true;
  checkDecl(*decl);
  argument.nameKind = NameKind::Declared;
  argument.decl = decl;
  const TensorType &have = *decl->tensor, &want = *formal.tensor;
  bool matches = have.element == want.element && have.axes.size() == want.axes.size();
  for (size_t i = 0; matches && i < have.axes.size(); ++i)
    matches = !contradict(have.axes[i], want.axes[i]);
  if (!matches)
    diagnostics.error(argument.span, what + ", found " + tensorTypeName(have),
                      "change the tensor's declaration, or pass another one");
}

std::optional<ScalarType> TypeChecker::checkBuiltinCall(Expr &expr, const BuiltinFunction &builtin) {
  expr.nameKind = NameKind::Builtin;
  expr.builtin = &builtin;
  size_t count = expr.operands.size();
  bool known = true;
  for (Expr *argument : expr.operands)
    known &= checkExpr(*argument).has_value();
  if (count < builtin.minArguments || count > builtin.maxArguments) {
    bool isRange = builtin.minArguments != builtin.maxArguments;
    std::string range = isRange ? " to " + std::to_string(builtin.maxArguments) : "";
    diagnostics.error(expr.span,
                      isRange ? inQuotes(builtin.name) + " takes " + std::to_string(builtin.minArguments) + range +
                                    " arguments, found " + std::to_string(count)
                              : argumentCount(builtin.name, builtin.minArguments, "", count),
                      "see docs/language.md, built-in functions");
    return std::nullopt;
  }
  if (!known)
    return std::nullopt;
  auto type = [&](size_t i) { return *expr.operands[i]->type; };
  size_t firstNumber = 0;
  bool boolsAllowed = false;
  Type result = type(0);
  switch (builtin.rule) {
  case BuiltinRule::Float:
  case BuiltinRule::Sigmoid:
    result = ScalarType::F32;
    break;
  case BuiltinRule::Power:
  case BuiltinRule::Min:
  case BuiltinRule::Max:
  case BuiltinRule::Clamp:
    for (size_t i = 1; i < count && result; ++i)
      result = meet(*result, type(i));
    break;
  case BuiltinRule::Abs:
  case BuiltinRule::Relu:
    break;
  case BuiltinRule::Select:
    needBool(*expr.operands[0], "the condition of 'select'");
    result = meet(type(1), type(2));
    firstNumber = 1;
    boolsAllowed = result.has_value();
    break;
  case BuiltinRule::ToI32:
    result = ScalarType::I32;
    boolsAllowed = true;
    break;
  case BuiltinRule::ToF32:
    result = ScalarType::F32;
    boolsAllowed = true;
    break;
  case BuiltinRule::ToBool:
    result = ScalarType::Bool;
    boolsAllowed = true;
    break;
  }
  for (size_t i = firstNumber; i < count && !boolsAllowed; ++i)
    if (type(i) == ScalarType::Bool) {
      diagnostics.error(expr.operands[i]->span, inQuotes(builtin.name) + " is not defined on bool",
                        "a bool becomes a number with i32(x) or f32(x)");
      return std::nullopt;
    }
  return result;
}

} // namespace attnc::frontend

// Expressions other than calls.
#include "frontend/TypeCheck.h"

namespace attnc::frontend {

std::optional<ScalarType> TypeChecker::checkExpr(Expr &expr) {
  if (depth >= kMaxExpansionDepth) {
    diagnostics.error(expr.span,
                      "calls and expressions nest deeper than " + std::to_string(kMaxExpansionDepth) + " levels",
                      "make the chain of functions shorter");
    return std::nullopt;
  }
  ++depth;
  expr.type = checkExprKind(expr);
  --depth;
  return expr.type;
}

std::optional<ScalarType> TypeChecker::checkExprKind(Expr &expr) {
  switch (expr.kind) {
  case ExprKind::Literal:
    return expr.type;
  case ExprKind::Name:
    return checkName(expr);
  case ExprKind::Negate:
    return checkNegate(expr);
  case ExprKind::Not:
    if (checkExpr(*expr.operands[0]))
      needBool(*expr.operands[0], "the operand of 'not'");
    return ScalarType::Bool;
  case ExprKind::Binary:
    return checkBinary(expr);
  case ExprKind::Compare:
    return checkCompare(expr);
  case ExprKind::Logical:
    return checkLogical(expr);
  case ExprKind::IfElse:
    return checkIfElse(expr);
  case ExprKind::Pipe:
    return checkPipe(expr);
  case ExprKind::Index:
    return checkIndex(expr);
  case ExprKind::Reindex:
    return checkReindex(expr);
  case ExprKind::Call:
    return checkCall(expr);
  }
  return std::nullopt;
}

bool TypeChecker::needBool(const Expr &operand, std::string_view who) {
  if (*operand.type == ScalarType::Bool)
    return true;
  diagnostics.error(operand.span, std::string(who) + " must be bool, found " + std::string(typeName(*operand.type)),
                    "compare it, for example with != 0");
  return false;
}

Decl *TypeChecker::resolve(std::string_view name, Span at) {
  for (const Scope *scope = context.scope; scope; scope = scope->parent) {
    if (auto found = scope->names.find(name); found != scope->names.end())
      return found->second;
    Decl *found = nullptr;
    for (const Scope *imported : scope->imported) {
      auto entry = imported->names.find(name);
      if (entry == imported->names.end() || entry->second == found)
        continue;
      // import_c3: a name that two whole-module imports offer must be imported by name.
      if (found)
        diagnostics.error(at, inQuotes(name) + " comes from two imported modules",
                          "import it by name: from module import " + std::string(name) + ";");
      found = entry->second;
    }
    if (found)
      return found;
  }
  return nullptr;
}

std::vector<std::string_view> TypeChecker::visibleNames(bool functions) const {
  std::vector<std::string_view> names;
  auto add = [&](const Scope &scope) {
    for (const auto &[name, decl] : scope.names)
      if (!functions || decl->kind == DeclKind::Function)
        names.push_back(name);
  };
  for (const Scope *scope = context.scope; scope; scope = scope->parent) {
    add(*scope);
    for (const Scope *imported : scope->imported)
      add(*imported);
  }
  if (functions) {
    names.insert(names.end(), builtinNames().begin(), builtinNames().end());
  } else {
    for (size_t i = 0; i < kImplicitCount; ++i)
      if (context.available[i])
        names.push_back(kImplicitNames[i]);
    names.insert(names.end(), std::begin(kDimNames), std::end(kDimNames));
  }
  return names;
}

// name_c1: every name is declared, implicit, a dimension or built in.
void TypeChecker::undefined(const Expr &expr, bool isCall) {
  // What people bring along from elsewhere.
  static constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"q", "the query's index is q_idx"},
      {"k", "the key's index is kv_idx"},
      {"kv", "the key's index is kv_idx"},
      {"i", "the query's index is q_idx"},
      {"j", "the key's index is kv_idx"},
      {"True", "write true"},
      {"False", "write false"},
      {"where", "use select(c, a, b) or if c then a else b"},
      {"minimum", "use min(a, b)"},
      {"maximum", "use max(a, b)"},
      {"float", "use f32(x)"},
      {"int", "use i32(x)"}};
  std::string hint;
  for (auto [name, help] : known)
    if (expr.name == name)
      hint = help;
  if (hint.empty())
    hint = didYouMean(expr.name, visibleNames(isCall));
  if (hint.empty())
    hint = isCall ? "define it with fn, or import it: from std import ..."
                  : "declare it with tensor, param, const or let, or import it";
  diagnostics.error(
      expr.span, std::string(isCall ? "function " : "") + inQuotes(expr.name.substr(0, 80)) + " is not defined", hint);
}

std::optional<ScalarType> TypeChecker::checkName(Expr &expr) {
  for (size_t i = 0; i < kImplicitCount; ++i)
    if (expr.name == kImplicitNames[i]) {
      expr.nameKind = NameKind::Implicit;
      expr.index = static_cast<uint8_t>(i);
      return checkImplicit(expr);
    }
  for (size_t i = 0; i < std::size(kDimNames); ++i)
    if (expr.name == kDimNames[i]) {
      expr.nameKind = NameKind::Dim;
      expr.index = static_cast<uint8_t>(i);
      return ScalarType::I32;
    }
  Decl *decl = resolve(expr.name, expr.span);
  if (!decl) {
    if (findBuiltin(expr.name))
      diagnostics.error(expr.span, "function " + inQuotes(expr.name) + " is used without arguments",
                        "call it: " + std::string(expr.name) + "(x)");
    else
      undefined(expr, false);
    return std::nullopt;
  }
  expr.nameKind = NameKind::Declared;
  expr.decl = decl;
  decl->isUsed = true;
  if (decl->kind == DeclKind::Function) {
    expr.kind = ExprKind::Call; // apply_c1: without formals, a name applies the function
    return checkFunctionCall(expr, static_cast<FunctionDecl &>(*decl));
  }
  if (decl->tensor) {
    diagnostics.error(expr.span, "tensor " + inQuotes(expr.name) + " used as a scalar",
                      "index it, for example " + std::string(expr.name) + "[q_idx]");
    return std::nullopt;
  }
  if (!checkDecl(*decl)) {
    diagnostics.error(expr.span, "const " + inQuotes(expr.name) + " depends on itself",
                      "give one of them a value of its own");
    return std::nullopt;
  }
  if (context.place == Place::Constant || context.place == Place::Scale)
    if (decl->kind == DeclKind::Param) {
      // const_c2: a param changes from call to call.
      diagnostics.error(expr.span, "param " + inQuotes(expr.name) + " is not known at compile time",
                        "declare it with const instead of param");
      return std::nullopt;
    }
  return decl->type;
}

std::optional<ScalarType> TypeChecker::checkImplicit(Expr &expr) {
  if (context.available[expr.index])
    return expr.index == static_cast<uint8_t>(ArgumentKind::Score) ? ScalarType::F32 : ScalarType::I32;
  std::string hint = "use it in mask_mod or score_mod";
  bool isScore = expr.index == static_cast<uint8_t>(ArgumentKind::Score);
  if (context.place == Place::Fn)
    hint = "pass it as an argument";
  else if (context.place == Place::Sink)
    hint = "a sink depends on b and h alone";
  else if (isScore && context.place == Place::MaskMod)
    hint = "masks do not see the score; put this into score_mod";
  diagnostics.error(expr.span, inQuotes(expr.name) + " is not available in " + std::string(placeName(context.place)),
                    hint);
  return std::nullopt;
}

std::optional<ScalarType> TypeChecker::checkNegate(Expr &expr) {
  Type type = checkExpr(*expr.operands[0]);
  if (type && *type == ScalarType::Bool) {
    diagnostics.error(expr.span, "operand of '-' must be i32 or f32, found bool", "write 'not'");
    return std::nullopt;
  }
  return type;
}

namespace {

std::string_view opText(BinaryOp op) {
  static constexpr std::string_view texts[] = {"+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"};
  return texts[static_cast<size_t>(op)];
}

std::string operandsMessage(std::string_view op, std::string_view wanted, ScalarType a, ScalarType b) {
  std::string out =
      "operands of " + inQuotes(op) + " must be " + std::string(wanted) + ", found " + std::string(typeName(a));
  return a == b ? out : out + " and " + std::string(typeName(b));
}

} // namespace

std::optional<ScalarType> TypeChecker::checkBinary(Expr &expr) {
  Type a = checkExpr(*expr.operands[0]), b = checkExpr(*expr.operands[1]);
  if (!a || !b)
    return std::nullopt;
  bool bothInts = *a == ScalarType::I32 && *b == ScalarType::I32;
  bool noBools = *a != ScalarType::Bool && *b != ScalarType::Bool;
  std::string_view wanted, hint;
  switch (expr.op) {
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul:
  case BinaryOp::Power:
    if (noBools)
      return meet(*a, *b);
    wanted = "i32 or f32";
    hint = "a bool becomes a number with i32(x) or f32(x)";
    break;
  case BinaryOp::Divide: // div_c2
    if (noBools)
      return ScalarType::F32;
    wanted = "i32 or f32";
    hint = "a bool becomes a number with i32(x) or f32(x)";
    break;
  case BinaryOp::FloorDiv:
  case BinaryOp::Modulo:
    if (bothInts)
      return ScalarType::I32;
    wanted = "i32";
    hint = "for f32 write floor(a / b)";
    break;
  case BinaryOp::ShiftLeft:
  case BinaryOp::ShiftRight:
    if (bothInts)
      return ScalarType::I32;
    wanted = "i32";
    hint = "convert with i32(x)";
    break;
  case BinaryOp::And: // bits_c1
  case BinaryOp::Or:
  case BinaryOp::Xor:
    if (bothInts || (*a == ScalarType::Bool && *b == ScalarType::Bool))
      return a;
    wanted = "both i32 or both bool";
    hint = "it binds tighter than comparisons: use parentheses, or and / or";
    break;
  }
  diagnostics.error(expr.span, operandsMessage(opText(expr.op), wanted, *a, *b), std::string(hint));
  return std::nullopt;
}

std::optional<ScalarType> TypeChecker::checkCompare(Expr &expr) {
  static constexpr std::string_view texts[] = {"<", "<=", ">", ">=", "==", "!="};
  bool known = true;
  for (Expr *operand : expr.operands)
    known &= checkExpr(*operand).has_value();
  if (!known)
    return ScalarType::Bool;
  for (size_t i = 0; i + 1 < expr.operands.size(); ++i) {
    ScalarType a = *expr.operands[i]->type, b = *expr.operands[i + 1]->type;
    bool isEquality = expr.compareOps[i] >= CompareOp::Equal;
    bool anyBool = a == ScalarType::Bool || b == ScalarType::Bool;
    if (anyBool && !(isEquality && a == b)) {
      std::string_view wanted = isEquality ? "both bool or both numbers" : "i32 or f32";
      diagnostics.error(expr.span, operandsMessage(texts[static_cast<size_t>(expr.compareOps[i])], wanted, a, b),
                        "join conditions with and / or");
      return ScalarType::Bool;
    }
  }
  return ScalarType::Bool;
}

std::optional<ScalarType> TypeChecker::checkLogical(Expr &expr) {
  Type a = checkExpr(*expr.operands[0]), b = checkExpr(*expr.operands[1]);
  if (a && b && (*a != ScalarType::Bool || *b != ScalarType::Bool))
    diagnostics.error(expr.span, operandsMessage(expr.isOr ? "or" : "and", "bool", *a, *b),
                      "compare it, for example with != 0");
  return ScalarType::Bool;
}

std::optional<ScalarType> TypeChecker::checkIfElse(Expr &expr) {
  if (checkExpr(*expr.operands[0]))
    needBool(*expr.operands[0], "the condition of 'if'");
  Type a = checkExpr(*expr.operands[1]), b = checkExpr(*expr.operands[2]);
  if (!a || !b)
    return std::nullopt;
  Type common = meet(*a, *b);
  if (!common)
    diagnostics.error(expr.span,
                      "the branches of 'if' differ: " + std::string(typeName(*a)) + " and " + std::string(typeName(*b)),
                      "make both the same type");
  return common;
}

// pipe_c1: the right side sees the left as its score.
std::optional<ScalarType> TypeChecker::checkPipe(Expr &expr) {
  Type value = checkExpr(*expr.operands[0]);
  if (!context.available[static_cast<size_t>(ArgumentKind::Score)]) {
    diagnostics.error(expr.span, "'|>' passes a score; it cannot be used in " + std::string(placeName(context.place)),
                      "join masks with and / or");
    return std::nullopt;
  }
  if (value && *value == ScalarType::Bool)
    diagnostics.error(expr.operands[0]->span, "'|>' passes an f32, found bool",
                      "write: if condition then score else -inf");
  Type result = checkExpr(*expr.operands[1]);
  if (result && *result == ScalarType::Bool) {
    diagnostics.error(expr.operands[1]->span, "the right side of '|>' must be f32, found bool",
                      "put conditions in mask_mod");
    return ScalarType::F32;
  }
  return result;
}

// load_c1: as many indices as dimensions, all i32.
std::optional<ScalarType> TypeChecker::checkIndex(Expr &expr) {
  Decl *tensor = tensorNamed(*expr.operands[0]);
  for (size_t i = 1; i < expr.operands.size(); ++i) {
    Type type = checkExpr(*expr.operands[i]);
    if (!type || *type == ScalarType::I32)
      continue;
    std::string what = tensor ? "index into " + inQuotes(tensor->name) : "an index";
    diagnostics.error(expr.operands[i]->span, what + " must be i32, found " + std::string(typeName(*type)),
                      "use i32(x)");
  }
  if (!tensor)
    return std::nullopt;
  size_t rank = tensor->tensor->axes.size(), found = expr.operands.size() - 1;
  if (rank != found) {
    diagnostics.error(expr.span,
                      inQuotes(tensor->name) + " has rank " + std::to_string(rank) + " but is indexed with " +
                          std::to_string(found) + (found == 1 ? " value" : " values"),
                      "its type is " + tensorTypeName(*tensor->tensor));
    return std::nullopt;
  }
  expr.decl = tensor;
  return tensor->tensor->element;
}

std::optional<ScalarType> TypeChecker::checkReindex(Expr &expr) {
  for (size_t i = 0; i < expr.rebound.size(); ++i) {
    size_t index = static_cast<size_t>(expr.rebound[i]);
    std::string name = inQuotes(kImplicitNames[index]);
    Type type = checkExpr(*expr.operands[i + 1]);
    if (!context.available[index])
      diagnostics.error(expr.operands[i + 1]->span,
                        name + " is not available in " + std::string(placeName(context.place)),
                        "only the names that are available can be given new values");
    else if (type)
      checkConversion(expr.operands[i + 1]->span, name, *type,
                      expr.rebound[i] == ArgumentKind::Score ? ScalarType::F32 : ScalarType::I32, "must be");
  }
  return checkExpr(*expr.operands[0]);
}

} // namespace attnc::frontend

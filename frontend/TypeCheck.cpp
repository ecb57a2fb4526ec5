// Modules, variants and declarations.
#include "frontend/TypeCheck.h"

namespace attnc::frontend {

std::string_view typeName(ScalarType type) {
  switch (type) {
  case ScalarType::Bool:
    return "bool";
  case ScalarType::I32:
    return "i32";
  case ScalarType::F32:
    return "f32";
  }
  return "";
}

std::string tensorTypeName(const TensorType &type) {
  std::string out(typeName(type.element));
  const char *separator = "[";
  for (const AxisSyntax &axis : type.axes) {
    out += separator;
    separator = ", ";
    if (axis.kind == AxisSyntax::Size)
      out += std::to_string(axis.size);
    else
      out += axis.kind == AxisSyntax::Name ? axis.name : std::string_view("?");
  }
  return out + "]";
}

// widen_c1: an i32 becomes an f32 where the two meet; bool never becomes a number.
std::optional<ScalarType> meet(ScalarType a, ScalarType b) {
  if (a == b)
    return a;
  if (a == ScalarType::Bool || b == ScalarType::Bool)
    return std::nullopt;
  return ScalarType::F32;
}

bool convertible(ScalarType from, ScalarType to) {
  return from == to || (from == ScalarType::I32 && to == ScalarType::F32);
}

// implicit_c1: who sees which of score, b, h, q_idx and kv_idx.
TypeChecker::Context TypeChecker::contextOf(Place place, const Scope *scope, FunctionDecl *function) {
  Context made{place, {}, function, scope};
  if (place == Place::MaskMod || place == Place::ScoreMod || place == Place::Sink)
    made.available.set(static_cast<size_t>(ArgumentKind::Batch)).set(static_cast<size_t>(ArgumentKind::Head));
  if (place == Place::MaskMod || place == Place::ScoreMod)
    made.available.set(static_cast<size_t>(ArgumentKind::QueryIndex)).set(static_cast<size_t>(ArgumentKind::KvIndex));
  if (place == Place::ScoreMod)
    made.available.set(static_cast<size_t>(ArgumentKind::Score));
  return made;
}

std::string_view TypeChecker::placeName(Place place) {
  switch (place) {
  case Place::Constant:
    return "a constant";
  case Place::Fn:
    return "an fn";
  case Place::MaskMod:
    return "a mask_mod";
  case Place::ScoreMod:
    return "a score_mod";
  case Place::Sink:
    return "a sink";
  case Place::Scale:
    return "scale";
  }
  return "";
}

void TypeChecker::check(ModuleUnit &unit) {
  for (Decl *decl : unit.ast.decls)
    checkDecl(*decl);
  std::unordered_map<std::string_view, const VariantDecl *> seen;
  for (VariantDecl &variant : unit.ast.variants) {
    // variant_c1: variants have a name space of their own.
    auto [first, isNew] = seen.emplace(variant.name, &variant);
    if (!isNew) {
      diagnostics.error(variant.span, "variant " + inQuotes(variant.name) + " is already defined",
                        "rename one of the two");
      diagnostics.note(first->second->span, "first defined here");
    }
    variant.scope.parent = &unit.scope;
    checkVariant(variant);
  }
}

void TypeChecker::checkVariant(VariantDecl &variant) {
  for (Decl *decl : variant.decls)
    declare(variant.scope, *decl, diagnostics);
  for (Decl *decl : variant.decls)
    checkDecl(*decl);
  const Field *seen[std::size(kFieldNames)] = {};
  for (const Field &field : variant.fields) {
    // variant_c2: each field at most once.
    const Field *&first = seen[static_cast<size_t>(field.kind)];
    if (first) {
      diagnostics.error(field.span, inQuotes(kFieldNames[static_cast<size_t>(field.kind)]) + " is given twice",
                        "combine masks with and, scores with |>");
      diagnostics.note(first->span, "first given here");
    }
    first = &field;
    checkField(field, variant.scope);
  }
  for (const Decl *decl : variant.decls)
    warnUnused(*decl);
}

void TypeChecker::warnUnused(const Decl &decl) {
  if (diagnostics.hasErrors()) // it may be used in what was wrong
    return;
  if (decl.isUsed || decl.kind == DeclKind::LoopVariable || decl.kind == DeclKind::Formal)
    return;
  std::string_view kind;
  if (decl.kind == DeclKind::Tensor)
    kind = "tensor ";
  else if (decl.kind == DeclKind::Param)
    kind = "param ";
  else if (decl.kind == DeclKind::Function)
    kind = "function ";
  diagnostics.warning(decl.span, std::string(kind) + inQuotes(decl.name) + " is never used", "remove it, or use it");
}

// field_c1: mask_mod is bool; score_mod, sink and scale are f32, an i32 widens.
void TypeChecker::checkField(const Field &field, const Scope &scope) {
  static constexpr Place places[] = {Place::MaskMod, Place::ScoreMod, Place::Scale, Place::Sink};
  context = contextOf(places[static_cast<size_t>(field.kind)], &scope);
  Type type = checkExpr(*field.value);
  if (!type)
    return;
  std::string_view name = kFieldNames[static_cast<size_t>(field.kind)];
  bool isMask = field.kind == FieldKind::MaskMod;
  if (isMask ? *type == ScalarType::Bool : *type != ScalarType::Bool)
    return;
  std::string hint =
      isMask ? "compare, for example: q_idx >= kv_idx" : "write a number, or: if condition then a else b";
  if (field.kind == FieldKind::ScoreMod)
    hint = "put conditions in mask_mod, or write: if condition then score else -inf";
  diagnostics.error(
      field.value->span,
      std::string(name) + " must be " + (isMask ? "bool" : "f32") + ", found " + std::string(typeName(*type)), hint);
}

// False if the declaration is being checked already: it depends on itself.
bool TypeChecker::checkDecl(Decl &decl) {
  if (decl.state != CheckState::Untouched)
    return decl.state == CheckState::Done;
  decl.state = CheckState::Running;
  Context outer = context;
  switch (decl.kind) {
  case DeclKind::Const:
    checkConst(decl);
    break;
  case DeclKind::Param:
    checkParam(decl);
    break;
  case DeclKind::Tensor:
    checkTensor(decl, *decl.tensor);
    break;
  case DeclKind::Function:
    checkFunction(static_cast<FunctionDecl &>(decl));
    break;
  case DeclKind::Formal:
  case DeclKind::Local:
  case DeclKind::LoopVariable:
    break; // checked where they stand
  }
  context = outer;
  decl.state = CheckState::Done;
  return true;
}

void TypeChecker::checkConversion(Span at, std::string_view what, ScalarType from, ScalarType to,
                                  std::string_view verb) {
  if (convertible(from, to))
    return;
  std::string hint;
  if (to == ScalarType::I32)
    hint = "use i32(x)";
  else if (to == ScalarType::F32)
    hint = "use f32(x)";
  else
    hint = "compare it, for example with != 0";
  diagnostics.error(at,
                    std::string(what) + " " + std::string(verb) + " " + std::string(typeName(to)) + ", found " +
                        std::string(typeName(from)),
                    hint);
}

void TypeChecker::checkConst(Decl &decl) {
  context = contextOf(Place::Constant, decl.scope);
  Type type = checkExpr(*decl.value);
  if (type && decl.type)
    checkConversion(decl.value->span, "const " + inQuotes(decl.name), *type, *decl.type, "must be");
  if (!decl.type)
    decl.type = type;
}

// param_c1: a type, and a constant for a default.
void TypeChecker::checkParam(Decl &decl) {
  if (!decl.value)
    return;
  context = contextOf(Place::Constant, decl.scope);
  if (Type type = checkExpr(*decl.value))
    checkConversion(decl.value->span, "the default of param " + inQuotes(decl.name), *type, *decl.type, "must be");
}

void TypeChecker::checkTensor(Decl &decl, TensorType &type) {
  for (AxisSyntax &axis : type.axes)
    checkAxis(axis, decl.scope);
  // tensor_c2: sorted needs an order, grad needs a derivative.
  if (type.isSorted && type.element == ScalarType::Bool)
    diagnostics.error(decl.span, "a bool tensor cannot be sorted", "remove 'sorted'");
  if (type.wantsGradient && type.element != ScalarType::F32)
    diagnostics.error(decl.span, "grad needs an f32 tensor, found " + std::string(typeName(type.element)),
                      "remove 'grad'");
}

// tensor_c1: an axis is a positive size, a dimension, a const i32, or any.
void TypeChecker::checkAxis(AxisSyntax &axis, const Scope *scope) {
  if (axis.kind == AxisSyntax::Size && (axis.size < 1 || axis.size > INT32_MAX))
    diagnostics.error(axis.span, "a dimension must be between 1 and 2147483647",
                      "use ? for a size that is known at launch");
  if (axis.kind != AxisSyntax::Name)
    return;
  for (size_t i = 0; i < std::size(kDimNames); ++i)
    if (axis.name == kDimNames[i])
      axis.dim = static_cast<DimKind>(i);
  if (axis.dim)
    return;
  context = contextOf(Place::Constant, scope);
  Decl *decl = resolve(axis.name, axis.span);
  if (decl && decl->kind == DeclKind::Const && checkDecl(*decl) && decl->type == ScalarType::I32) {
    decl->isUsed = true;
    axis.constant = decl;
    return;
  }
  diagnostics.error(axis.span,
                    "expected a dimension, found " +
                        (decl ? inQuotes(axis.name) + ", which is not a const i32" : inQuotes(axis.name)),
                    "the dimensions are B, H, Hkv, Q, KV, D; ? stands for any size");
}

void TypeChecker::checkFunction(FunctionDecl &function) {
  if (function.functionKind != FunctionKind::Fn) {
    ScalarType wanted = function.functionKind == FunctionKind::MaskMod ? ScalarType::Bool : ScalarType::F32;
    if (function.hasWrittenReturn && function.returnType && *function.returnType != wanted)
      diagnostics.error(function.span,
                        "a " + std::string(kFunctionKindNames[static_cast<size_t>(function.functionKind)]) +
                            " returns " + std::string(typeName(wanted)) + ", found " +
                            std::string(typeName(*function.returnType)),
                        "leave the return type out");
    function.returnType = wanted;
    function.hasWrittenReturn = true;
  }
  static constexpr Place places[] = {Place::MaskMod, Place::ScoreMod, Place::Fn};
  Scope formals;
  formals.parent = function.scope;
  for (Decl *formal : function.formals) {
    declare(formals, *formal, diagnostics);
    if (formal->tensor)
      for (AxisSyntax &axis : formal->tensor->axes)
        checkAxis(axis, function.scope);
  }
  context = contextOf(places[static_cast<size_t>(function.functionKind)], &formals, &function);
  Scope body;
  body.parent = &formals;
  uint32_t errorsBefore = diagnostics.errorCount();
  // return_c1: every path returns a value.
  if (checkBlock(function.body, body) || diagnostics.errorCount() != errorsBefore)
    return;
  const Stmt *last = function.body.empty() ? nullptr : function.body.back();
  if (last && last->kind == StmtKind::If)
    diagnostics.error(last->span, "one path through this 'if' does not return a value",
                      "add a return behind it or an else that returns");
  else
    diagnostics.error(function.span, inQuotes(function.name) + " does not return a value on every path",
                      "end the body with return");
}

} // namespace attnc::frontend

// Statements: declarations, assignment, control flow, returns.
#include "frontend/TypeCheck.h"

namespace attnc::frontend {

bool TypeChecker::checkBlock(const Block &block, Scope &scope) {
  const Scope *outer = context.scope;
  context.scope = &scope;
  bool returns = false;
  for (Stmt *stmt : block) {
    if (returns) {
      diagnostics.warning(stmt->span, "this statement is never reached", "remove it, or the return before it");
      break;
    }
    returns = checkStmt(*stmt, scope);
  }
  for (const Stmt *stmt : block)
    if (stmt->kind == StmtKind::Declare && stmt->decl->state == CheckState::Done)
      warnUnused(*stmt->decl);
  context.scope = outer;
  return returns;
}

bool TypeChecker::checkStmt(Stmt &stmt, Scope &scope) {
  switch (stmt.kind) {
  case StmtKind::Declare:
    checkLocal(*stmt.decl, scope);
    return false;
  case StmtKind::Assign:
    checkAssign(stmt);
    return false;
  case StmtKind::Return:
    checkReturn(stmt);
    return true;
  case StmtKind::If:
    return checkIf(stmt, scope);
  case StmtKind::For:
    checkFor(stmt, scope);
    return false;
  }
  return false;
}

void TypeChecker::checkLocal(Decl &decl, Scope &scope) {
  Type type = checkExpr(*decl.value);
  if (type && decl.type)
    checkConversion(decl.value->span, inQuotes(decl.name), *type, *decl.type, "is declared");
  if (!decl.type)
    decl.type = type;
  declare(scope, decl, diagnostics);
  decl.state = CheckState::Done;
}

// assign_c1: only a var, and the value has its type or widens to it.
void TypeChecker::checkAssign(Stmt &stmt) {
  Type type = checkExpr(*stmt.value);
  Decl *decl = resolve(stmt.name, stmt.span);
  if (!decl) {
    diagnostics.error(stmt.span, inQuotes(stmt.name) + " is not defined",
                      "declare it first: var " + std::string(stmt.name.substr(0, 40)) + " = ...;");
    return;
  }
  stmt.decl = decl;
  if (decl->kind != DeclKind::Local || !decl->isMutable) {
    diagnostics.error(stmt.span, inQuotes(stmt.name) + " cannot be assigned to",
                      decl->kind == DeclKind::Local ? "declare it with var instead of let"
                                                    : "copy it into a var first");
    diagnostics.note(decl->span, "declared here");
    return;
  }
  if (type && decl->type)
    checkConversion(stmt.value->span, inQuotes(stmt.name), *type, *decl->type, "is");
}

bool TypeChecker::checkIf(Stmt &stmt, Scope &scope) {
  if (checkExpr(*stmt.value))
    needBool(*stmt.value, "the condition of 'if'");
  Scope then, otherwise;
  then.parent = otherwise.parent = &scope;
  bool thenReturns = checkBlock(stmt.body, then);
  bool otherwiseReturns = checkBlock(stmt.otherwise, otherwise);
  return thenReturns && otherwiseReturns;
}

void TypeChecker::checkFor(Stmt &stmt, Scope &scope) {
  for (Expr *bound : {stmt.value, stmt.upper})
    if (Type type = checkExpr(*bound))
      checkConversion(bound->span, "a loop bound", *type, ScalarType::I32, "must be");
  Scope body;
  body.parent = &scope;
  stmt.decl->type = ScalarType::I32;
  declare(body, *stmt.decl, diagnostics);
  Scope inner;
  inner.parent = &body;
  checkBlock(stmt.body, inner);
}

// return_c2: the value has the declared type or widens to it; without a declared type all
// returns of an fn agree.
void TypeChecker::checkReturn(Stmt &stmt) {
  Type type = checkExpr(*stmt.value);
  FunctionDecl *function = context.function;
  if (!type || !function)
    return;
  std::string who =
      std::string(kFunctionKindNames[static_cast<size_t>(function->functionKind)]) + " " + inQuotes(function->name);
  if (!function->returnType) {
    if (!function->hasWrittenReturn)
      function->returnType = type;
    return;
  }
  if (function->functionKind == FunctionKind::ScoreMod && *type == ScalarType::Bool) {
    diagnostics.error(stmt.value->span, who + " must return f32, found bool",
                      "put conditions in mask_mod, or write: if condition then score else -inf");
    return;
  }
  if (function->hasWrittenReturn) {
    checkConversion(stmt.value->span, who, *type, *function->returnType, "must return");
    return;
  }
  Type common = meet(*type, *function->returnType);
  if (!common)
    diagnostics.error(stmt.value->span,
                      who + " returns " + std::string(typeName(*function->returnType)) + " before and " +
                          std::string(typeName(*type)) + " here",
                      "make all returns one type, or declare it: -> f32");
  else
    function->returnType = common;
}

} // namespace attnc::frontend

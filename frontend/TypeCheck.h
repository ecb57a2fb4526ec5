// Names and types. Writes into the tree what each name stands for and the type of each
// expression; everything that can be said without values is said here.
//
// Functions and consts are checked when they are first met, so they may stand in any
// order, and a cycle shows itself as a declaration met while it is being checked.
#pragma once

#include "frontend/Ast.h"
#include "frontend/Modules.h"

namespace attnc::frontend {

// Levels of expressions through all calls, in the checker and in lowering.
constexpr uint32_t kMaxExpansionDepth = 1000;

std::string_view typeName(ScalarType type);
std::string tensorTypeName(const TensorType &type);

class TypeChecker {
public:
  explicit TypeChecker(Diagnostics &diagnostics) : diagnostics(diagnostics) {}

  // Checks all declarations and variants of a module, and what they use of others.
  void check(ModuleUnit &unit);

private:
  using Type = std::optional<ScalarType>;

  // What an expression stands in: it decides which implicit names are there.
  enum class Place : uint8_t { Constant, Fn, MaskMod, ScoreMod, Sink, Scale };
  struct Context {
    Place place = Place::Constant;
    ImplicitSet available;
    FunctionDecl *function = nullptr;
    const Scope *scope = nullptr;
  };
  static Context contextOf(Place place, const Scope *scope, FunctionDecl *function = nullptr);
  static std::string_view placeName(Place place);

  // Declarations (TypeCheck.cpp).
  void checkVariant(VariantDecl &variant);
  void checkField(const Field &field, const Scope &scope);
  bool checkDecl(Decl &decl);
  void checkConst(Decl &decl);
  void checkParam(Decl &decl);
  void checkTensor(Decl &decl, TensorType &type);
  void checkAxis(AxisSyntax &axis, const Scope *scope);
  void checkFunction(FunctionDecl &function);
  void checkConversion(Span at, std::string_view what, ScalarType from, ScalarType to, std::string_view verb);
  void warnUnused(const Decl &decl);

  // Statements (TypeCheckStatements.cpp). True: every path through it returns.
  bool checkBlock(const Block &block, Scope &scope);
  bool checkStmt(Stmt &stmt, Scope &scope);
  bool checkIf(Stmt &stmt, Scope &scope);
  void checkFor(Stmt &stmt, Scope &scope);
  void checkLocal(Decl &decl, Scope &scope);
  void checkAssign(Stmt &stmt);
  void checkReturn(Stmt &stmt);

  // Expressions (TypeCheckExpressions.cpp).
  Type checkExpr(Expr &expr);
  Type checkExprKind(Expr &expr);
  Type checkName(Expr &expr);
  Type checkImplicit(Expr &expr);
  Type checkNegate(Expr &expr);
  Type checkBinary(Expr &expr);
  Type checkCompare(Expr &expr);
  Type checkLogical(Expr &expr);
  Type checkIfElse(Expr &expr);
  Type checkPipe(Expr &expr);
  Type checkIndex(Expr &expr);
  Type checkReindex(Expr &expr);
  bool needBool(const Expr &operand, std::string_view who);

  // Calls (TypeCheckCalls.cpp).
  Type checkCall(Expr &expr);
  Type checkFunctionCall(Expr &expr, FunctionDecl &callee);
  bool checkPlace(const Expr &expr, const FunctionDecl &callee);
  void checkArgument(const FunctionDecl &callee, const Decl &formal, Expr &argument);
  void checkTensorArgument(const FunctionDecl &callee, const Decl &formal, Expr &argument);
  Type checkBuiltinCall(Expr &expr, const BuiltinFunction &builtin);
  Decl *tensorNamed(Expr &expr);

  Decl *resolve(std::string_view name, Span at);
  std::vector<std::string_view> visibleNames(bool functions) const;
  void undefined(const Expr &expr, bool isCall);

  Diagnostics &diagnostics;
  Context context;
  uint32_t depth = 0;
};

// i32 and f32 meet in f32; nothing else meets.
std::optional<ScalarType> meet(ScalarType a, ScalarType b);
// Equal, or i32 where f32 is wanted.
bool convertible(ScalarType from, ScalarType to);

} // namespace attnc::frontend

// The syntax tree, with the places where the type checker writes what it found.
//
// Nodes live in the Ast's arenas and are freed with it, so pointers are plain and deep
// trees need no deep destructor. Names are views into Sources.
#pragma once

#include <bitset>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/Builtins.h"
#include "frontend/Diagnostics.h"

namespace attnc::frontend {

// The names a body sees without declaring them, in the order of ArgumentKind.
constexpr std::string_view kImplicitNames[] = {"score", "b", "h", "q_idx", "kv_idx"};
constexpr size_t kImplicitCount = 5;
using ImplicitSet = std::bitset<kImplicitCount>;
constexpr std::string_view kDimNames[] = {"B", "H", "Hkv", "Q", "KV", "D"};

struct Decl;
struct FunctionDecl;
struct Stmt;

enum class ExprKind : uint8_t {
  Literal, // bits, type
  Name,    // name
  Negate,  // a
  Not,     // a
  Binary,  // op: a, b
  Compare, // a, b, c, ... with compareOps between them
  Logical, // isOr: a, b
  IfElse,  // condition, then, else
  Pipe,    // a |> b
  Index,   // tensor, i, j, ...
  Reindex, // body, new values; rebound
  Call     // name(arguments)
};

enum class BinaryOp : uint8_t { Add, Sub, Mul, Divide, FloorDiv, Modulo, Power, ShiftLeft, ShiftRight, And, Or, Xor };
enum class CompareOp : uint8_t { Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual };

// What a name stands for.
enum class NameKind : uint8_t { Unresolved, Implicit, Dim, Declared, Builtin };

struct Expr {
  ExprKind kind;
  Span span; // of the operator or the name: where the caret goes
  std::vector<Expr *> operands;
  std::string_view name;
  BinaryOp op = BinaryOp::Add;
  bool isOr = false;
  std::vector<CompareOp> compareOps;
  std::vector<ArgumentKind> rebound; // of Reindex, one for each operand after the first
  uint32_t bits = 0;
  uint32_t depth = 1; // levels of the tree below and with this node

  // Written by the checker. No type: an error was reported below.
  std::optional<ScalarType> type;
  NameKind nameKind = NameKind::Unresolved;
  uint8_t index = 0; // Implicit: ArgumentKind; Dim: DimKind
  const BuiltinFunction *builtin = nullptr;
  Decl *decl = nullptr;
};

// One axis of a tensor type as written; a name may be a dimension or a const.
struct AxisSyntax {
  enum Kind : uint8_t { Size, Name, Any } kind = Any;
  int64_t size = 0;
  std::string_view name;
  Span span;
  // Written by the checker.
  std::optional<DimKind> dim;
  Decl *constant = nullptr;
};

struct TensorType {
  ScalarType element = ScalarType::F32;
  std::vector<AxisSyntax> axes;
  bool isSorted = false;
  bool wantsGradient = false;
};

enum class DeclKind : uint8_t { Const, Param, Tensor, Function, Formal, Local, LoopVariable };
enum class CheckState : uint8_t { Untouched, Running, Done };

struct Scope;

struct Decl {
  DeclKind kind;
  std::string_view name;
  Span span;
  std::optional<ScalarType> type; // as written; of a const or local, filled by the checker
  std::optional<TensorType> tensor;
  Expr *value = nullptr;  // Const, Local: the value; Param: the default
  bool isConst = false;   // Formal
  bool isMutable = false; // Local: var
  bool isUsed = false;
  CheckState state = CheckState::Untouched;
  Scope *scope = nullptr; // that it was declared in
};

enum class FunctionKind : uint8_t { MaskMod, ScoreMod, Fn };
constexpr std::string_view kFunctionKindNames[] = {"mask_mod", "score_mod", "fn"};

using Block = std::vector<Stmt *>;

struct FunctionDecl : Decl {
  FunctionKind functionKind = FunctionKind::Fn;
  std::vector<Decl *> formals;
  std::optional<ScalarType> returnType; // as written, then as checked
  bool hasWrittenReturn = false;
  Block body;
};

enum class StmtKind : uint8_t { Declare, Assign, Return, If, For };

struct Stmt {
  StmtKind kind;
  Span span;
  std::string_view name; // Assign
  Decl *decl = nullptr;  // Declare, For: its own; Assign: written by the checker
  Expr *value = nullptr; // Assign, Return; If: the condition; For: the lower bound
  Expr *upper = nullptr; // For
  Block body, otherwise; // If: the arms; For: the body
};

enum class FieldKind : uint8_t { MaskMod, ScoreMod, Scale, Sink };
constexpr std::string_view kFieldNames[] = {"mask_mod", "score_mod", "scale", "sink"};

struct Field {
  FieldKind kind;
  Span span;
  Expr *value;
};

struct Scope {
  const Scope *parent = nullptr;
  std::unordered_map<std::string_view, Decl *> names;
  std::vector<const Scope *> imported; // `import m;`: after the own names
};

struct VariantDecl {
  std::string_view name;
  Span span;
  std::vector<Decl *> decls;
  std::vector<Field> fields;
  Scope scope;
};

struct ImportDecl {
  std::string path; // "std.masks"
  Span span;
  struct Name {
    std::string_view name;
    Span span;
  };
  std::vector<Name> names; // empty: all
};

struct Ast {
  std::deque<Expr> exprs;
  std::deque<Stmt> stmts;
  std::deque<Decl> plainDecls;
  std::deque<FunctionDecl> functions;
  std::deque<VariantDecl> variants;
  std::vector<Decl *> decls; // of the module, in source order
  std::vector<ImportDecl> imports;
};

} // namespace attnc::frontend

// Syntax tree to Program by partial evaluation: functions are expanded where they are
// called, conditions that are constants choose their arm, loops unroll, and what remains
// of `if` becomes select. Runs on checked trees only, so types are never in doubt here;
// what is reported is what needs values: constants, loop bounds, size.
#pragma once

#include <array>
#include <utility>

#include "frontend/Modules.h"

namespace attnc::frontend {

constexpr uint32_t kMaxInstructions = 16384;       // of one function of a variant
constexpr uint32_t kMaxLoopSteps = 1024;           // of one loop
constexpr uint32_t kMaxStepsPerVariant = 1u << 18; // expressions evaluated
constexpr uint32_t kMaxStepsPerLoad = 1u << 20;

class Lowering {
public:
  Lowering(const Sources &sources, Diagnostics &diagnostics) : sources(sources), diagnostics(diagnostics) {}

  // Evaluates the consts of a module, so that a wrong one is reported even if unused.
  void evaluateConsts(const std::vector<Decl *> &decls);
  // Null after an error.
  std::optional<Program> lower(const VariantDecl &variant);

private:
  // The values of one function's formals and locals. `order` lists the vars, since
  // merging them must not depend on addresses.
  struct Frame {
    std::unordered_map<const Decl *, ValueId> values;
    std::unordered_map<const Decl *, const Decl *> tensors; // formal -> what it stands for
    std::vector<const Decl *> order;
    const FunctionDecl *function = nullptr;
  };
  // What statements did: under `condition` they returned `value`.
  struct Outcome {
    std::optional<ValueId> condition; // unset: never
    ValueId value = 0;
  };
  // What is being built; constants are evaluated into a scratch one.
  struct Target {
    Program program;
    std::optional<FunctionBuilder> builder;
    std::unordered_map<const Decl *, uint32_t> captures, params;
    std::unordered_map<uint32_t, uint32_t> files; // Sources' index -> Program's
    std::array<std::optional<ValueId>, kImplicitCount> indices;
  };
  struct TraceEntry {
    Span span;
    std::string text;
  };

  // Programs and declarations (Lower.cpp).
  void lowerField(const Field &field);
  void addTensor(const Decl &decl);
  void addParam(const Decl &decl);
  bool claimName(const Decl &decl);
  std::optional<uint32_t> constantOf(const Expr &expr, ScalarType type, std::string_view what);
  ValueId constValue(const Decl &decl);
  SourceLocation locate(Span span);
  void error(Span at, std::string message, std::string hint);
  void tooLarge(Span at);
  bool spend(uint32_t steps, Span at);

  // Statements (LowerStatements.cpp).
  Outcome lowerBlock(const Block &block);
  Outcome lowerStmt(const Stmt &stmt);
  Outcome lowerIf(const Stmt &stmt);
  Outcome lowerFor(const Stmt &stmt);
  Outcome inSequence(const Outcome &first, const Outcome &second, Span at);
  void mergeVars(ValueId condition, const Frame &then, const Frame &otherwise, Span at);
  bool isAlways(const Outcome &outcome) const;

  // Expressions (LowerExpressions.cpp). The As form widens to a type.
  ValueId lowerExpr(const Expr &expr);
  ValueId lowerExprKind(const Expr &expr);
  ValueId lowerAs(const Expr &expr, ScalarType type);
  ValueId lowerName(const Expr &expr);
  ValueId lowerNegate(const Expr &expr);
  ValueId lowerBinary(const Expr &expr);
  ValueId lowerPower(const Expr &expr);
  ValueId lowerCompare(const Expr &expr);
  ValueId lowerLogical(const Expr &expr);
  ValueId lowerIfElse(const Expr &condition, const Expr &then, const Expr &otherwise, const Expr &whole);
  ValueId lowerIndex(const Expr &expr);
  ValueId lowerReindex(const Expr &expr);

  // Calls (LowerCalls.cpp).
  ValueId lowerCall(const Expr &expr);
  ValueId lowerFunctionCall(const Expr &expr, const FunctionDecl &callee);
  ValueId lowerBuiltin(const Expr &expr);
  ValueId lowerConversion(const Expr &expr, ScalarType to);
  const Decl *tensorOf(const Decl &decl) const;

  // Instructions.
  ValueId emit(Opcode op, std::vector<ValueId> operands, Span at);
  ValueId checked(ValueId value, Span at);
  ValueId widen(ValueId value, ScalarType type, Span at);
  ValueId compare(CompareOp op, ValueId a, ValueId b, Span at);
  ValueId choose(ValueId condition, ValueId a, ValueId b, Span at);
  ValueId invert(ValueId value, Span at);
  ValueId poison(ScalarType type);
  std::optional<uint32_t> bitsOf(ValueId value) const { return target->builder->constantBits(value); }
  ScalarType typeOf(ValueId value) const { return target->builder->type(value); }

  const Sources &sources;
  Diagnostics &diagnostics;
  Target *target = nullptr;
  Frame *frame = nullptr;
  const VariantDecl *variant = nullptr;
  std::vector<TraceEntry> trace; // calls and loops around the current place
  std::unordered_map<const Decl *, std::optional<uint32_t>> constants;
  uint32_t depth = 0;
  uint32_t stepsLeft = kMaxStepsPerVariant, stepsLeftInLoad = kMaxStepsPerLoad;
  bool isExhausted = false;
};

} // namespace attnc::frontend

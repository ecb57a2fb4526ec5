// A variant as plain data, without MLIR: straight-line functions over scalars.
//
// Front ends build a Program, print() gives the text of the attn dialect that the
// compiler parses, and parse() reads that text back (also as the compiler's passes
// print it). The runtime interprets Programs: the float64 reference and the block
// mask analysis walk the same instructions. The canonical text of a Program, without
// locations, is what the kernel cache is keyed by.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attnc {

enum class ScalarType : uint8_t { Bool, I32, F32 };

enum class Opcode : uint8_t {
#define ATTNC_OP(name, text, operands, result) name,
#include "ir/Opcodes.def"
};

// Comparison predicates in the order of MLIR's arith dialect.
enum class IntPredicate : uint8_t { eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge };
enum class FloatPredicate : uint8_t {
  alwaysFalse,
  oeq,
  ogt,
  oge,
  olt,
  ole,
  one,
  ord,
  ueq,
  ugt,
  uge,
  ult,
  ule,
  une,
  uno,
  alwaysTrue
};

enum class ArgumentKind : uint8_t { Score, Batch, Head, QueryIndex, KvIndex };
enum class DimKind : uint8_t { B, H, Hkv, Q, KV, D };

// A position in user text; line and column count from 1, line 0 is "unknown".
struct SourceLocation {
  uint32_t file = 0; // index into Program::files
  uint32_t line = 0;
  uint32_t column = 0;
};

// Index of an instruction within its function.
using ValueId = uint32_t;

struct Instruction {
  Opcode op;
  ScalarType type;        // of the result
  uint8_t predicate = 0;  // IntPredicate or FloatPredicate
  uint32_t immediate = 0; // Constant: the bits; Argument/Dim: the kind;
                          // Param/Load: index into Program::params/captures
  std::vector<ValueId> operands;
  SourceLocation location;
};

// Instructions in definition order; `result` is what the function yields.
struct Function {
  std::vector<Instruction> body;
  ValueId result = 0;
};

// One axis of a captured tensor: a fixed size, one of the call's dimensions, or any size.
struct CaptureDim {
  enum Kind : uint8_t { Fixed, Named, Any } kind = Any;
  int64_t size = 0;           // Fixed
  DimKind named = DimKind::B; // Named
};

struct Capture {
  std::string name;
  ScalarType type;
  std::vector<CaptureDim> dims;
  bool isSorted = false; // ascending along the last axis: a promise the analysis may use
  bool wantsGradient = false;
  SourceLocation location;
};

struct Param {
  std::string name;
  ScalarType type;
  std::optional<uint32_t> defaultBits; // bits of an i32, f32 or 0/1
  SourceLocation location;
};

// score_mod: (score, b, h, q_idx, kv_idx) -> f32; mask_mod: (b, h, q_idx, kv_idx) -> i1;
// sink: (b, h) -> f32, the logit of an extra key without a value; scale: () -> f32.
struct Program {
  std::string name;
  std::vector<std::string> files;
  std::vector<Capture> captures;
  std::vector<Param> params;
  std::optional<Function> scoreMod, maskMod, sink;
  std::optional<float> scale; // default 1/sqrt(D)
};

enum class PrintLocations { No, Yes };

// The text of one `attn.variant`. Values are numbered in definition order, dead
// instructions are dropped and unused captures and params kept, so equal programs
// print equally.
std::string print(const Program &program, PrintLocations locations = PrintLocations::No);

struct ParseFailure {
  std::string message; // "line 3: unknown operation 'arith.frob'"
};

// Reads one `attn.variant`, alone or inside a `module { }`.
// Returns the program or the reason; exactly one is set.
struct ParsedProgram {
  std::optional<Program> program;
  ParseFailure failure;
};
ParsedProgram parseProgram(std::string_view text);

// Reads a name, arity or result rule from Opcodes.def.
std::string_view opcodeText(Opcode op);
int opcodeArity(Opcode op);                                            // -1: any number
std::optional<ScalarType> opcodeResult(Opcode op, ScalarType operand); // nothing for Any
std::optional<Opcode> opcodeFromText(std::string_view text);

// The spellings of the text form.
std::string_view scalarTypeText(ScalarType type); // "i1", "i32", "f32"
std::string_view dimText(DimKind dim);            // "KV"
std::optional<DimKind> dimFromText(std::string_view text);
std::string_view argumentText(ArgumentKind kind);       // "q_idx"
std::string_view predicateText(IntPredicate predicate); // "sge"
std::string_view predicateText(FloatPredicate predicate);

// Appends instructions to a function with hash-consing and constant folding: equal
// instructions get one ValueId. Operand types are the caller's duty (asserted).
class FunctionBuilder {
public:
  explicit FunctionBuilder(Program &program) : program(program) {}

  ValueId argument(ArgumentKind kind);
  ValueId dim(DimKind kind, SourceLocation at = {});
  ValueId param(uint32_t index, SourceLocation at = {});
  ValueId load(uint32_t capture, std::vector<ValueId> indices, SourceLocation at = {});
  ValueId constBool(bool value);
  ValueId constInt(int32_t value);
  ValueId constFloat(float value);
  ValueId compare(IntPredicate predicate, ValueId a, ValueId b, SourceLocation at = {});
  ValueId compare(FloatPredicate predicate, ValueId a, ValueId b, SourceLocation at = {});
  ValueId select(ValueId condition, ValueId a, ValueId b, SourceLocation at = {});
  // Every other operation of Opcodes.def.
  ValueId create(Opcode op, std::vector<ValueId> operands, SourceLocation at = {});

  ScalarType type(ValueId value) const { return function.body[value].type; }
  // The constant's bits, if the value is a constant.
  std::optional<uint32_t> constantBits(ValueId value) const;

  Function finish(ValueId result);

private:
  ValueId append(Instruction instruction);

  Program &program;
  Function function;
  std::unordered_multimap<uint64_t, ValueId> seen;
};

// What one operation computes on constant bits, by the rules of docs/language.md;
// nothing for leaves (Argument, Param, Dim, Load). This is the folder's, the
// interpreter's and the tests' one definition of integer and float semantics.
std::optional<uint32_t> evaluateBits(const Instruction &instruction, const uint32_t *operands);

// Its pieces, also used in double by the reference.
bool compareInts(IntPredicate predicate, uint32_t a, uint32_t b);
bool compareFloats(FloatPredicate predicate, double a, double b);
double evaluateFloat(Opcode op, const double *operands); // operations on floats only
int32_t floatToInt(double value);                        // saturating, NaN -> 0

} // namespace attnc

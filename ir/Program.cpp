#include "ir/Program.h"

#include <cassert>

namespace attnc {

namespace {
enum class Rule { Same, Bool, I32, F32, Any };
struct OpcodeRow {
  std::string_view text;
  int operands;
  Rule result;
};
constexpr OpcodeRow kRows[] = {
#define ATTNC_OP(name, text, operands, result) {text, operands, Rule::result},
#include "ir/Opcodes.def"
};
} // namespace

std::string_view opcodeText(Opcode op) { return kRows[static_cast<int>(op)].text; }
int opcodeArity(Opcode op) { return kRows[static_cast<int>(op)].operands; }

std::optional<ScalarType> opcodeResult(Opcode op, ScalarType operand) {
  switch (kRows[static_cast<int>(op)].result) {
  case Rule::Same:
    return operand;
  case Rule::Bool:
    return ScalarType::Bool;
  case Rule::I32:
    return ScalarType::I32;
  case Rule::F32:
    return ScalarType::F32;
  case Rule::Any:
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Opcode> opcodeFromText(std::string_view text) {
  if (text.empty())
    return std::nullopt;
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].text == text)
      return static_cast<Opcode>(i);
  return std::nullopt;
}

std::string_view scalarTypeText(ScalarType type) {
  switch (type) {
  case ScalarType::Bool:
    return "i1";
  case ScalarType::I32:
    return "i32";
  case ScalarType::F32:
    return "f32";
  }
  return "";
}

std::string_view dimText(DimKind dim) {
  constexpr std::string_view names[] = {"B", "H", "Hkv", "Q", "KV", "D"};
  return names[static_cast<int>(dim)];
}

std::optional<DimKind> dimFromText(std::string_view text) {
  for (DimKind dim : {DimKind::B, DimKind::H, DimKind::Hkv, DimKind::Q, DimKind::KV, DimKind::D})
    if (dimText(dim) == text)
      return dim;
  return std::nullopt;
}

std::string_view argumentText(ArgumentKind kind) {
  constexpr std::string_view names[] = {"score", "b", "h", "q_idx", "kv_idx"};
  return names[static_cast<int>(kind)];
}

std::string_view predicateText(IntPredicate predicate) {
  constexpr std::string_view names[] = {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"};
  return names[static_cast<int>(predicate)];
}

std::string_view predicateText(FloatPredicate predicate) {
  constexpr std::string_view names[] = {"false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
                                        "ueq",   "ugt", "uge", "ult", "ule", "une", "uno", "true"};
  return names[static_cast<int>(predicate)];
}

} // namespace attnc

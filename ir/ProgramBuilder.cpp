#include "ir/Program.h"

#include <bit>
#include <cassert>

namespace attnc {

static uint64_t hashOf(const Instruction &instruction) {
  uint64_t hash = 1469598103934665603u;
  auto mix = [&](uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
  mix(static_cast<uint64_t>(instruction.op));
  mix(static_cast<uint64_t>(instruction.type));
  mix(instruction.predicate);
  mix(instruction.immediate);
  for (ValueId operand : instruction.operands)
    mix(operand + 1);
  return hash;
}

static bool same(const Instruction &a, const Instruction &b) {
  return a.op == b.op && a.type == b.type && a.predicate == b.predicate && a.immediate == b.immediate &&
         a.operands == b.operands;
}

ValueId FunctionBuilder::append(Instruction instruction) {
  const uint64_t hash = hashOf(instruction);
  auto [first, last] = seen.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (same(function.body[it->second], instruction))
      return it->second;
  const ValueId id = static_cast<ValueId>(function.body.size());
  function.body.push_back(std::move(instruction));
  seen.emplace(hash, id);
  return id;
}

std::optional<uint32_t> FunctionBuilder::constantBits(ValueId value) const {
  const Instruction &instruction = function.body[value];
  if (instruction.op != Opcode::Constant)
    return std::nullopt;
  return instruction.immediate;
}

ValueId FunctionBuilder::argument(ArgumentKind kind) {
  const ScalarType type = kind == ArgumentKind::Score ? ScalarType::F32 : ScalarType::I32;
  return append({Opcode::Argument, type, 0, static_cast<uint32_t>(kind), {}, {}});
}
ValueId FunctionBuilder::dim(DimKind kind, SourceLocation at) {
  return append({Opcode::Dim, ScalarType::I32, 0, static_cast<uint32_t>(kind), {}, at});
}
ValueId FunctionBuilder::param(uint32_t index, SourceLocation at) {
  return append({Opcode::Param, program.params[index].type, 0, index, {}, at});
}
ValueId FunctionBuilder::load(uint32_t capture, std::vector<ValueId> indices, SourceLocation at) {
  assert(indices.size() == program.captures[capture].dims.size());
  return append({Opcode::Load, program.captures[capture].type, 0, capture, std::move(indices), at});
}
ValueId FunctionBuilder::constBool(bool value) {
  return append({Opcode::Constant, ScalarType::Bool, 0, value, {}, {}});
}
ValueId FunctionBuilder::constInt(int32_t value) {
  return append({Opcode::Constant, ScalarType::I32, 0, static_cast<uint32_t>(value), {}, {}});
}
ValueId FunctionBuilder::constFloat(float value) {
  return append({Opcode::Constant, ScalarType::F32, 0, std::bit_cast<uint32_t>(value), {}, {}});
}

ValueId FunctionBuilder::compare(IntPredicate predicate, ValueId a, ValueId b, SourceLocation at) {
  assert(type(a) == ScalarType::I32 && type(b) == ScalarType::I32);
  Instruction made{Opcode::CmpI, ScalarType::Bool, static_cast<uint8_t>(predicate), 0, {a, b}, at};
  auto x = constantBits(a), y = constantBits(b);
  if (x && y)
    return constBool(compareInts(predicate, *x, *y));
  return append(std::move(made));
}

ValueId FunctionBuilder::compare(FloatPredicate predicate, ValueId a, ValueId b, SourceLocation at) {
  assert(type(a) == ScalarType::F32 && type(b) == ScalarType::F32);
  Instruction made{Opcode::CmpF, ScalarType::Bool, static_cast<uint8_t>(predicate), 0, {a, b}, at};
  auto x = constantBits(a), y = constantBits(b);
  if (x && y)
    return constBool(compareFloats(predicate, std::bit_cast<float>(*x), std::bit_cast<float>(*y)));
  return append(std::move(made));
}

ValueId FunctionBuilder::select(ValueId condition, ValueId a, ValueId b, SourceLocation at) {
  assert(type(condition) == ScalarType::Bool && type(a) == type(b));
  if (auto known = constantBits(condition))
    return *known ? a : b;
  if (a == b)
    return a;
  return append({Opcode::Select, type(a), 0, 0, {condition, a, b}, at});
}

// Exact identities on booleans, which partial evaluation of `if` makes many of.
static std::optional<ValueId> foldLogic(Opcode op, ValueId a, ValueId b, std::optional<uint32_t> x,
                                        std::optional<uint32_t> y) {
  if (op == Opcode::AndI) {
    if (x)
      return *x ? b : a;
    if (y)
      return *y ? a : b;
  }
  if (op == Opcode::OrI) {
    if (x)
      return *x ? a : b;
    if (y)
      return *y ? b : a;
  }
  if (op == Opcode::XorI && x && !*x)
    return b;
  if (op == Opcode::XorI && y && !*y)
    return a;
  if ((op == Opcode::AndI || op == Opcode::OrI) && a == b)
    return a;
  return std::nullopt;
}

ValueId FunctionBuilder::create(Opcode op, std::vector<ValueId> operands, SourceLocation at) {
  assert(static_cast<int>(operands.size()) == opcodeArity(op));
  const ScalarType operand = type(operands.back());
  const ScalarType result = opcodeResult(op, operand).value_or(operand);
  Instruction made{op, result, 0, 0, operands, at};
  uint32_t bits[3] = {};
  bool allKnown = true;
  for (size_t i = 0; i < operands.size(); ++i) {
    auto known = constantBits(operands[i]);
    allKnown &= known.has_value();
    bits[i] = known.value_or(0);
  }
  if (allKnown)
    return append({Opcode::Constant, result, 0, *evaluateBits(made, bits), {}, {}});
  if (result == ScalarType::Bool && operands.size() == 2)
    if (auto folded = foldLogic(op, operands[0], operands[1], constantBits(operands[0]), constantBits(operands[1])))
      return *folded;
  return append(std::move(made));
}

Function FunctionBuilder::finish(ValueId result) {
  function.result = result;
  return std::move(function);
}

} // namespace attnc

#include "runtime/reference/Interpreter.h"

#include <bit>

namespace attnc {

void Interpreter::run(const Point &point) {
  for (ValueId id = 0; id < function.body.size(); ++id)
    values[id] = evaluate(function.body[id], point);
}

Interpreter::Value Interpreter::evaluate(const Instruction &instruction, const Point &point) const {
  auto fromBits = [&](uint32_t bits) {
    return instruction.type == ScalarType::F32 ? Value{std::bit_cast<float>(bits), 0} : Value{0, bits};
  };
  const auto operand = [&](size_t i) -> const Value & { return values[instruction.operands[i]]; };
  switch (instruction.op) {
  case Opcode::Argument:
    switch (static_cast<ArgumentKind>(instruction.immediate)) {
    case ArgumentKind::Score:
      return {point.score, 0};
    case ArgumentKind::Batch:
      return {0, static_cast<uint32_t>(point.batch)};
    case ArgumentKind::Head:
      return {0, static_cast<uint32_t>(point.head)};
    case ArgumentKind::QueryIndex:
      return {0, static_cast<uint32_t>(point.query)};
    case ArgumentKind::KvIndex:
      return {0, static_cast<uint32_t>(point.key)};
    }
    return {};
  case Opcode::Constant:
    return fromBits(instruction.immediate);
  case Opcode::Param:
    return fromBits(inputs.param(instruction.immediate));
  case Opcode::Dim:
    return {0, inputs.dim(static_cast<DimKind>(instruction.immediate))};
  case Opcode::Load: {
    uint32_t indices[cpu::kMaxCaptureRank] = {};
    for (size_t i = 0; i < instruction.operands.size(); ++i)
      indices[i] = operand(i).bits;
    return fromBits(inputs.load(instruction.immediate, indices, instruction.operands.size()));
  }
  case Opcode::CmpF:
    return {0, compareFloats(static_cast<FloatPredicate>(instruction.predicate), operand(0).number, operand(1).number)};
  case Opcode::Select:
    return operand(0).bits ? operand(1) : operand(2);
  case Opcode::IntToFloat:
    return {static_cast<double>(static_cast<int32_t>(operand(0).bits)), 0};
  case Opcode::FloatToInt:
    return {0, static_cast<uint32_t>(floatToInt(operand(0).number))};
  default:
    break;
  }
  if (instruction.type == ScalarType::F32) {
    double numbers[3] = {};
    for (size_t i = 0; i < instruction.operands.size(); ++i)
      numbers[i] = operand(i).number;
    return {evaluateFloat(instruction.op, numbers), 0};
  }
  uint32_t bits[3] = {};
  for (size_t i = 0; i < instruction.operands.size(); ++i)
    bits[i] = operand(i).bits;
  return {0, *evaluateBits(instruction, bits)};
}

} // namespace attnc

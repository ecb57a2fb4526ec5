#include "runtime/mask/Tape.h"

namespace attnc {

Tape::Tape(const Function &function, const ScalarInputs &inputs, const std::vector<ValueId> &results)
    : function(function), inputs(inputs), rows(function.body.size()) {
  std::vector<bool> live(function.body.size(), false);
  for (ValueId result : results)
    live[result] = true;
  for (ValueId id = static_cast<ValueId>(live.size()); id-- > 0;)
    if (live[id])
      for (ValueId operand : function.body[id].operands)
        live[operand] = true;
  for (ValueId id = 0; id < live.size(); ++id)
    if (live[id])
      order.push_back(id);
}

void Tape::run(const Points &points) {
  for (ValueId id : order)
    evaluate(id, points);
}

void Tape::evaluate(ValueId id, const Points &points) {
  const Instruction &instruction = function.body[id];
  std::vector<uint32_t> &row = rows[id];
  switch (instruction.op) {
  case Opcode::Argument:
    switch (static_cast<ArgumentKind>(instruction.immediate)) {
    case ArgumentKind::Score:
      row.assign(1, 0); // masks do not see the score
      return;
    case ArgumentKind::Batch:
      row.assign(1, points.batch);
      return;
    case ArgumentKind::Head:
      row.assign(1, points.head);
      return;
    case ArgumentKind::QueryIndex:
      row = points.queries;
      return;
    case ArgumentKind::KvIndex:
      row = points.keys;
      return;
    }
    return;
  case Opcode::Constant:
    row.assign(1, instruction.immediate);
    return;
  case Opcode::Param:
    row.assign(1, inputs.param(instruction.immediate));
    return;
  case Opcode::Dim:
    row.assign(1, inputs.dim(static_cast<DimKind>(instruction.immediate)));
    return;
  default:
    break;
  }
  const size_t rank = instruction.operands.size();
  bool isUniform = true;
  for (ValueId operand : instruction.operands)
    isUniform &= rows[operand].size() == 1;
  row.resize(isUniform ? 1 : points.count);
  uint32_t operands[16];
  for (size_t point = 0; point < row.size(); ++point) {
    for (size_t i = 0; i < rank; ++i)
      operands[i] = value(instruction.operands[i], point);
    row[point] = instruction.op == Opcode::Load ? inputs.load(instruction.immediate, operands, rank)
                                                : *evaluateBits(instruction, operands);
  }
}

} // namespace attnc

#include "tests/unit/frontend/Evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

namespace attnc::test {

HostTensor HostTensor::ints(std::vector<int64_t> shape, const std::vector<int32_t> &values) {
  HostTensor made{std::move(shape), {}};
  for (int32_t value : values)
    made.bits.push_back(static_cast<uint32_t>(value));
  return made;
}

HostTensor HostTensor::floats(std::vector<int64_t> shape, const std::vector<float> &values) {
  HostTensor made{std::move(shape), {}};
  for (float value : values)
    made.bits.push_back(std::bit_cast<uint32_t>(value));
  return made;
}

size_t HostTensor::offset(const std::vector<int64_t> &index) const {
  size_t at = 0;
  for (size_t i = 0; i < shape.size(); ++i)
    at = at * static_cast<size_t>(shape[i]) + static_cast<size_t>(std::clamp<int64_t>(index[i], 0, shape[i] - 1));
  return at;
}

int32_t HostTensor::intAt(const std::vector<int64_t> &index) const { return static_cast<int32_t>(bits[offset(index)]); }
float HostTensor::floatAt(const std::vector<int64_t> &index) const { return std::bit_cast<float>(bits[offset(index)]); }

namespace {

uint32_t leaf(const Program &program, const Instruction &instruction, const Inputs &in, const Point &point,
              const std::vector<uint32_t> &values) {
  const uint32_t arguments[] = {std::bit_cast<uint32_t>(point.score), static_cast<uint32_t>(point.b),
                                static_cast<uint32_t>(point.h), static_cast<uint32_t>(point.q),
                                static_cast<uint32_t>(point.kv)};
  const int32_t dims[] = {in.B, in.H, in.Hkv, in.Q, in.KV, in.D};
  switch (instruction.op) {
  case Opcode::Argument:
    return arguments[instruction.immediate];
  case Opcode::Dim:
    return static_cast<uint32_t>(dims[instruction.immediate]);
  case Opcode::Param: {
    const Param &param = program.params[instruction.immediate];
    auto given = in.params.find(param.name);
    return given != in.params.end() ? given->second : param.defaultBits.value();
  }
  case Opcode::Load: {
    const HostTensor &tensor = in.tensors.at(program.captures[instruction.immediate].name);
    std::vector<int64_t> index;
    for (ValueId operand : instruction.operands)
      index.push_back(static_cast<int32_t>(values[operand]));
    return tensor.bits.at(tensor.offset(index));
  }
  default:
    ADD_FAILURE() << "not a leaf: " << opcodeText(instruction.op);
    return 0;
  }
}

} // namespace

uint32_t evaluate(const Program &program, const Function &function, const Inputs &inputs, const Point &point) {
  std::vector<uint32_t> values;
  for (const Instruction &instruction : function.body) {
    std::vector<uint32_t> operands;
    for (ValueId operand : instruction.operands)
      operands.push_back(values[operand]);
    std::optional<uint32_t> bits = evaluateBits(instruction, operands.data());
    values.push_back(bits ? *bits : leaf(program, instruction, inputs, point, values));
  }
  return values[function.result];
}

bool maskAt(const Program &program, const Inputs &inputs, const Point &point) {
  return !program.maskMod || evaluate(program, *program.maskMod, inputs, point) != 0;
}

float scoreAt(const Program &program, const Inputs &inputs, const Point &point) {
  if (!program.scoreMod)
    return point.score;
  return std::bit_cast<float>(evaluate(program, *program.scoreMod, inputs, point));
}

const Program &stdVariant(const std::string &name) {
  static const frontend::Module module = frontend::loadFile("std");
  for (const Program &program : module.variants)
    if (program.name == name)
      return program;
  ADD_FAILURE() << "no variant " << name << " in std\n" << module.rendered;
  static const Program none;
  return none;
}

Program variantFrom(std::string_view text) {
  frontend::Module module = frontend::loadText(text, "test.attn");
  if (!module.ok() || module.variants.size() != 1) {
    ADD_FAILURE() << module.variants.size() << " variants\n" << module.rendered << text;
    return {};
  }
  return module.variants.front();
}

float valueOf(const std::string &expression, const Point &point, const Inputs &inputs) {
  Program program = variantFrom("variant v { score_mod = f32(" + expression + "); }");
  return scoreAt(program, inputs, point);
}

} // namespace attnc::test

#include "runtime/mask/Analysis.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/mask/IntervalMath.h"

namespace attnc {

//===----------------------------------------------------------------------===//
// Dependence
//===----------------------------------------------------------------------===//

static bool isArgument(const Function &function, ValueId id, ArgumentKind kind) {
  const Instruction &instruction = function.body[id];
  return instruction.op == Opcode::Argument && instruction.immediate == static_cast<uint32_t>(kind);
}

static bool isDifferenceOfIndices(const Function &function, const Instruction &instruction) {
  if (instruction.op != Opcode::SubI)
    return false;
  const ValueId a = instruction.operands[0], b = instruction.operands[1];
  return (isArgument(function, a, ArgumentKind::QueryIndex) && isArgument(function, b, ArgumentKind::KvIndex)) ||
         (isArgument(function, b, ArgumentKind::QueryIndex) && isArgument(function, a, ArgumentKind::KvIndex));
}

std::vector<Dependence> dependences(const Function &function) {
  std::vector<Dependence> result(function.body.size());
  for (ValueId id = 0; id < function.body.size(); ++id) {
    const Instruction &instruction = function.body[id];
    Dependence &mine = result[id];
    if (instruction.op == Opcode::Argument) {
      const auto kind = static_cast<ArgumentKind>(instruction.immediate);
      mine.onHead = kind == ArgumentKind::Batch || kind == ArgumentKind::Head;
      mine.onRow = kind == ArgumentKind::QueryIndex || kind == ArgumentKind::Score;
      mine.onColumn = kind == ArgumentKind::KvIndex || kind == ArgumentKind::Score;
      continue;
    }
    bool allThrough = true;
    for (ValueId operand : instruction.operands) {
      const Dependence &theirs = result[operand];
      mine.onHead |= theirs.onHead;
      mine.onRow |= theirs.onRow;
      mine.onColumn |= theirs.onColumn;
      allThrough &= theirs.isUniform() || theirs.viaDifference;
    }
    mine.viaDifference = mine.isJoint() && (isDifferenceOfIndices(function, instruction) || allThrough);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

MaskAnalysis::MaskAnalysis(const Function &mask, const ScalarInputs &inputs, uint32_t batch, uint32_t head)
    : mask(mask), inputs(inputs), batch(batch), head(head), depends(dependences(mask)), nodes(mask.body.size()),
      tape(mask, inputs, {mask.result}) {
  plan(mask.result);
  for (ValueId id = 0; id < nodes.size(); ++id)
    if (nodes[id].kind != Node::Skipped)
      order.push_back(id);
}

// Decides how `id` is evaluated, and plans what that needs.
void MaskAnalysis::plan(ValueId id) {
  std::vector<ValueId> open = {id};
  while (!open.empty()) {
    const ValueId next = open.back();
    open.pop_back();
    Node &node = nodes[next];
    if (node.kind != Node::Skipped)
      continue;
    const Dependence &dependence = depends[next];
    const Instruction &instruction = mask.body[next];
    if (dependence.isUniform()) {
      node.kind = Node::Uniform;
      Tape single(mask, inputs, {next});
      single.run({batch, head, {0}, {0}, 1});
      const std::optional<int64_t> ordered = orderedValue(instruction.type, single.value(next, 0));
      if (ordered)
        node.constant = {true, *ordered, *ordered, true, 0};
    } else if (instruction.op == Opcode::Argument) {
      node.kind = Node::Index;
      node.isRow = dependence.onRow;
    } else if (!dependence.isJoint()) {
      planAxis(next, node);
    } else if (dependence.viaDifference && instruction.type == ScalarType::Bool) {
      planDifference(next, node);
    } else {
      node.kind = Node::Operation;
      open.insert(open.end(), instruction.operands.begin(), instruction.operands.end());
    }
  }
}

// All values along one axis.
void MaskAnalysis::planAxis(ValueId id, Node &node) {
  node.kind = Node::Table;
  node.isRow = depends[id].onRow;
  const Problem &problem = inputs.problem();
  const int64_t first = node.isRow ? problem.queryOffset : 0;
  const int64_t count = node.isRow ? problem.queryLength : problem.kvLength;
  constexpr int64_t chunk = 4096;
  Tape axis(mask, inputs, {id});
  std::vector<int32_t> values;
  values.reserve(count);
  for (int64_t start = 0; start < count; start += chunk) {
    Points points{batch, head, {0}, {0}, static_cast<size_t>(std::min(chunk, count - start))};
    std::vector<uint32_t> &indices = node.isRow ? points.queries : points.keys;
    indices.resize(points.count);
    for (size_t i = 0; i < points.count; ++i)
      indices[i] = static_cast<uint32_t>(first + start + static_cast<int64_t>(i));
    axis.run(points);
    for (size_t i = 0; i < points.count; ++i) {
      const std::optional<int64_t> ordered = orderedValue(mask.body[id].type, axis.value(id, i));
      if (!ordered) // a NaN has no place in an order: nothing is known then
        return;
      values.push_back(static_cast<int32_t>(*ordered));
    }
  }
  node.table.emplace(std::move(values));
}

// A boolean of the difference alone, over all differences that occur.
void MaskAnalysis::planDifference(ValueId id, Node &node) {
  node.kind = Node::Difference;
  const Problem &problem = inputs.problem();
  const int64_t least = problem.queryOffset - (problem.kvLength - 1);
  const int64_t most = problem.queryOffset + problem.queryLength - 1;
  constexpr int64_t chunk = 4096;
  Tape along(mask, inputs, {id});
  std::vector<bool> values;
  values.reserve(most - least + 1);
  for (int64_t start = least; start <= most; start += chunk) {
    Points points{batch, head, {}, {}, static_cast<size_t>(std::min(chunk, most - start + 1))};
    // Any pair with the difference will do; both indices stay in their range or wrap alike.
    for (size_t i = 0; i < points.count; ++i) {
      const int64_t difference = start + static_cast<int64_t>(i);
      points.queries.push_back(static_cast<uint32_t>(std::max<int64_t>(difference, 0)));
      points.keys.push_back(static_cast<uint32_t>(std::max<int64_t>(-difference, 0)));
    }
    along.run(points);
    for (size_t i = 0; i < points.count; ++i)
      values.push_back(along.value(id, i) != 0);
  }
  node.differences.emplace(least, values);
}

//===----------------------------------------------------------------------===//
// Rectangles
//===----------------------------------------------------------------------===//

Truth MaskAnalysis::classify(const Rectangle &rectangle) const {
  thread_local std::vector<Abstract> values;
  values.resize(nodes.size());
  for (ValueId id : order)
    values[id] = evaluate(id, rectangle, values);
  const Abstract &result = values[mask.result];
  if (!result.isKnown)
    return Truth::Unknown;
  if (result.low == result.high)
    return result.low ? Truth::Full : Truth::Empty;
  return result.isAttained ? Truth::Mixed : Truth::Unknown;
}

Truth MaskAnalysis::evaluateDensely(const Rectangle &rectangle) const {
  Points points{batch, head, {0}, {}, static_cast<size_t>(rectangle.lastKey - rectangle.firstKey + 1)};
  for (int64_t key = rectangle.firstKey; key <= rectangle.lastKey; ++key)
    points.keys.push_back(static_cast<uint32_t>(key));
  bool anyTrue = false, anyFalse = false;
  for (int64_t query = rectangle.firstQuery; query <= rectangle.lastQuery; ++query) {
    points.queries[0] = static_cast<uint32_t>(query);
    tape.run(points);
    for (size_t i = 0; i < points.count; ++i)
      (tape.value(mask.result, i) ? anyTrue : anyFalse) = true;
    if (anyTrue && anyFalse)
      return Truth::Mixed;
  }
  return anyTrue ? Truth::Full : Truth::Empty;
}

MaskAnalysis::Abstract MaskAnalysis::evaluate(ValueId id, const Rectangle &rectangle,
                                              std::vector<Abstract> &values) const {
  const Node &node = nodes[id];
  const int64_t offset = inputs.problem().queryOffset;
  switch (node.kind) {
  case Node::Skipped:
    return {};
  case Node::Uniform:
    return node.constant;
  case Node::Index:
    if (node.isRow)
      return {true, rectangle.firstQuery, rectangle.lastQuery, true, 1};
    return {true, rectangle.firstKey, rectangle.lastKey, true, 2};
  case Node::Table: {
    if (!node.table)
      return {};
    const ValueRange range = node.isRow ? node.table->range(rectangle.firstQuery - offset, rectangle.lastQuery - offset)
                                        : node.table->range(rectangle.firstKey, rectangle.lastKey);
    return {true, range.low, range.high, true, static_cast<uint8_t>(node.isRow ? 1 : 2)};
  }
  case Node::Difference: {
    const int64_t least = rectangle.firstQuery - rectangle.lastKey;
    const int64_t most = rectangle.lastQuery - rectangle.firstKey;
    const int64_t trues = node.differences->count(least, most);
    return {true, trues == most - least + 1, trues > 0, true, 3};
  }
  case Node::Operation:
    return evaluateOperation(id, values);
  }
  return {};
}

MaskAnalysis::Abstract MaskAnalysis::evaluateOperation(ValueId id, const std::vector<Abstract> &values) const {
  const Instruction &instruction = mask.body[id];
  if (instruction.op == Opcode::Load)
    return loadRange(instruction, values);
  Abstract operands[3];
  for (size_t i = 0; i < instruction.operands.size() && i < 3; ++i)
    operands[i] = values[instruction.operands[i]];
  return evaluateInterval(instruction, operands);
}

// A table read at a range of indices: every element that the ranges allow. Not attained,
// since not every combination of indices need occur.
MaskAnalysis::Abstract MaskAnalysis::loadRange(const Instruction &instruction,
                                               const std::vector<Abstract> &values) const {
  constexpr int64_t maxElements = 4096;
  const cpu::CaptureArg &capture = inputs.capture(instruction.immediate);
  const size_t rank = instruction.operands.size();
  int64_t low[cpu::kMaxCaptureRank], high[cpu::kMaxCaptureRank], elements = 1;
  uint8_t axes = 0;
  for (size_t axis = 0; axis < rank; ++axis) {
    const Abstract &index = values[instruction.operands[axis]];
    const int64_t last = capture.shape[axis] - 1;
    low[axis] = index.isKnown ? std::clamp<int64_t>(index.low, 0, last) : 0;
    high[axis] = index.isKnown ? std::clamp<int64_t>(index.high, 0, last) : last;
    elements *= high[axis] - low[axis] + 1;
    axes |= index.isKnown ? index.axes : 3;
    if (elements > maxElements)
      return {};
  }
  Abstract result;
  uint32_t indices[cpu::kMaxCaptureRank];
  for (int64_t element = 0; element < elements; ++element) {
    int64_t rest = element;
    for (size_t axis = rank; axis-- > 0;) {
      const int64_t size = high[axis] - low[axis] + 1;
      indices[axis] = static_cast<uint32_t>(low[axis] + rest % size);
      rest /= size;
    }
    const auto value = orderedValue(instruction.type, inputs.load(instruction.immediate, indices, rank));
    if (!value)
      return {};
    result.low = result.isKnown ? std::min(result.low, *value) : *value;
    result.high = result.isKnown ? std::max(result.high, *value) : *value;
    result.isKnown = true;
  }
  result.axes = axes;
  result.isAttained = elements == 1;
  return result;
}

} // namespace attnc

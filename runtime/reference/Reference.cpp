// Attention as its definition says, in double precision: for each query all scores, the
// softmax over the kept keys, the weighted sum of their values. Nothing is tiled or skipped,
// and a key that is not kept is never read beyond its score.
#include <cmath>
#include <cstring>
#include <limits>

#include "attnc/Context.h"
#include "runtime/Arguments.h"
#include "runtime/Convert.h"
#include "runtime/reference/Interpreter.h"

namespace attnc {

namespace {

double readElement(const void *base, DType dtype, int64_t index) {
  const char *at = static_cast<const char *>(base) + index * static_cast<int64_t>(dtypeSize(dtype));
  if (dtype == DType::F32) {
    float value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return dtype == DType::F16 ? fromFloat16(bits) : fromBFloat16(bits);
}

void writeElement(void *base, DType dtype, int64_t index, double value) {
  char *at = static_cast<char *>(base) + index * static_cast<int64_t>(dtypeSize(dtype));
  if (dtype == DType::F32) {
    const float narrow = static_cast<float>(value);
    std::memcpy(at, &narrow, sizeof narrow);
    return;
  }
  const uint16_t bits = dtype == DType::F16 ? toFloat16(value) : toBFloat16(value);
  std::memcpy(at, &bits, sizeof bits);
}

class ReferenceRun {
public:
  ReferenceRun(const Program &program, const CallArguments &call, const ScalarInputs &inputs, DType dtype)
      : program(program), call(call), inputs(inputs), dtype(dtype) {}

  // All rows of one (batch, head).
  void runHead(int64_t batch, int64_t head) {
    const Problem &problem = call.problem;
    const int64_t kvHead = head / (problem.heads / problem.kvHeads);
    std::optional<Interpreter> score, mask, sink;
    if (program.scoreMod)
      score.emplace(*program.scoreMod, inputs);
    if (program.maskMod)
      mask.emplace(*program.maskMod, inputs);
    if (program.sink)
      sink.emplace(*program.sink, inputs);
    std::vector<double> scores(problem.kvLength);
    std::vector<double> sums(problem.valueDim);
    for (int64_t row = 0; row < problem.queryLength; ++row) {
      Point point{0, static_cast<int32_t>(batch), static_cast<int32_t>(head),
                  static_cast<int32_t>(problem.queryOffset + row), 0};
      for (int64_t key = 0; key < problem.kvLength; ++key) {
        point.key = static_cast<int32_t>(key);
        scores[key] = kDropped;
        if (mask && !mask->truth(point))
          continue;
        point.score = dot(batch, head, kvHead, row, key) * scale();
        scores[key] = score ? score->number(point) : point.score;
      }
      finishRow(batch, head, kvHead, row, scores, sums, sink ? sink->number(point) : kDropped);
    }
  }

private:
  static constexpr double kDropped = -std::numeric_limits<double>::infinity();

  float scale() const {
    float value;
    std::memcpy(&value, &call.args.scaleBits, sizeof value);
    return value;
  }
  static int64_t start(const int64_t *strides, int64_t batch, int64_t head, int64_t row) {
    return batch * strides[0] + head * strides[1] + row * strides[2];
  }

  double dot(int64_t batch, int64_t head, int64_t kvHead, int64_t row, int64_t key) const {
    const int64_t q = start(call.args.queryStrides, batch, head, row);
    const int64_t k = start(call.args.keyStrides, batch, kvHead, key);
    double sum = 0;
    for (int d = 0; d < call.problem.headDim; ++d)
      sum += readElement(call.args.query, dtype, q + d) * readElement(call.args.key, dtype, k + d);
    return sum;
  }

  void finishRow(int64_t batch, int64_t head, int64_t kvHead, int64_t row, const std::vector<double> &scores,
                 std::vector<double> &sums, double sink) {
    double most = sink;
    for (double score : scores)
      most = std::isnan(score) || score > most ? score : most;
    double total = sink == kDropped ? 0 : std::exp(sink - most);
    std::fill(sums.begin(), sums.end(), 0.0);
    for (size_t key = 0; key < scores.size(); ++key) {
      if (scores[key] == kDropped)
        continue;
      const double weight = std::exp(scores[key] - most);
      total += weight;
      const int64_t v = start(call.args.valueStrides, batch, kvHead, static_cast<int64_t>(key));
      for (size_t d = 0; d < sums.size(); ++d)
        sums[d] += weight * readElement(call.args.value, dtype, v + static_cast<int64_t>(d));
    }
    const int64_t o = start(call.args.outputStrides, batch, head, row);
    for (size_t d = 0; d < sums.size(); ++d)
      writeElement(call.args.output, dtype, o + static_cast<int64_t>(d), total == 0 ? 0.0 : sums[d] / total);
    if (call.args.lse)
      call.args.lse[start(call.args.lseStrides, batch, head, row)] =
          total == 0 ? -std::numeric_limits<float>::infinity() : static_cast<float>(most + std::log(total));
  }

  const Program &program;
  const CallArguments &call;
  const ScalarInputs &inputs;
  const DType dtype;
};

} // namespace

Status runReference(const Variant &variant, const RunArguments &arguments, Executor *executor) {
  const Program &program = variant.program();
  KernelTypes config;
  config.dtype = arguments.query.dtype;
  if (config.dtype != DType::F32 && config.dtype != DType::F16 && config.dtype != DType::BF16)
    return invalidArgument("query: expected f32, f16 or bf16, found " + toString(arguments.query));
  if (arguments.query.rank() != 4 || arguments.value.rank() != 4)
    return invalidArgument("query and value: expected rank 4, found " + toString(arguments.query) + " and " +
                           toString(arguments.value));
  config.headDim = static_cast<int>(arguments.query.shape[3]);
  config.valueDim = static_cast<int>(arguments.value.shape[3]);
  for (const Capture &declared : program.captures) {
    DType dtype = naturalDtype(declared);
    for (const NamedTensor &given : arguments.bindings.captures)
      if (given.name == declared.name && fitsDeclaredType(declared, given.view.dtype))
        dtype = given.view.dtype;
    config.captures.push_back({declared.name, dtype});
  }
  CallArguments call;
  if (Status status = readArguments(program, config, /*tileKeys=*/1, arguments, call); !status)
    return status;
  auto inputs = ScalarInputs::bind(program, call.problem, arguments.bindings);
  if (!inputs)
    return inputs.error();
  auto runOne = [&](int64_t index, int) {
    ReferenceRun(program, call, **inputs, config.dtype).runHead(index / call.problem.heads, index % call.problem.heads);
  };
  const int64_t count = call.problem.batch * call.problem.heads;
  if (executor)
    executor->parallelFor(count, runOne);
  else
    for (int64_t index = 0; index < count; ++index)
      runOne(index, 0);
  return {};
}

} // namespace attnc

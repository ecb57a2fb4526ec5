#include "runtime/Arguments.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/Program.h"

namespace attnc {

Error invalidArgument(std::string message) { return {ErrorCode::InvalidArgument, std::move(message)}; }

namespace {

// Positions are i32 inside of a kernel.
constexpr int64_t kMaxLength = INT32_MAX - 256; // the last tile may reach beyond the end

std::string shapeText(const std::vector<int64_t> &shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

// What holds for each of the call's tensors by itself.
Status checkTensor(const char *name, const char *axes, int rank, const TensorView &view) {
  if (view.rank() != rank)
    return invalidArgument(fmt::format("{}: expected rank {} [{}], found {}", name, rank, axes, toString(view)));
  if (view.strides.size() != view.shape.size())
    return invalidArgument(fmt::format("{}: expected {} strides, found {}; TensorView::contiguous fills "
                                       "them in",
                                       name, rank, view.strides.size()));
  bool isEmpty = false;
  for (int64_t size : view.shape) {
    if (size < 0 || size > kMaxLength)
      return invalidArgument(fmt::format("{}: expected sizes of 0 to {}, found {}", name, kMaxLength, toString(view)));
    isEmpty |= size == 0;
  }
  if (isEmpty)
    return {};
  if (!view.data)
    return invalidArgument(fmt::format("{}: expected memory for {}, found a null pointer", name, toString(view)));
  if (reinterpret_cast<uintptr_t>(view.data) % dtypeSize(view.dtype))
    return invalidArgument(fmt::format("{}: expected an address that is a multiple of {}, found {}; copy it "
                                       "to aligned memory",
                                       name, dtypeSize(view.dtype), view.data));
  return {};
}

Status checkLastStride(const char *name, const TensorView &view) {
  if (view.shape.back() > 1 && view.strides.back() != 1)
    return invalidArgument(fmt::format("{}: expected a last stride of 1, found strides {}; make it contiguous "
                                       "along the last axis",
                                       name, shapeText(view.strides)));
  return {};
}

Status checkDtype(const char *name, const TensorView &view, DType expected) {
  if (view.dtype == expected)
    return {};
  return invalidArgument(fmt::format("{}: expected {}, which the kernel was compiled for, found {}; convert it, "
                                     "or compile with dtype {}",
                                     name, dtypeName(expected), toString(view), dtypeName(view.dtype)));
}

// Writing needs an element of its own for every index. Sufficient, and true for every
// permutation, slice or reversal of a contiguous tensor.
Status checkNoOverlap(const char *name, const TensorView &view) {
  if (view.elements() == 0)
    return {};
  std::vector<size_t> order(view.shape.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::abs(view.strides[a]) < std::abs(view.strides[b]); });
  int64_t reach = 0; // farthest element of the axes so far
  for (size_t axis : order) {
    if (view.shape[axis] <= 1)
      continue;
    const int64_t stride = std::abs(view.strides[axis]);
    if (stride <= reach)
      return invalidArgument(fmt::format("{}: expected elements that do not overlap, found shape {} with "
                                         "strides {}; it is written, so it cannot be a broadcast view",
                                         name, shapeText(view.shape), shapeText(view.strides)));
    reach += stride * (view.shape[axis] - 1);
  }
  return {};
}

Status expectShape(const char *name, const TensorView &view, const std::vector<int64_t> &expected,
                   const char *because) {
  if (view.shape == expected)
    return {};
  return invalidArgument(
      fmt::format("{}: expected shape {} ({}), found {}", name, shapeText(expected), because, toString(view)));
}

Status checkShapes(const KernelTypes &config, const RunArguments &call, Problem &problem) {
  const std::vector<int64_t> &q = call.query.shape, &k = call.key.shape;
  if (q[3] != config.headDim)
    return invalidArgument(fmt::format("query: expected head dimension {}, which the kernel was compiled for, "
                                       "found {}; compile with headDim {}",
                                       config.headDim, toString(call.query), q[3]));
  if (k[0] != q[0] || k[3] != q[3])
    return invalidArgument(fmt::format("key: expected [{}, kvHeads, kvLength, {}] as in query {}, found {}", q[0], q[3],
                                       toString(call.query), toString(call.key)));
  if (k[1] == 0 ? q[1] != 0 : q[1] % k[1] != 0)
    return invalidArgument(
        fmt::format("key: expected a number of heads that divides query's {}, found {}", q[1], toString(call.key)));
  if (Status s = expectShape("value", call.value, {k[0], k[1], k[2], config.valueDim},
                             "key's sizes and the kernel's valueDim");
      !s)
    return s;
  if (Status s = expectShape("output", call.output, {q[0], q[1], q[2], config.valueDim},
                             "query's sizes and the kernel's valueDim");
      !s)
    return s;
  if (call.queryOffset < 0 || call.queryOffset > kMaxLength - q[2])
    return invalidArgument(fmt::format("queryOffset: expected 0 to {} for {} query rows, found {}", kMaxLength - q[2],
                                       q[2], call.queryOffset));
  problem = {q[0], q[1], k[1], q[2], k[2], config.headDim, config.valueDim, call.queryOffset};
  return {};
}

Status checkLse(const RunArguments &call) {
  if (!call.lse)
    return {};
  const std::vector<int64_t> &q = call.query.shape;
  if (Status s = checkTensor("lse", "batch, heads, queryLength", 3, *call.lse); !s)
    return s;
  if (call.lse->dtype != DType::F32)
    return invalidArgument(fmt::format("lse: expected f32, found {}", toString(*call.lse)));
  if (Status s = expectShape("lse", *call.lse, {q[0], q[1], q[2]}, "query's sizes"); !s)
    return s;
  return checkNoOverlap("lse", *call.lse);
}

Status checkTensors(const KernelTypes &config, const RunArguments &call) {
  const struct {
    const char *name, *axes;
    const TensorView &view;
  } tensors[] = {{"query", "batch, heads, queryLength, headDim", call.query},
                 {"key", "batch, kvHeads, kvLength, headDim", call.key},
                 {"value", "batch, kvHeads, kvLength, valueDim", call.value},
                 {"output", "batch, heads, queryLength, valueDim", call.output}};
  for (const auto &[name, axes, view] : tensors) {
    if (Status s = checkTensor(name, axes, 4, view); !s)
      return s;
    if (Status s = checkDtype(name, view, config.dtype); !s)
      return s;
    if (Status s = checkLastStride(name, view); !s)
      return s;
  }
  for (const auto &[name, axes, view] : tensors)
    if (&view != &call.output && view.data && view.data == call.output.data)
      return invalidArgument(fmt::format("output: expected memory of its own, found that of {}", name));
  return checkNoOverlap("output", call.output);
}

Status checkBlockMask(const RunArguments &call, const Problem &problem, int tileKeys) {
  if (!call.blockMask)
    return {};
  const Problem &made = call.blockMask->problem();
  auto text = [](const Problem &p) {
    return fmt::format("batch {}, heads {}, queryLength {}, kvLength {}, queryOffset {}", p.batch, p.heads,
                       p.queryLength, p.kvLength, p.queryOffset);
  };
  if (text(made) != text(problem))
    return invalidArgument(fmt::format("blockMask: expected one made for {}, found one for {}; make it again "
                                       "with BlockMask::create",
                                       text(problem), text(made)));
  if (call.blockMask->blockN() % tileKeys != 0)
    return Error{ErrorCode::Unsupported,
                 fmt::format("blockMask: expected blockN {}, the kernel's tile of keys, or a multiple, found {}; make "
                             "it with blockN = {}",
                             tileKeys, call.blockMask->blockN(), tileKeys)};
  return {};
}

void copyStrides(const TensorView &view, int64_t (&into)[3]) { std::copy_n(view.strides.begin(), 3, into); }

} // namespace

Status readArguments(const Program &program, const KernelTypes &config, int tileKeys, const RunArguments &call,
                     CallArguments &into) {
  if (Status s = checkTensors(config, call); !s)
    return s;
  if (Status s = checkShapes(config, call, into.problem); !s)
    return s;
  if (Status s = checkLse(call); !s)
    return s;
  if (Status s = readBindings(program, config, call.bindings, into); !s)
    return s;
  if (Status s = checkBlockMask(call, into.problem, tileKeys); !s)
    return s;
  const float scale = call.scale.value_or(
      program.scale.value_or(static_cast<float>(1 / std::sqrt(static_cast<double>(config.headDim)))));
  if (!std::isfinite(scale))
    return invalidArgument(fmt::format("scale: expected a finite number, found {}", scale));

  cpu::KernelArgs &args = into.args;
  args.query = call.query.data;
  args.key = call.key.data;
  args.value = call.value.data;
  args.output = call.output.data;
  args.lse = call.lse ? static_cast<float *>(call.lse->data) : nullptr;
  copyStrides(call.query, args.queryStrides);
  copyStrides(call.key, args.keyStrides);
  copyStrides(call.value, args.valueStrides);
  copyStrides(call.output, args.outputStrides);
  if (call.lse)
    copyStrides(*call.lse, args.lseStrides);
  args.batch = into.problem.batch;
  args.heads = into.problem.heads;
  args.kvHeads = into.problem.kvHeads;
  args.queryLength = into.problem.queryLength;
  args.kvLength = into.problem.kvLength;
  args.queryOffset = call.queryOffset;
  args.scaleBits = std::bit_cast<uint32_t>(scale);
  args.params = into.params.data();
  args.captures = into.captures.data();
  return {};
}

} // namespace attnc

// Captured tensors and run-time scalars by name.
#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "ir/Program.h"
#include "runtime/Arguments.h"
#include "runtime/Suggest.h"

namespace attnc {

DType naturalDtype(const Capture &declared) {
  switch (declared.type) {
  case ScalarType::Bool:
    return DType::Bool;
  case ScalarType::I32:
    return DType::I32;
  case ScalarType::F32:
    return DType::F32;
  }
  return DType::F32;
}

bool fitsDeclaredType(const Capture &declared, DType dtype) {
  switch (dtype) {
  case DType::F32:
  case DType::F16:
  case DType::BF16:
    return declared.type == ScalarType::F32;
  case DType::I32:
  case DType::I64:
    return declared.type == ScalarType::I32;
  case DType::Bool:
    return declared.type == ScalarType::Bool;
  }
  return false;
}

namespace {

struct ExpectedSize {
  int64_t least, most;
  std::string text;
};

ExpectedSize expectedSize(const CaptureDim &dim, const Problem &problem) {
  auto exactly = [](int64_t size, const char *name) {
    return ExpectedSize{size, size, *name ? fmt::format("{} = {}", name, size) : std::to_string(size)};
  };
  switch (dim.kind) {
  case CaptureDim::Any:
    return {0, INT32_MAX, "any size up to 2147483647"};
  case CaptureDim::Fixed:
    return exactly(dim.size, "");
  case CaptureDim::Named:
    break;
  }
  switch (dim.named) {
  case DimKind::B:
    return exactly(problem.batch, "B");
  case DimKind::H:
    return exactly(problem.heads, "H");
  case DimKind::Hkv:
    return exactly(problem.kvHeads, "Hkv");
  case DimKind::Q:
    // q_idx starts at queryOffset, so a chunk brings the rows of the whole sequence.
    if (problem.queryOffset > 0)
      return {problem.queryOffset + problem.queryLength, INT32_MAX,
              fmt::format("at least queryOffset + Q = {}", problem.queryOffset + problem.queryLength)};
    return exactly(problem.queryLength, "Q");
  case DimKind::KV:
    return exactly(problem.kvLength, "KV");
  case DimKind::D:
    return exactly(problem.headDim, "D");
  }
  return {0, INT32_MAX, ""};
}

Status checkCapture(const Capture &declared, DType dtype, const TensorView &view, const Problem &problem) {
  const std::string name = fmt::format("capture '{}'", declared.name);
  if (view.dtype != dtype)
    return invalidArgument(fmt::format(
        "{}: expected {}, which the kernel was compiled for, found {}; convert it{}", name, dtypeName(dtype),
        toString(view),
        fitsDeclaredType(declared, view.dtype)
            ? fmt::format(", or compile with captureDtypes {{\"{}\", {}}}", declared.name, dtypeName(view.dtype))
            : ""));
  if (view.shape.size() != declared.dims.size() || view.strides.size() != view.shape.size())
    return invalidArgument(fmt::format("{}: expected rank {} with as many strides, found {} with {} strides", name,
                                       declared.dims.size(), toString(view), view.strides.size()));
  if (view.rank() > cpu::kMaxCaptureRank)
    return Error{ErrorCode::Unsupported,
                 fmt::format("{}: expected rank up to {}, found {}", name, cpu::kMaxCaptureRank, view.rank())};
  for (size_t axis = 0; axis < view.shape.size(); ++axis) {
    const ExpectedSize expected = expectedSize(declared.dims[axis], problem);
    if (view.shape[axis] < expected.least || view.shape[axis] > expected.most)
      return invalidArgument(
          fmt::format("{}: expected axis {} to be {}, found {}", name, axis, expected.text, toString(view)));
    // Loads clamp their index to the axis: there must be an element to clamp to.
    const bool runs = problem.batch && problem.heads && problem.queryLength && problem.kvLength;
    if (view.shape[axis] == 0 && runs)
      return invalidArgument(
          fmt::format("{}: expected at least one element along axis {}, found {}", name, axis, toString(view)));
  }
  if (view.elements() == 0)
    return {};
  if (!view.data)
    return invalidArgument(fmt::format("{}: expected memory for {}, found a null pointer", name, toString(view)));
  if (reinterpret_cast<uintptr_t>(view.data) % dtypeSize(view.dtype))
    return invalidArgument(fmt::format("{}: expected an address that is a multiple of {}, found {}", name,
                                       dtypeSize(view.dtype), view.data));
  return {};
}

// Each name at most once, and known.
template <typename Given, typename Declared>
Status checkNames(const char *kind, const std::string &variant, const std::vector<Given> &given,
                  const std::vector<Declared> &declared) {
  for (const Given &item : given) {
    auto isSame = [&](const auto &other) { return other.name == item.name; };
    if (std::count_if(given.begin(), given.end(), isSame) > 1)
      return invalidArgument(fmt::format("{} '{}': expected once, found several", kind, item.name));
    if (std::any_of(declared.begin(), declared.end(), isSame))
      continue;
    std::vector<std::string> known;
    known.reserve(declared.size());
    for (const Declared &one : declared)
      known.push_back(one.name);
    return invalidArgument(fmt::format("{} '{}': variant '{}' declares no such {}{}", kind, item.name, variant, kind,
                                       suggestion(item.name, known)));
  }
  return {};
}

Result<uint32_t> paramBits(const Param &declared, double value) {
  auto inexact = [&](const char *expected) {
    return invalidArgument(fmt::format("param '{}': expected {}, found {}", declared.name, expected, value));
  };
  switch (declared.type) {
  case ScalarType::Bool:
    if (value != 0 && value != 1)
      return inexact("0 or 1 (bool)");
    return static_cast<uint32_t>(value);
  case ScalarType::I32:
    if (!(value >= INT32_MIN && value <= INT32_MAX) || value != std::floor(value))
      return inexact("an integer of 32 bits (i32)");
    return static_cast<uint32_t>(static_cast<int32_t>(value));
  case ScalarType::F32: {
    const float narrow = std::abs(value) > 3.5e38 && std::isfinite(value) ? INFINITY : static_cast<float>(value);
    if (std::isinf(narrow) && std::isfinite(value))
      return inexact("a number within the range of f32");
    return std::bit_cast<uint32_t>(narrow);
  }
  }
  return inexact("a number");
}

} // namespace

Status readBindings(const Program &program, const KernelTypes &config, const Bindings &bindings, CallArguments &into) {
  if (Status s = checkNames("capture", program.name, bindings.captures, program.captures); !s)
    return s;
  if (Status s = checkNames("param", program.name, bindings.params, program.params); !s)
    return s;
  into.captures.resize(program.captures.size());
  for (size_t i = 0; i < program.captures.size(); ++i) {
    const Capture &declared = program.captures[i];
    auto given = std::find_if(bindings.captures.begin(), bindings.captures.end(),
                              [&](const NamedTensor &tensor) { return tensor.name == declared.name; });
    if (given == bindings.captures.end())
      return invalidArgument(fmt::format("capture '{}': missing; variant '{}' reads it: add it to "
                                         "bindings.captures",
                                         declared.name, program.name));
    if (Status s = checkCapture(declared, config.captures[i].dtype, given->view, into.problem); !s)
      return s;
    cpu::CaptureArg &argument = into.captures[i];
    argument.data = given->view.data;
    std::copy(given->view.shape.begin(), given->view.shape.end(), argument.shape);
    std::copy(given->view.strides.begin(), given->view.strides.end(), argument.strides);
  }
  for (const Param &declared : program.params) {
    auto given = std::find_if(bindings.params.begin(), bindings.params.end(),
                              [&](const NamedScalar &scalar) { return scalar.name == declared.name; });
    if (given == bindings.params.end() && !declared.defaultBits)
      return invalidArgument(fmt::format("param '{}': missing, and variant '{}' gives no default: add it to "
                                         "bindings.params",
                                         declared.name, program.name));
    if (given == bindings.params.end()) {
      into.params.push_back(*declared.defaultBits);
      continue;
    }
    Result<uint32_t> bits = paramBits(declared, given->value);
    if (!bits)
      return bits.error();
    into.params.push_back(*bits);
  }
  return {};
}

} // namespace attnc

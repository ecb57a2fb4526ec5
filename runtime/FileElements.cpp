#include "runtime/FileElements.h"

#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attnc {

size_t fileDtypeSize(FileDtype dtype) {
  switch (dtype) {
  case FileDtype::F64:
  case FileDtype::I64:
    return 8;
  case FileDtype::F32:
  case FileDtype::I32:
    return 4;
  case FileDtype::F16:
  case FileDtype::BF16:
    return 2;
  case FileDtype::Bool:
  case FileDtype::U8:
    return 1;
  }
  return 0;
}

static DType memoryDtype(FileDtype dtype) {
  switch (dtype) {
  case FileDtype::F32:
  case FileDtype::F64:
    return DType::F32;
  case FileDtype::F16:
    return DType::F16;
  case FileDtype::BF16:
    return DType::BF16;
  case FileDtype::I32:
    return DType::I32;
  case FileDtype::I64:
    return DType::I64;
  case FileDtype::Bool:
  case FileDtype::U8:
    return DType::Bool;
  }
  return DType::F32;
}

static std::string narrow(std::string_view doubles, float *into) {
  const size_t count = doubles.size() / 8;
  size_t rounded = 0;
  for (size_t i = 0; i < count; ++i) {
    double value;
    std::memcpy(&value, doubles.data() + 8 * i, 8);
    into[i] = static_cast<float>(value);
    rounded += static_cast<double>(into[i]) != value && value == value;
  }
  return fmt::format("float64 converted to f32, {} of {} values rounded", rounded, count);
}

Result<OwnedTensor> readElements(const std::string &path, FileDtype dtype, std::vector<int64_t> shape,
                                 std::string_view bytes) {
  // The product is checked before memory is taken: a header cannot ask for more than the
  // file holds.
  uint64_t needed = fileDtypeSize(dtype);
  bool overflows = false;
  for (int64_t size : shape)
    overflows |= size < 0 || __builtin_mul_overflow(needed, static_cast<uint64_t>(size), &needed);
  if (overflows || needed != bytes.size())
    return Error{ErrorCode::Io,
                 fmt::format("'{}' does not fit its header: shape [{}] needs {} bytes, the file has {}", path,
                             fmt::join(shape, ", "), overflows ? "too many" : std::to_string(needed), bytes.size())};
  Result<OwnedTensor> tensor = OwnedTensor::zeros(memoryDtype(dtype), std::move(shape));
  if (!tensor)
    return tensor;
  if (dtype == FileDtype::F64) {
    tensor->note = narrow(bytes, static_cast<float *>(tensor->view.data));
    return tensor;
  }
  if (dtype == FileDtype::Bool || dtype == FileDtype::U8)
    for (char c : bytes)
      if (c != 0 && c != 1)
        return Error{ErrorCode::Io, fmt::format("'{}' holds {} where a bool, 0 or 1, was expected; convert it "
                                                "to int32 if it is not a mask",
                                                path, static_cast<uint8_t>(c))};
  if (!bytes.empty())
    std::memcpy(tensor->view.data, bytes.data(), bytes.size());
  return tensor;
}

} // namespace attnc

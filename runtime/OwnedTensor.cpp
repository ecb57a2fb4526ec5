#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attnc/Files.h"

namespace attnc {

Result<OwnedTensor> OwnedTensor::zeros(DType dtype, std::vector<int64_t> shape) {
  int64_t bytes = static_cast<int64_t>(dtypeSize(dtype));
  bool overflows = false;
  for (int64_t size : shape)
    overflows |= size < 0 || __builtin_mul_overflow(bytes, size, &bytes);
  if (overflows)
    return Error{ErrorCode::InvalidArgument, fmt::format("no tensor of {}[{}]: the size is negative or overflows",
                                                         dtypeName(dtype), fmt::join(shape, ", "))};
  int64_t padded = 0;
  void *memory = nullptr;
  if (!__builtin_add_overflow(bytes, int64_t(64), &padded))
    memory = std::aligned_alloc(64, static_cast<size_t>(padded) / 64 * 64);
  if (!memory)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("no memory for {}[{}]", dtypeName(dtype), fmt::join(shape, ", "))};
  std::memset(memory, 0, static_cast<size_t>(bytes));
  OwnedTensor tensor;
  tensor.memory = std::shared_ptr<void>(memory, std::free);
  tensor.view = TensorView::contiguous(memory, dtype, std::move(shape));
  return tensor;
}

} // namespace attnc

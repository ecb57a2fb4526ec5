#include "attnc/Tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attnc {

std::string_view dtypeName(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "f32";
  case DType::F16:
    return "f16";
  case DType::BF16:
    return "bf16";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  case DType::Bool:
    return "bool";
  }
  return "unknown";
}

size_t dtypeSize(DType dtype) {
  switch (dtype) {
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::F16:
  case DType::BF16:
    return 2;
  case DType::I64:
    return 8;
  case DType::Bool:
    return 1;
  }
  return 0;
}

int64_t TensorView::elements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

TensorView TensorView::contiguous(void *data, DType dtype, std::vector<int64_t> shape) {
  TensorView view{data, dtype, std::move(shape), {}};
  view.strides.resize(view.shape.size());
  int64_t stride = 1;
  for (size_t axis = view.shape.size(); axis-- > 0; stride *= view.shape[axis])
    view.strides[axis] = stride;
  return view;
}

TensorView TensorView::contiguous(const void *data, DType dtype, std::vector<int64_t> shape) {
  return contiguous(const_cast<void *>(data), dtype, std::move(shape));
}

std::string toString(const TensorView &view) {
  return fmt::format("{}[{}]", dtypeName(view.dtype), fmt::join(view.shape, ", "));
}

} // namespace attnc

// Tensors that someone else owns: pointer, dtype, shape, strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnc/Export.h"

namespace attnc {

enum class DType : uint8_t { F32, F16, BF16, I32, I64, Bool };

ATTNC_EXPORT std::string_view dtypeName(DType dtype); // "f32", "f16", "bf16", "i32", "i64", "bool"
ATTNC_EXPORT size_t dtypeSize(DType dtype);           // bytes

// A strided view; strides count elements and may be 0 (broadcast) or negative.
// Holds no data: the memory must outlive every call that uses the view.
struct ATTNC_EXPORT TensorView {
  void *data = nullptr;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;

  int rank() const { return static_cast<int>(shape.size()); }
  int64_t elements() const;

  // A view of contiguous row-major memory.
  static TensorView contiguous(void *data, DType dtype, std::vector<int64_t> shape);
  static TensorView contiguous(const void *data, DType dtype, std::vector<int64_t> shape);
};

// "f32[2, 8, 128, 64]"
ATTNC_EXPORT std::string toString(const TensorView &view);

} // namespace attnc

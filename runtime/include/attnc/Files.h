// Tensors in files: NumPy's .npy and .safetensors. Headers are checked before memory is
// taken, so a truncated or hostile file is an Error.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attnc/Status.h"
#include "attnc/Tensor.h"

namespace attnc {

// Contiguous row-major memory, aligned to 64 bytes, and the view of it.
struct ATTNC_EXPORT OwnedTensor {
  std::shared_ptr<void> memory;
  TensorView view;
  // What reading changed, for the user to know: "float64 converted to f32, 3 of 12 values
  // rounded". Empty if nothing.
  std::string note;

  // Zeros. InvalidArgument if the size is negative, overflows or cannot be had.
  static Result<OwnedTensor> zeros(DType dtype, std::vector<int64_t> shape);
};

// Reads <f4, <f2, <i4, <i8, |b1, |u1 (0 and 1 only, as bool) and <f8 (to f32, with a note).
ATTNC_EXPORT Result<OwnedTensor> readNpy(const std::string &path);
// Writes any strided view, row-major; bf16 is written as f32, which is exact. The file
// appears whole or not at all.
ATTNC_EXPORT Status writeNpy(const std::string &path, const TensorView &view);

struct SafetensorsEntry {
  std::string name;
  std::string dtype; // as the file calls it: "BF16"
  std::vector<int64_t> shape;
};
// What a file holds, in the order of the file.
ATTNC_EXPORT Result<std::vector<SafetensorsEntry>> listSafetensors(const std::string &path);
// Reads F32, F16, BF16, I32, I64, BOOL and F64 (to f32, with a note). An empty name picks
// the only tensor.
ATTNC_EXPORT Result<OwnedTensor> readSafetensors(const std::string &path, const std::string &name = "");

} // namespace attnc

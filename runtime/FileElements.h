// From the bytes of a tensor in a file to an OwnedTensor: what both formats share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attnc/Files.h"

namespace attnc {

enum class FileDtype { F32, F16, BF16, F64, I32, I64, Bool, U8 };

inline constexpr uint64_t kMaxFileBytes = uint64_t(1) << 40;
inline constexpr size_t kMaxFileRank = 16;

size_t fileDtypeSize(FileDtype dtype);

// Io if `bytes` is not exactly what the shape needs, or a bool is neither 0 nor 1. f64
// becomes f32, nearest even, with a note that says how many values were rounded.
Result<OwnedTensor> readElements(const std::string &path, FileDtype dtype, std::vector<int64_t> shape,
                                 std::string_view bytes);

} // namespace attnc

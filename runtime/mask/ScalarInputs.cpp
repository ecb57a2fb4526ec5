#include "runtime/mask/ScalarInputs.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/Convert.h"

namespace attnc {

Result<std::unique_ptr<ScalarInputs>> ScalarInputs::bind(const Program &program, const Problem &problem,
                                                         const Bindings &bindings) {
  std::unique_ptr<ScalarInputs> inputs(new ScalarInputs);
  // Any dtype that fits the declaration will do here: nothing is compiled for it.
  KernelTypes accepted;
  for (const Capture &declared : program.captures) {
    DType dtype = naturalDtype(declared);
    for (const NamedTensor &given : bindings.captures)
      if (given.name == declared.name && fitsDeclaredType(declared, given.view.dtype))
        dtype = given.view.dtype;
    accepted.captures.push_back({declared.name, dtype});
    inputs->dtypes.push_back(dtype);
  }
  inputs->call.problem = problem;
  if (Status status = readBindings(program, accepted, bindings, inputs->call); !status)
    return status.error();
  return inputs;
}

uint32_t ScalarInputs::load(uint32_t capture, const uint32_t *indices, size_t rank) const {
  const cpu::CaptureArg &tensor = call.captures[capture];
  int64_t offset = 0;
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t index = static_cast<int32_t>(indices[axis]);
    offset += std::clamp<int64_t>(index, 0, tensor.shape[axis] - 1) * tensor.strides[axis];
  }
  const DType dtype = dtypes[capture];
  const char *at = static_cast<const char *>(tensor.data) + offset * static_cast<int64_t>(dtypeSize(dtype));
  auto read = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (dtype) {
  case DType::F32:
  case DType::I32:
    return read(uint32_t());
  case DType::F16:
    return std::bit_cast<uint32_t>(fromFloat16(read(uint16_t())));
  case DType::BF16:
    return std::bit_cast<uint32_t>(fromBFloat16(read(uint16_t())));
  case DType::I64:
    return static_cast<uint32_t>(static_cast<int32_t>(std::clamp<int64_t>(read(int64_t()), INT32_MIN, INT32_MAX)));
  case DType::Bool:
    return read(uint8_t()) != 0;
  }
  return 0;
}

uint32_t ScalarInputs::dim(DimKind kind) const {
  const Problem &problem = call.problem;
  switch (kind) {
  case DimKind::B:
    return static_cast<uint32_t>(problem.batch);
  case DimKind::H:
    return static_cast<uint32_t>(problem.heads);
  case DimKind::Hkv:
    return static_cast<uint32_t>(problem.kvHeads);
  case DimKind::Q:
    return static_cast<uint32_t>(problem.queryLength);
  case DimKind::KV:
    return static_cast<uint32_t>(problem.kvLength);
  case DimKind::D:
    return static_cast<uint32_t>(problem.headDim);
  }
  return 0;
}

} // namespace attnc

#include "codegen/cpu/KernelConfig.h"

namespace attnc::cpu {

std::string_view dtypeText(DType dtype) {
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
  return "";
}

std::optional<DType> dtypeFromText(std::string_view name) {
  for (DType dtype : {DType::F32, DType::F16, DType::BF16, DType::I32, DType::I64, DType::Bool})
    if (name == dtypeText(dtype))
      return dtype;
  return std::nullopt;
}

int64_t dtypeBytes(DType dtype) {
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

// Names come from the front ends' identifiers: nothing in them needs escaping.
std::string capturesToJson(const std::vector<CaptureType> &captures) {
  std::string list;
  for (const CaptureType &capture : captures)
    list += std::string(list.empty() ? "" : ", ") + "{\"name\": \"" + capture.name + "\", \"dtype\": \"" +
            std::string(dtypeText(capture.dtype)) + "\"}";
  return "[" + list + "]";
}

std::string KernelConfig::toJson() const {
  return "{\"emitter\": " + std::to_string(kEmitterVersion) + ", \"isa\": \"" + std::string(isaName(isa)) +
         "\", \"dtype\": \"" + std::string(dtypeText(dtype)) + "\", \"head_dim\": " + std::to_string(headDim) +
         ", \"value_dim\": " + std::to_string(valueDim) + ", \"split_size\": " + std::to_string(splitSize) +
         ", \"captures\": " + capturesToJson(captures) + "}";
}

} // namespace attnc::cpu

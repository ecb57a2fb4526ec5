#include "codegen/cpu/KernelConfig.h"

namespace attnc::cpu {

namespace {

// The runtime's own table is in a library that depends on this one.
std::string_view nameOf(DType dtype) {
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

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out + '"';
}

} // namespace

std::string KernelConfig::toJson() const {
  std::string json = "{\"isa\":" + quoted(isaName(isa)) + ",\"dtype\":" + quoted(nameOf(dtype)) +
                     ",\"head_dim\":" + std::to_string(headDim) +
                     ",\"value_dim\":" + std::to_string(valueDim) +
                     ",\"split_size\":" + std::to_string(splitSize) + ",\"captures\":[";
  for (size_t i = 0; i < captures.size(); ++i)
    json += std::string(i ? "," : "") + "{\"name\":" + quoted(captures[i].name) +
            ",\"dtype\":" + quoted(nameOf(captures[i].dtype)) + "}";
  return json + "]}";
}

} // namespace attnc::cpu

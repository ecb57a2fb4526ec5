#include "codegen/cuda/Emit.h"

#include "llvm/Support/JSON.h"

namespace attnc::cuda {

static std::optional<DType> dtypeFromName(llvm::StringRef name) {
  for (DType dtype : {DType::F32, DType::F16, DType::BF16, DType::I32, DType::I64, DType::Bool})
    if (name == llvm::StringRef(cpu::dtypeText(dtype)))
      return dtype;
  return std::nullopt;
}

static llvm::Error bad(const std::string &what) {
  return llvm::createStringError("CUDA kernel configuration: " + what);
}

llvm::Expected<KernelConfig> parseConfig(llvm::StringRef text) {
  auto json = llvm::json::parse(text);
  if (!json)
    return json.takeError();
  const llvm::json::Object *object = json->getAsObject();
  if (!object)
    return bad("expected an object");
  KernelConfig config;
  config.arch = object->getString("arch").value_or("").str();
  auto dtype = dtypeFromName(object->getString("dtype").value_or(""));
  if (!dtype)
    return bad("bad or missing 'dtype'");
  config.dtype = *dtype;
  config.headDim = static_cast<int>(object->getInteger("head_dim").value_or(0));
  config.valueDim = static_cast<int>(object->getInteger("value_dim").value_or(0));
  config.splitSize = static_cast<int>(object->getInteger("split_size").value_or(0));
  if (const llvm::json::Array *captures = object->getArray("captures"))
    for (const llvm::json::Value &value : *captures) {
      const llvm::json::Object *capture = value.getAsObject();
      auto type = dtypeFromName(capture ? capture->getString("dtype").value_or("") : "");
      if (!type)
        return bad("bad entry in 'captures'");
      config.captures.push_back({capture->getString("name").value_or("").str(), *type});
    }
  if (Status status = config.check(); !status)
    return bad(status.error().message);
  return config;
}

} // namespace attnc::cuda

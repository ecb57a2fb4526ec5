#include "codegen/cpu/ConfigJson.h"
#include "codegen/cuda/Emit.h"

namespace attnc::cuda {

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
  auto dtype = cpu::dtypeFromText(object->getString("dtype").value_or(""));
  if (!dtype)
    return bad("bad or missing 'dtype'");
  config.dtype = *dtype;
  config.headDim = static_cast<int>(object->getInteger("head_dim").value_or(0));
  config.valueDim = static_cast<int>(object->getInteger("value_dim").value_or(0));
  config.splitSize = static_cast<int>(object->getInteger("split_size").value_or(0));
  if (!cpu::parseCaptures(*object, config.captures))
    return bad("bad entry in 'captures'");
  if (Status status = config.check(); !status)
    return bad(status.error().message);
  return config;
}

} // namespace attnc::cuda

#include "codegen/cpu/ConfigJson.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace attnc::cpu {

bool parseCaptures(const llvm::json::Object &config, std::vector<CaptureType> &captures) {
  const llvm::json::Array *list = config.getArray("captures");
  if (!list)
    return true;
  for (const llvm::json::Value &value : *list) {
    const llvm::json::Object *capture = value.getAsObject();
    auto dtype = dtypeFromText(capture ? capture->getString("dtype").value_or("") : "");
    if (!dtype)
      return false;
    captures.push_back({capture->getString("name").value_or("").str(), *dtype});
  }
  return true;
}

static llvm::Error bad(llvm::StringRef field) {
  return llvm::createStringError("kernel configuration: bad or missing '" + field + "'");
}

llvm::Expected<KernelConfig> parseConfig(llvm::StringRef text) {
  auto json = llvm::json::parse(text);
  if (!json)
    return json.takeError();
  const llvm::json::Object *object = json->getAsObject();
  if (!object)
    return bad("object");
  KernelConfig config;
  auto isa = isaFromName(object->getString("isa").value_or("").str());
  if (!isa)
    return bad("isa");
  config.isa = *isa;
  auto dtype = dtypeFromText(object->getString("dtype").value_or(""));
  if (!dtype || *dtype > DType::BF16)
    return bad("dtype");
  config.dtype = *dtype;
  auto number = [&](llvm::StringRef name, int &into, int64_t low, int64_t high) {
    std::optional<int64_t> value = object->getInteger(name);
    if (!value || *value < low || *value > high)
      return false;
    into = static_cast<int>(*value);
    return true;
  };
  if (!number("head_dim", config.headDim, 1, 512))
    return bad("head_dim");
  if (!number("value_dim", config.valueDim, 1, 512))
    return bad("value_dim");
  if (!number("split_size", config.splitSize, kBlockN, 1 << 30) || config.splitSize % kBlockN)
    return bad("split_size");
  if (!parseCaptures(*object, config.captures))
    return bad("captures");
  return config;
}

std::string compileInfo(llvm::StringRef variant, const std::vector<ScheduleInfo> &schedules,
                        const std::vector<std::pair<std::string, double>> &timingsMs) {
  llvm::json::Array list;
  for (const ScheduleInfo &info : schedules)
    list.push_back(llvm::json::Object{{"suffix", info.suffix},
                                      {"block_m", info.blockM},
                                      {"scratch_bytes", info.scratchBytes},
                                      {"partial_offset", info.partialOffset},
                                      {"partial_floats", info.partialFloats}});
  llvm::json::Object timings;
  for (const auto &[name, ms] : timingsMs)
    timings[name] = ms;
  llvm::json::Object info{
      {"variant", variant.str()}, {"schedules", std::move(list)}, {"timings_ms", std::move(timings)}};
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::json::Value(std::move(info));
  return text;
}

} // namespace attnc::cpu

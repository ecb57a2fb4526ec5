#include "runtime/CacheEntry.h"

#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attnc/Tensor.h"
#include "ir/Program.h"
#include "runtime/Sha256.h"

namespace attnc {

using Json = nlohmann::json;

// Bump when the layout of a sidecar or of the directory changes.
static constexpr int kCacheSchema = 1;

// No reader of JSON here lets an exception out: types are asked before values are taken.
static Json parseObject(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_object() ? json : Json::object();
}

static std::string text(const Json &json, const char *name) {
  auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

static bool number(const Json &json, const char *name, int64_t low, int64_t high, int64_t &into) {
  auto found = json.find(name);
  if (found == json.end() || !found->is_number_integer())
    return false;
  into = found->get<int64_t>();
  return into >= low && into <= high;
}

static double real(const Json &json, const char *name) {
  auto found = json.find(name);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

static Error bad(const std::string &field) { return {ErrorCode::Io, fmt::format("bad or missing '{}'", field)}; }

KernelRequest::KernelRequest(const Program &program, cpu::KernelConfig kernelConfig)
    : variantName(program.name), config(std::move(kernelConfig)) {
  Program nameless = program;
  nameless.name = "variant";
  canonicalIr = print(nameless);
  configJson = config.toJson();
  Sha256 hash;
  // Each field ends in a byte that none of them holds.
  for (const std::string &field :
       {std::string("attnc kernel"), std::to_string(kCacheSchema), std::to_string(cpu::kEmitterVersion),
        std::string(ATTNC_LLVM_VERSION), canonicalIr, configJson}) {
    hash.update(field);
    hash.update(std::string_view("\0", 1));
  }
  key = hash.hex();
}

std::string KernelRequest::target() const { return fmt::format("cpu:{}", cpu::isaName(config.isa)); }

std::string KernelRequest::describe() const {
  return fmt::format("'{}' for {} ({}, head dim {}, value dim {}, split {})", variantName, target(),
                     dtypeName(config.dtype), config.headDim, config.valueDim, config.splitSize);
}

static Result<std::vector<cpu::ScheduleInfo>> readSchedules(const Json &json) {
  auto list = json.find("schedules");
  if (list == json.end() || !list->is_array() || list->empty() || list->size() > 8)
    return bad("schedules");
  std::vector<cpu::ScheduleInfo> schedules;
  for (const Json &item : *list) {
    cpu::ScheduleInfo info;
    int64_t blockM = 0;
    constexpr int64_t kMost = int64_t(1) << 30;
    if (!item.is_object() || !number(item, "block_m", 1, 4096, blockM))
      return bad("block_m");
    if (!number(item, "scratch_bytes", 1, kMost, info.scratchBytes))
      return bad("scratch_bytes");
    if (!number(item, "partial_offset", 0, info.scratchBytes, info.partialOffset) || info.partialOffset % 4)
      return bad("partial_offset");
    if (!number(item, "partial_floats", 1, (info.scratchBytes - info.partialOffset) / 4, info.partialFloats))
      return bad("partial_floats");
    info.suffix = text(item, "suffix");
    info.blockM = static_cast<int>(blockM);
    schedules.push_back(std::move(info));
  }
  return schedules;
}

Status readCompileInfo(std::string_view json, CacheEntry &entry) {
  const Json info = parseObject(json);
  entry.variantText = text(info, "variant");
  if (entry.variantText.empty())
    return bad("variant");
  Result<std::vector<cpu::ScheduleInfo>> schedules = readSchedules(info);
  if (!schedules)
    return schedules.error();
  entry.schedules = *std::move(schedules);
  return {};
}

std::string sidecarText(const KernelRequest &request, const CacheEntry &entry) {
  Json schedules = Json::array();
  for (const cpu::ScheduleInfo &info : entry.schedules)
    schedules.push_back({{"suffix", info.suffix},
                         {"block_m", info.blockM},
                         {"scratch_bytes", info.scratchBytes},
                         {"partial_offset", info.partialOffset},
                         {"partial_floats", info.partialFloats}});
  const Json sidecar = {{"schema", kCacheSchema},
                        {"key", request.key},
                        {"emitter_version", cpu::kEmitterVersion},
                        {"llvm", ATTNC_LLVM_VERSION},
                        {"ir", request.canonicalIr},
                        {"config", request.configJson},
                        {"name", entry.variantName},
                        {"target", entry.target},
                        {"compiler", entry.compiler},
                        {"variant", entry.variantText},
                        {"schedules", std::move(schedules)},
                        {"compile_ms", entry.compileMs},
                        {"created", entry.created},
                        {"object_bytes", entry.object.size()},
                        {"object_sha256", sha256(entry.object)}};
  return sidecar.dump(2, ' ', false, Json::error_handler_t::replace);
}

Result<CacheEntry> readSidecar(std::string_view json, const KernelRequest &request) {
  const Json sidecar = parseObject(json);
  int64_t version = 0;
  if (!number(sidecar, "schema", kCacheSchema, kCacheSchema, version))
    return bad("schema");
  if (!number(sidecar, "emitter_version", cpu::kEmitterVersion, cpu::kEmitterVersion, version))
    return bad("emitter_version");
  const std::pair<const char *, std::string_view> expected[] = {
      {"key", request.key}, {"llvm", ATTNC_LLVM_VERSION}, {"ir", request.canonicalIr}, {"config", request.configJson}};
  for (const auto &[name, value] : expected)
    if (text(sidecar, name) != value)
      return bad(name);
  CacheEntry entry;
  if (Status info = readCompileInfo(json, entry); !info)
    return info.error();
  entry.variantName = text(sidecar, "name");
  entry.target = text(sidecar, "target");
  entry.compiler = text(sidecar, "compiler");
  entry.created = text(sidecar, "created");
  entry.compileMs = real(sidecar, "compile_ms");
  return entry;
}

std::string objectMismatch(std::string_view json, std::string_view object) {
  const Json sidecar = parseObject(json);
  int64_t size = 0;
  if (!number(sidecar, "object_bytes", 0, INT64_MAX, size) || static_cast<uint64_t>(size) != object.size())
    return fmt::format("the object has {} bytes, the sidecar says {}", object.size(), size);
  return text(sidecar, "object_sha256") == sha256(object) ? "" : "the object's SHA-256 differs";
}

Result<SidecarSummary> summarizeSidecar(std::string_view json) {
  const Json sidecar = parseObject(json);
  int64_t size = 0;
  if (!number(sidecar, "object_bytes", 0, INT64_MAX, size))
    return bad("object_bytes");
  return SidecarSummary{text(sidecar, "key"),     text(sidecar, "name"),       text(sidecar, "target"),
                        text(sidecar, "created"), static_cast<uint64_t>(size), real(sidecar, "compile_ms")};
}

std::string utcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char buffer[32];
  std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return buffer;
}

} // namespace attnc

#include "runtime/CacheEntry.h"

#include <ctime>

#include <fmt/format.h>

#include "runtime/JsonFields.h"
#include "runtime/Sha256.h"

namespace attnc {

// Bump when the layout of a sidecar or of the directory changes.
static constexpr int kCacheSchema = 2;

static Error bad(const std::string &field) { return {ErrorCode::Io, fmt::format("bad or missing '{}'", field)}; }

// The sidecar's last line holds the hash of the text before it, so that its check needs no
// second way of printing JSON.
static std::string seal(std::string_view text) {
  return fmt::format("  \"sidecar_sha256\": \"{}\"\n}}\n", sha256(text));
}
static constexpr size_t kSealSize = std::string_view("  \"sidecar_sha256\": \"\"\n}\n").size() + 64;

static std::string sidecarText(const CacheKey &key, const CacheEntry &entry, uint64_t binaryBytes,
                               const std::string &binarySha256) {
  Json fields = Json::object();
  for (const auto &[name, value] : key.fields())
    fields[name] = value;
  const Json sidecar = {{"schema", kCacheSchema},       {"key", key.hex()},
                        {"fields", std::move(fields)},  {"name", entry.name},
                        {"target", entry.target},       {"kind", entry.kind},
                        {"binary_bytes", binaryBytes},  {"binary_sha256", binarySha256},
                        {"variant", entry.variantText}, {"report", parseObject(entry.report)},
                        {"compiler", entry.compiler},   {"created", entry.created},
                        {"compile_ms", entry.compileMs}};
  std::string text = toText(sidecar);
  text.replace(text.size() - 2, 2, ",\n"); // the end of the object goes behind the seal
  return text + seal(text);
}

std::string sidecarText(const CacheKey &key, const CacheEntry &entry) {
  return sidecarText(key, entry, entry.binary.size(), sha256(entry.binary));
}

std::string sidecarText(const Sidecar &sidecar) {
  return sidecarText(sidecar.key, sidecar.entry, sidecar.binaryBytes, sidecar.binarySha256);
}

Result<Sidecar> readSidecar(std::string_view json) {
  if (json.size() < kSealSize || json.substr(json.size() - kSealSize) != seal(json.substr(0, json.size() - kSealSize)))
    return bad("sidecar_sha256");
  const Json sidecar = parseObject(json);
  int64_t schema = 0, bytes = 0;
  if (!integerField(sidecar, "schema", kCacheSchema, kCacheSchema, schema))
    return bad("schema");
  auto fields = sidecar.find("fields");
  if (fields == sidecar.end() || !fields->is_object())
    return bad("fields");
  std::vector<CacheKey::Field> list;
  for (const auto &[name, value] : fields->items()) {
    if (!value.is_string())
      return bad(name);
    list.push_back({name, value.get<std::string>()});
  }
  Sidecar read{.key = CacheKey(std::move(list)), .entry = {}, .binarySha256 = textField(sidecar, "binary_sha256")};
  if (textField(sidecar, "key") != read.key.hex())
    return bad("key");
  if (!integerField(sidecar, "binary_bytes", 0, int64_t(kMaxBinaryBytes), bytes))
    return bad("binary_bytes");
  read.binaryBytes = static_cast<uint64_t>(bytes);
  CacheEntry &entry = read.entry;
  entry.kind = textField(sidecar, "kind");
  if (!isBinaryKind(entry.kind))
    return bad("kind");
  auto report = sidecar.find("report");
  if (report == sidecar.end() || !report->is_object())
    return bad("report");
  entry.report = toText(*report);
  entry.variantText = textField(sidecar, "variant");
  entry.name = textField(sidecar, "name");
  entry.target = textField(sidecar, "target");
  entry.compiler = textField(sidecar, "compiler");
  entry.created = textField(sidecar, "created");
  entry.compileMs = realField(sidecar, "compile_ms");
  return read;
}

std::string binaryMismatch(const Sidecar &sidecar, std::string_view binary) {
  if (sidecar.binaryBytes != binary.size())
    return fmt::format("the binary has {} bytes, the sidecar says {}", binary.size(), sidecar.binaryBytes);
  return sidecar.binarySha256 == sha256(binary) ? "" : "the binary's SHA-256 differs";
}

// "json" is the sidecar's own extension.
bool isBinaryKind(std::string_view kind) {
  return !kind.empty() && kind.size() <= 8 && kind != "json" &&
         kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == kind.npos;
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

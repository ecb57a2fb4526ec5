// .safetensors: the length of a JSON header in eight bytes, the header, then the data that
// its offsets point into.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attnc/Files.h"
#include "runtime/FileBytes.h"
#include "runtime/FileElements.h"
#include "runtime/Suggest.h"

namespace attnc {

namespace {

using Json = nlohmann::json;

// The format's own bound.
constexpr uint64_t kMaxHeader = 100'000'000;

struct Entry {
  SafetensorsEntry described;
  uint64_t begin = 0, end = 0; // within the data
};

struct File {
  std::string bytes;
  size_t dataStart = 0;
  std::vector<Entry> entries;
};

Error bad(const std::string &path, const std::string &what) {
  return {ErrorCode::Io, fmt::format("'{}' is no .safetensors file that can be read: {}", path, what)};
}

bool unsignedNumber(const Json &json, uint64_t &into) {
  if (!json.is_number_unsigned())
    return false;
  into = json.get<uint64_t>();
  return into <= INT64_MAX;
}

bool readEntry(const std::string &name, const Json &json, uint64_t dataSize, Entry &entry) {
  entry.described.name = name;
  if (!json.is_object() || !json.contains("dtype") || !json["dtype"].is_string() || !json.contains("shape") ||
      !json["shape"].is_array() || json["shape"].size() > kMaxFileRank || !json.contains("data_offsets") ||
      !json["data_offsets"].is_array() || json["data_offsets"].size() != 2)
    return false;
  entry.described.dtype = json["dtype"].get<std::string>();
  for (const Json &item : json["shape"]) {
    uint64_t size = 0;
    if (!unsignedNumber(item, size))
      return false;
    entry.described.shape.push_back(static_cast<int64_t>(size));
  }
  return unsignedNumber(json["data_offsets"][0], entry.begin) && unsignedNumber(json["data_offsets"][1], entry.end) &&
         entry.begin <= entry.end && entry.end <= dataSize;
}

Result<File> open(const std::string &path) {
  Result<std::string> bytes = readBytes(path, kMaxFileBytes);
  if (!bytes)
    return bytes.error();
  File file;
  file.bytes = *std::move(bytes);
  if (file.bytes.size() < 8)
    return bad(path, "it is truncated");
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | static_cast<uint8_t>(file.bytes[i]);
  if (length > kMaxHeader || length > file.bytes.size() - 8)
    return bad(path, fmt::format("its header needs {} bytes, the file has {}", length, file.bytes.size() - 8));
  file.dataStart = 8 + static_cast<size_t>(length);
  const Json header = Json::parse(std::string_view(file.bytes).substr(8, length), nullptr, false);
  if (!header.is_object())
    return bad(path, "its header is no JSON object");
  for (const auto &[name, json] : header.items()) {
    if (name == "__metadata__")
      continue;
    Entry entry;
    if (!readEntry(name, json, file.bytes.size() - file.dataStart, entry))
      return bad(path, fmt::format("the header's entry '{}' is malformed or points outside of the file", name));
    file.entries.push_back(std::move(entry));
  }
  std::sort(file.entries.begin(), file.entries.end(), [](const Entry &a, const Entry &b) { return a.begin < b.begin; });
  return file;
}

} // namespace

Result<std::vector<SafetensorsEntry>> listSafetensors(const std::string &path) {
  Result<File> file = open(path);
  if (!file)
    return file.error();
  std::vector<SafetensorsEntry> list;
  for (Entry &entry : file->entries)
    list.push_back(std::move(entry.described));
  return list;
}

Result<OwnedTensor> readSafetensors(const std::string &path, const std::string &name) {
  Result<File> file = open(path);
  if (!file)
    return file.error();
  std::vector<std::string> names;
  for (const Entry &entry : file->entries)
    names.push_back(entry.described.name);
  if (name.empty() && names.size() != 1)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("'{}' holds {} tensors: name one{}", path, names.size(), suggestion("", names))};
  auto found = std::find(names.begin(), names.end(), name);
  if (!name.empty() && found == names.end())
    return Error{ErrorCode::NotFound, fmt::format("'{}' holds no tensor '{}'{}", path, name, suggestion(name, names))};
  const Entry &entry = file->entries[name.empty() ? 0 : found - names.begin()];
  const std::pair<const char *, FileDtype> known[] = {
      {"F32", FileDtype::F32}, {"F16", FileDtype::F16}, {"BF16", FileDtype::BF16}, {"F64", FileDtype::F64},
      {"I32", FileDtype::I32}, {"I64", FileDtype::I64}, {"BOOL", FileDtype::Bool}};
  for (const auto &[text, dtype] : known)
    if (entry.described.dtype == text)
      return readElements(path, dtype, entry.described.shape,
                          std::string_view(file->bytes).substr(file->dataStart + entry.begin, entry.end - entry.begin));
  return Error{ErrorCode::Unsupported, fmt::format("tensor '{}' of '{}' has dtype {}; expected one of F32 F16 BF16 "
                                                   "F64 I32 I64 BOOL",
                                                   entry.described.name, path, entry.described.dtype)};
}

} // namespace attnc

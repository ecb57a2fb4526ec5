#include "runtime/CacheDirectory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "runtime/FileBytes.h"

namespace attnc {

namespace {

constexpr uint64_t kMaxObject = uint64_t(64) << 20, kMaxSidecar = uint64_t(4) << 20;
// A writer that died leaves a temporary name or an object without its sidecar; one that is
// at work is younger than this.
constexpr time_t kAbandonedSeconds = 3600;

// Others must not be able to put code where we execute it.
bool belongsToUs(const struct stat &status) {
  return (status.st_uid == geteuid() || status.st_uid == 0) && !(status.st_mode & (S_IWGRP | S_IWOTH));
}

std::vector<std::string> namesIn(const std::string &directory) {
  std::vector<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR *)> stream(opendir(directory.c_str()), closedir);
  if (stream)
    while (const dirent *entry = readdir(stream.get()))
      names.push_back(entry->d_name);
  return names;
}

// "<64 hex digits>.<extension>" and nothing else counts as ours; temporary names go on
// after the extension.
bool isOurs(std::string_view name) {
  const size_t digits = name.find_first_not_of("0123456789abcdef");
  return digits == 64 && (name.substr(64).starts_with(".o") || name.substr(64).starts_with(".json"));
}
bool isSidecar(std::string_view name) { return isOurs(name) && name.substr(64) == ".json"; }
bool isObject(std::string_view name) { return isOurs(name) && name.substr(64) == ".o"; }

// mkdir -p; only folders that we make are made private.
bool makeDirectories(const std::string &path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST)
    return true;
  const size_t slash = path.find_last_of('/');
  if (errno != ENOENT || slash == path.npos || slash == 0)
    return false;
  return makeDirectories(path.substr(0, slash)) && (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST);
}

} // namespace

CacheDirectory::CacheDirectory(std::string path, Access access, uint64_t limitBytes, Log log)
    : directory(std::move(path)), access(access), limitBytes(limitBytes), log(std::move(log)) {}

std::string CacheDirectory::file(const std::string &key, const char *extension) const {
  return directory + "/" + key + extension;
}

bool CacheDirectory::isTrusted() {
  struct stat status;
  if (stat(directory.c_str(), &status) != 0)
    return false; // absent: nothing to find, and nothing to say
  if (S_ISDIR(status.st_mode) && belongsToUs(status))
    return true;
  if (!saidUntrusted.exchange(true))
    log(fmt::format("cache: '{}' is not used: expected a folder that only its owner (this user or "
                    "root) can write, found mode {:o} of user {}; chmod go-w it or choose another "
                    "with ATTNC_CACHE_DIR",
                    directory, status.st_mode & 07777, status.st_uid));
  return false;
}

std::optional<CacheEntry> CacheDirectory::find(const KernelRequest &request) {
  if (!isTrusted())
    return std::nullopt;
  auto refuse = [&](const std::string &why) {
    log(fmt::format("cache: entry {} of {} in '{}' is ignored: {}", request.key.substr(0, 12), request.describe(),
                    directory, why));
    return std::nullopt;
  };
  const std::string sidecarPath = file(request.key, ".json"), objectPath = file(request.key, ".o");
  for (const std::string &path : {sidecarPath, objectPath}) {
    struct stat status;
    if (lstat(path.c_str(), &status) != 0)
      return std::nullopt;
    if (!S_ISREG(status.st_mode) || !belongsToUs(status))
      return refuse("others can write it");
  }
  Result<std::string> sidecar = readBytes(sidecarPath, kMaxSidecar);
  if (!sidecar)
    return refuse(sidecar.error().message);
  Result<CacheEntry> entry = readSidecar(*sidecar, request);
  if (!entry)
    return refuse("sidecar: " + entry.error().message);
  Result<std::string> object = readBytes(objectPath, kMaxObject);
  if (!object)
    return refuse(object.error().message);
  if (std::string problem = objectMismatch(*sidecar, *object); !problem.empty())
    return refuse(problem);
  entry->object = *std::move(object);
  if (access == Access::ReadWrite) // the time of last use, for eviction
    utimensat(AT_FDCWD, sidecarPath.c_str(), nullptr, 0);
  return *std::move(entry);
}

bool CacheDirectory::prepare() {
  if (!makeDirectories(directory)) {
    if (!isUnwritable.exchange(true))
      log(fmt::format("cache: cannot create '{}': {}; kernels stay in memory", directory, std::strerror(errno)));
    return false;
  }
  return isTrusted();
}

void CacheDirectory::publish(const KernelRequest &request, const CacheEntry &entry) {
  if (access == Access::ReadOnly || isUnwritable || !prepare())
    return;
  Status written = writeBytes(file(request.key, ".o"), entry.object, 0600);
  if (written)
    written = writeBytes(file(request.key, ".json"), sidecarText(request, entry), 0600);
  if (!written) {
    if (!isUnwritable.exchange(true))
      log(fmt::format("cache: {}; kernels stay in memory", written.error().message));
    return;
  }
  evict(request.key);
}

// Least recently used first, until the rest fits; never what was just written.
void CacheDirectory::evict(const std::string &newest) {
  struct Item {
    std::string key;
    uint64_t bytes = 0;
    timespec used = {};
    bool hasSidecar = false;
  };
  std::map<std::string, Item> items;
  uint64_t total = 0;
  const time_t now = time(nullptr);
  for (const std::string &name : namesIn(directory)) {
    struct stat status;
    const std::string path = directory + "/" + name;
    if (!isOurs(name) || lstat(path.c_str(), &status) != 0)
      continue;
    if (!isSidecar(name) && !isObject(name)) {
      if (now - status.st_mtim.tv_sec > kAbandonedSeconds)
        unlink(path.c_str());
      continue;
    }
    Item &item = items[name.substr(0, 64)];
    item.key = name.substr(0, 64);
    item.bytes += static_cast<uint64_t>(status.st_size);
    item.hasSidecar |= isSidecar(name);
    if (isSidecar(name) || !item.hasSidecar)
      item.used = status.st_mtim;
    total += static_cast<uint64_t>(status.st_size);
  }
  std::vector<Item> order;
  for (auto &[key, item] : items)
    if (key != newest && (item.hasSidecar || now - item.used.tv_sec > kAbandonedSeconds))
      order.push_back(std::move(item));
  std::sort(order.begin(), order.end(), [](const Item &a, const Item &b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.key) < std::tie(b.used.tv_sec, b.used.tv_nsec, b.key);
  });
  for (const Item &item : order) {
    if (total <= limitBytes && item.hasSidecar)
      continue;
    unlink(file(item.key, ".json").c_str()); // first, so that no sidecar outlives its object
    unlink(file(item.key, ".o").c_str());
    total -= item.bytes;
  }
}

std::vector<SidecarSummary> CacheDirectory::list() const {
  std::vector<SidecarSummary> entries;
  for (const std::string &name : namesIn(directory)) {
    if (!isSidecar(name))
      continue;
    Result<std::string> sidecar = readBytes(directory + "/" + name, kMaxSidecar);
    if (!sidecar)
      continue; // evicted meanwhile
    Result<SidecarSummary> summary = summarizeSidecar(*sidecar);
    if (!summary)
      continue;
    summary->key = name.substr(0, 64);
    entries.push_back(*std::move(summary));
  }
  std::sort(entries.begin(), entries.end(), [](const SidecarSummary &a, const SidecarSummary &b) {
    return std::tie(a.created, a.key) < std::tie(b.created, b.key);
  });
  return entries;
}

Result<int64_t> CacheDirectory::clear() {
  int64_t removed = 0;
  for (const std::string &name : namesIn(directory)) {
    const std::string path = directory + "/" + name;
    if (!isOurs(name))
      continue;
    if (unlink(path.c_str()) != 0 && errno != ENOENT)
      return Error{ErrorCode::Io, fmt::format("cannot remove '{}': {}", path, std::strerror(errno))};
    removed += isSidecar(name);
  }
  return removed;
}

} // namespace attnc

#include "runtime/CacheDirectory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "runtime/CacheFiles.h"
#include "runtime/FileBytes.h"

namespace attnc {

using namespace cache_files;

CacheDirectory::CacheDirectory(std::string path, Access access, uint64_t limitBytes, Log log)
    : directory(std::move(path)), access(access), limitBytes(limitBytes), log(std::move(log)) {}

std::string CacheDirectory::file(const std::string &key, std::string_view extension) const {
  return fmt::format("{}/{}.{}", directory, key, extension);
}

std::string CacheDirectory::distrust() const {
  struct stat status;
  if (stat(directory.c_str(), &status) != 0)
    return fmt::format("cannot look at '{}': {}", directory, std::strerror(errno));
  if (S_ISDIR(status.st_mode) && belongsToUs(status))
    return "";
  return fmt::format("'{}' is not used: expected a folder that only its owner (this user or root) can write, found "
                     "mode {:o} of user {}; chmod go-w it or choose another with ATTNC_CACHE_DIR",
                     directory, status.st_mode & 07777, status.st_uid);
}

bool CacheDirectory::isTrusted() {
  if (::access(directory.c_str(), F_OK) != 0)
    return false; // not made yet: nothing to find, and nothing to say
  const std::string problem = distrust();
  if (!problem.empty() && !saidUntrusted.exchange(true))
    log("cache: " + problem);
  return problem.empty();
}

Result<CacheEntry> CacheDirectory::read(const std::string &key, const CacheKey *expected, bool &isAbsent) const {
  auto refuse = [](const std::string &why) { return Error{ErrorCode::Io, why}; };
  isAbsent = false;
  const std::string sidecarPath = file(key, "json");
  if (std::string problem = distrustFile(sidecarPath, isAbsent); !problem.empty())
    return refuse("the sidecar: " + problem);
  Result<std::string> text = readBytes(sidecarPath, kMaxSidecarBytes);
  if (!text) {
    isAbsent = text.error().code == ErrorCode::NotFound; // removed meanwhile
    return text.error();
  }
  Result<Sidecar> sidecar = readSidecar(*text);
  if (!sidecar)
    return refuse("the sidecar: " + sidecar.error().message);
  if (sidecar->key.hex() != key || (expected && !(sidecar->key == *expected)))
    return refuse("the sidecar is of another key");
  const std::string binaryPath = file(key, sidecar->entry.kind);
  bool isGone = false;
  if (std::string problem = distrustFile(binaryPath, isGone); !problem.empty()) {
    isAbsent = isGone && ::access(sidecarPath.c_str(), F_OK) != 0; // evicted between the two reads
    return refuse("the binary: " + problem);
  }
  Result<std::string> binary = readBytes(binaryPath, kMaxBinaryBytes);
  if (!binary)
    return binary.error();
  if (std::string problem = binaryMismatch(*sidecar, *binary); !problem.empty())
    return refuse(problem);
  sidecar->entry.binary = *std::move(binary);
  return std::move(sidecar->entry);
}

std::optional<CacheEntry> CacheDirectory::find(const CacheKey &key, bool isUse) {
  if (!isTrusted())
    return std::nullopt;
  bool isAbsent = false;
  Result<CacheEntry> entry = read(key.hex(), &key, isAbsent);
  if (!entry) {
    if (!isAbsent)
      log(fmt::format("cache: entry {} in '{}' is ignored: {}", key.brief(), directory, entry.error().message));
    return std::nullopt;
  }
  if (isUse && isWritable()) // the time of last use, for eviction; one call, and nothing depends on it
    utimensat(AT_FDCWD, file(key.hex(), "json").c_str(), nullptr, 0);
  return *std::move(entry);
}

Status CacheDirectory::write(const CacheKey &key, const CacheEntry &entry) {
  if (!makeDirectories(directory))
    return Error{ErrorCode::Io, fmt::format("cannot create '{}': {}", directory, std::strerror(errno))};
  if (std::string problem = distrust(); !problem.empty())
    return Error{ErrorCode::Io, problem};
  const std::string sidecar = sidecarText(key, entry);
  if (!isBinaryKind(entry.kind) || entry.binary.size() > kMaxBinaryBytes || sidecar.size() > kMaxSidecarBytes)
    return Error{ErrorCode::Io,
                 fmt::format("entry {} is not written: kind '{}', {} bytes, sidecar of {} bytes; at most {} and {}",
                             key.brief(), entry.kind, entry.binary.size(), sidecar.size(), kMaxBinaryBytes,
                             kMaxSidecarBytes)};
  if (Status written = writeBytes(file(key.hex(), entry.kind), entry.binary, 0600); !written)
    return written;
  if (Status written = writeBytes(file(key.hex(), "json"), sidecar, 0600); !written)
    return written;
  evict(key.hex());
  return {};
}

void CacheDirectory::publish(const CacheKey &key, const CacheEntry &entry) {
  if (!isWritable() || isUnwritable)
    return;
  if (Status written = write(key, entry); !written && !isUnwritable.exchange(true))
    log(fmt::format("cache: {}; kernels stay in memory", written.error().message));
}

//===----------------------------------------------------------------------===//
// Locks
//===----------------------------------------------------------------------===//

CacheDirectory::Lock::~Lock() { close(descriptor); }

// One byte of one file for each key: nothing to clean up, and the kernel frees what the dead
// held. Two keys on one byte only wait for each other.
std::unique_ptr<CacheDirectory::Lock> CacheDirectory::lock(const CacheKey &key, std::chrono::milliseconds patience) {
  if (!isWritable() || isUnwritable || !makeDirectories(directory) || !distrust().empty())
    return nullptr;
  const int descriptor = open((directory + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0)
    return nullptr;
  auto lock = std::make_unique<Lock>(descriptor);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (int pauseMs = 1;; pauseMs = std::min(2 * pauseMs, 50)) {
    struct flock region = {};
    region.l_type = F_WRLCK;
    region.l_whence = SEEK_SET;
    region.l_start = static_cast<off_t>(std::stoull(key.hex().substr(0, 12), nullptr, 16));
    region.l_len = 1;
    if (fcntl(descriptor, F_OFD_SETLK, &region) == 0)
      return lock;
    if ((errno != EAGAIN && errno != EACCES && errno != EINTR) || std::chrono::steady_clock::now() > deadline)
      return nullptr;
    std::this_thread::sleep_for(std::chrono::milliseconds(pauseMs));
  }
}

//===----------------------------------------------------------------------===//
// All entries
//===----------------------------------------------------------------------===//

// Least recently used first, until the rest fits; never what was just written.
void CacheDirectory::evict(const std::string &newest) {
  struct Item {
    std::string key;
    std::vector<std::string> files; // the sidecar first, so that none outlives its binary
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
    if (isTemporary(name)) {
      if (now - status.st_mtim.tv_sec > kAbandonedSeconds)
        unlink(path.c_str());
      continue;
    }
    Item &item = items[keyOf(name)];
    item.key = keyOf(name);
    item.files.insert(isSidecar(name) ? item.files.begin() : item.files.end(), path);
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
    for (const std::string &path : item.files)
      unlink(path.c_str());
    total -= item.bytes;
  }
}

std::vector<Sidecar> CacheDirectory::list() const {
  std::vector<Sidecar> entries;
  if (!distrust().empty())
    return entries;
  for (const std::string &name : namesIn(directory)) {
    if (!isSidecar(name))
      continue;
    Result<std::string> text = readBytes(directory + "/" + name, kMaxSidecarBytes);
    if (!text)
      continue; // evicted meanwhile
    Result<Sidecar> sidecar = readSidecar(*text);
    if (sidecar && sidecar->key.hex() == keyOf(name))
      entries.push_back(*std::move(sidecar));
  }
  std::sort(entries.begin(), entries.end(), [](const Sidecar &a, const Sidecar &b) {
    return std::tie(a.entry.created, a.key.hex()) < std::tie(b.entry.created, b.key.hex());
  });
  return entries;
}

std::vector<CacheDirectory::Problem> CacheDirectory::verify(bool removes, int64_t &count) {
  std::vector<Problem> problems;
  if (::access(directory.c_str(), F_OK) != 0)
    return problems;
  if (std::string problem = distrust(); !problem.empty())
    return {{"", problem, false}};
  std::vector<std::string> names = namesIn(directory);
  std::sort(names.begin(), names.end());
  for (const std::string &name : names) {
    if (!isSidecar(name))
      continue;
    bool isAbsent = false;
    Result<CacheEntry> entry = read(keyOf(name), nullptr, isAbsent);
    count += !isAbsent;
    if (entry || isAbsent)
      continue;
    problems.push_back({keyOf(name), entry.error().message, false});
    if (removes && isWritable())
      problems.back().isRemoved = remove(keyOf(name)).ok();
  }
  return problems;
}

// The sidecar first, so that none outlives its binary.
Status CacheDirectory::remove(const std::string &key) {
  auto unlinkFile = [](const std::string &path) -> Status {
    if (unlink(path.c_str()) != 0 && errno != ENOENT)
      return Error{ErrorCode::Io, fmt::format("cannot remove '{}': {}", path, std::strerror(errno))};
    return {};
  };
  if (Status removed = unlinkFile(file(key, "json")); !removed)
    return removed;
  for (const std::string &name : namesIn(directory))
    if (isOurs(name) && !isTemporary(name) && keyOf(name) == key)
      if (Status removed = unlinkFile(directory + "/" + name); !removed)
        return removed;
  return {};
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

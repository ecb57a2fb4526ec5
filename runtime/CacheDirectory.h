// One layer of the on-disk cache: a directory of `<key>.o` and `<key>.json`.
//
// Entries are published by rename, object first, so that processes need no lock: whoever
// reads sees an entry whole, or a mismatch, which reads as absent. Nothing here is fatal:
// trouble is logged, and the layer turns itself off when it cannot be written.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/CacheEntry.h"

namespace attnc {

class CacheDirectory {
public:
  using Log = std::function<void(const std::string &)>;
  enum class Access { ReadOnly, ReadWrite };

  CacheDirectory(std::string path, Access access, uint64_t limitBytes, Log log);

  const std::string &path() const { return directory; }
  // Absent, corrupt (logged) and untrusted (logged once) are all "no".
  std::optional<CacheEntry> find(const KernelRequest &request);
  void publish(const KernelRequest &request, const CacheEntry &entry);

  std::vector<SidecarSummary> list() const;
  // Number of entries removed.
  Result<int64_t> clear();

private:
  bool isTrusted();
  bool prepare();
  void evict(const std::string &newest);
  std::string file(const std::string &key, const char *extension) const;

  const std::string directory;
  const Access access;
  const uint64_t limitBytes;
  const Log log;
  std::atomic<bool> saidUntrusted = false;
  std::atomic<bool> isUnwritable = false;
};

} // namespace attnc

// One layer of the on-disk cache: a directory of `<key>.<kind>` and `<key>.json`.
//
// Entries are published by rename, binary first, so that processes need no lock: whoever
// reads sees an entry whole, or a mismatch, which reads as absent. Nothing here is fatal:
// trouble is logged, and the layer turns itself off when it cannot be written.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
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
  bool isWritable() const { return access == Access::ReadWrite; }

  // Absent, corrupt (logged) and untrusted (logged once) are all "no". A use is what eviction goes by.
  std::optional<CacheEntry> find(const CacheKey &key, bool isUse = true);
  // Trouble is logged, and the layer is written no more. Evicts.
  void publish(const CacheKey &key, const CacheEntry &entry);
  // The same, with the trouble for the caller.
  Status write(const CacheKey &key, const CacheEntry &entry);

  // Held while one process compiles `key`, so that others need not. Only a courtesy: null
  // where it cannot be had in time. A dead process holds none.
  class Lock {
  public:
    explicit Lock(int descriptor) : descriptor(descriptor) {}
    ~Lock();
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;

  private:
    const int descriptor;
  };
  std::unique_ptr<Lock> lock(const CacheKey &key, std::chrono::milliseconds patience);

  // What is sound on the face of it, oldest first; binaries are not read.
  std::vector<Sidecar> list() const;
  struct Problem {
    std::string key, what;
    bool isRemoved = false;
  };
  // Reads and hashes every entry. `count` is of all entries, good and bad.
  std::vector<Problem> verify(bool removes, int64_t &count);
  // By name, so that other keys' entries stay. Errors: Io.
  Status remove(const std::string &key);
  // Number of entries removed.
  Result<int64_t> clear();

private:
  // What is wrong with a layer that is there; empty if nothing is.
  std::string distrust() const;
  bool isTrusted();
  // `isAbsent` tells no entry from a bad one.
  Result<CacheEntry> read(const std::string &key, const CacheKey *expected, bool &isAbsent) const;
  void evict(const std::string &newest);
  std::string file(const std::string &key, std::string_view extension) const;

  const std::string directory;
  const Access access;
  const uint64_t limitBytes;
  const Log log;
  std::atomic<bool> saidUntrusted = false;
  std::atomic<bool> isUnwritable = false;
};

} // namespace attnc

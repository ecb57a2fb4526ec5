// From a key to a loaded kernel: memory, then the read-only directories, then the user's
// directory, then a compile. Many threads that ask for one key wait for one compile; many
// processes are kept apart by CacheDirectory. What a kernel is, only the callers know:
//
//   Result<std::shared_ptr<const MyKernel>> kernel = cache.get<MyKernel>(
//       request, [&] { return compile(...); },                    // Result<CacheEntry>
//       [&](const CacheEntry &entry) { return load(entry); },     // Result<shared_ptr<const MyKernel>>
//       info);
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "attnc/Context.h"
#include "runtime/CacheDirectory.h"

namespace attnc {

struct CacheRequest {
  CacheKey key;
  std::string target; // "cpu:avx512"
  std::string what;   // for messages: "'alibi' for cpu:avx512 (f32, head dim 64)"
  std::string remedy; // how to make it ahead of time: "attnc warm alibi --dtype=f32"
};

class KernelCache {
public:
  struct Options {
    std::optional<std::string> userDirectory; // none: memory only
    std::vector<std::string> systemDirectories;
    uint64_t limitBytes = 0;       // of the user's directory
    uint64_t memoryLimitBytes = 0; // of the binaries behind what memory holds
    bool forbidJit = false;
    CacheDirectory::Log log;
  };
  // Gives the binary, its kind, the variant's text and the report; the cache adds the time.
  using Compile = std::function<Result<CacheEntry>()>;
  template <typename T> using Load = std::function<Result<std::shared_ptr<const T>>(const CacheEntry &)>;

  explicit KernelCache(Options options);

  // The kernel of a key, loaded once and shared. `compile` runs on a miss. `load` runs on what
  // is found or compiled; an entry that does not load is logged and compiled again. One key has
  // one T: its fields tell backends apart. Fills `info`. Errors: those of compile and load;
  // JitForbidden.
  template <typename T>
  Result<std::shared_ptr<const T>> get(const CacheRequest &request, const Compile &compile, const Load<T> &load,
                                       CompileInfo &info) {
    Result<Loaded> found = getLoaded(
        request, compile,
        [&](const CacheEntry &entry) -> Result<Loaded> {
          Result<std::shared_ptr<const T>> loaded = load(entry);
          if (!loaded)
            return loaded.error();
          return Loaded(*std::move(loaded));
        },
        info);
    if (!found)
      return found.error();
    return std::static_pointer_cast<const T>(*found);
  }
  // The entry itself.
  Result<std::shared_ptr<const CacheEntry>> get(const CacheRequest &request, const Compile &compile, CompileInfo &info);

  // System ones first, as they are looked at.
  const std::vector<std::unique_ptr<CacheDirectory>> &layers() const { return directories; }
  CacheDirectory *userLayer() const { return user; } // null: memory only
  void forgetMemory();
  const CacheDirectory::Log &log() const { return options.log; }

private:
  using Loaded = std::shared_ptr<const void>;
  using LoadAny = std::function<Result<Loaded>(const CacheEntry &)>;
  struct Found {
    Loaded loaded;
    uint64_t bytes = 0;
  };
  // One compile that others may wait for.
  struct Flight {
    std::optional<Result<Loaded>> result;
  };
  struct InMemory {
    Found found;
    std::list<std::string>::iterator use;
  };

  Result<Loaded> getLoaded(const CacheRequest &request, const Compile &compile, const LoadAny &load, CompileInfo &info);
  Result<Found> find(const CacheRequest &request, const Compile &compile, const LoadAny &load, CompileInfo &info);
  std::optional<Found> findOnDisk(const CacheRequest &request, const LoadAny &load);
  Result<Found> compileNow(const CacheRequest &request, const Compile &compile, const LoadAny &load);
  void remember(const std::string &key, const Found &found); // under the mutex

  const Options options;
  std::vector<std::unique_ptr<CacheDirectory>> directories;
  CacheDirectory *user = nullptr;

  std::mutex mutex;
  std::condition_variable landed;
  std::unordered_map<std::string, InMemory> memory;
  std::list<std::string> uses; // keys in memory, the latest first
  uint64_t memoryBytes = 0;
  std::unordered_map<std::string, std::shared_ptr<Flight>> flights;
};

} // namespace attnc

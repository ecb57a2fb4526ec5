// From a request to a loaded kernel: memory, then the read-only directories, then the
// user's directory, then the compiler. Many threads that ask for one key wait for one
// compile; many processes are kept apart by CacheDirectory.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "attnc/Context.h"
#include "runtime/CacheDirectory.h"
#include "runtime/CompilerLibrary.h"
#include "runtime/LoadedKernel.h"

namespace attnc {

class KernelCache {
public:
  struct Options {
    std::optional<std::string> userDirectory; // none: memory only
    std::vector<std::string> systemDirectories;
    uint64_t limitBytes = 0;
    bool forbidJit = false;
    CacheDirectory::Log log;
  };
  using Loaded = std::shared_ptr<const LoadedKernel>;

  KernelCache(Options options, CompilerLibrary &compiler);

  // `program` is compiled on a miss, with its locations. Fills `info`.
  Result<Loaded> get(const KernelRequest &request, const Program &program, CompileInfo &info);

  std::vector<SidecarSummary> list() const;
  Result<int64_t> clear(); // also forgets what memory holds
  std::string directory() const;

private:
  // One compile that others may wait for.
  struct Flight {
    std::optional<Result<Loaded>> result;
  };

  Result<Loaded> find(const KernelRequest &request, const Program &program, CompileInfo &info);
  Result<Loaded> compile(const KernelRequest &request, const Program &program);

  const Options options;
  CompilerLibrary &compiler;
  std::vector<std::unique_ptr<CacheDirectory>> directories; // system ones first
  CacheDirectory *user = nullptr;

  std::mutex mutex;
  std::condition_variable landed;
  std::unordered_map<std::string, Loaded> memory;
  std::unordered_map<std::string, std::shared_ptr<Flight>> flights;
};

} // namespace attnc

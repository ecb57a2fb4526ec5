// Context's face of the kernel cache: listing, checking, carrying about, making ahead of time.
#include <algorithm>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "runtime/Arguments.h"
#include "runtime/CacheArchive.h"
#include "runtime/ContextState.h"

namespace attnc {

Result<std::vector<Context::CacheEntry>> Context::cacheEntries() const {
  std::vector<CacheEntry> entries;
  for (const auto &layer : state->cache.layers())
    for (const Sidecar &sidecar : layer->list()) {
      const attnc::CacheEntry &entry = sidecar.entry;
      entries.push_back({.key = sidecar.key.hex(),
                         .variant = entry.name,
                         .target = entry.target,
                         .kind = entry.kind,
                         .directory = layer->path(),
                         .bytes = sidecar.binaryBytes,
                         .created = entry.created,
                         .compileMs = entry.compileMs});
    }
  return entries;
}

Result<std::string> Context::cacheEntryJson(const std::string &keyPrefix) const {
  if (!isKeyPrefix(keyPrefix))
    return invalidArgument(fmt::format(
        "key '{}': expected 1 to 64 lower-case hexadecimal digits, as `attnc cache ls` shows them", keyPrefix));
  std::map<std::string, std::string> found; // one key may lie in several layers: the first counts
  for (const auto &layer : state->cache.layers())
    for (const Sidecar &sidecar : layer->list())
      if (sidecar.key.hex().starts_with(keyPrefix))
        found.try_emplace(sidecar.key.hex(), sidecarText(sidecar));
  if (found.empty())
    return Error{ErrorCode::NotFound, fmt::format("the cache holds no kernel whose key begins with '{}'", keyPrefix)};
  if (found.size() > 1)
    return invalidArgument(fmt::format("{} keys begin with '{}', among them {} and {}: give more digits", found.size(),
                                       keyPrefix, found.begin()->first.substr(0, keyPrefix.size() + 8),
                                       std::next(found.begin())->first.substr(0, keyPrefix.size() + 8)));
  return found.begin()->second;
}

Result<Context::CacheCheck> Context::verifyCache(bool removesCorrupt) const {
  CacheCheck check;
  for (const auto &layer : state->cache.layers())
    for (CacheDirectory::Problem &problem : layer->verify(removesCorrupt, check.entries))
      check.problems.push_back({std::move(problem.key), layer->path(), std::move(problem.what), problem.isRemoved});
  return check;
}

Result<int64_t> Context::clearCache() const {
  state->cache.forgetMemory();
  CacheDirectory *user = state->cache.userLayer();
  return user ? user->clear() : Result<int64_t>(int64_t(0));
}

Result<int64_t> Context::exportCache(const std::string &path) const { return attnc::exportCache(state->cache, path); }

Result<Context::CacheImport> Context::importCache(const std::string &path) const {
  return attnc::importCache(state->cache, path);
}

std::vector<Result<CompileInfo>>
Context::warm(const std::vector<WarmItem> &items, int jobs,
              const std::function<void(size_t, const Result<CompileInfo> &)> &done) const {
  std::vector<Result<CompileInfo>> results(items.size(), Error{});
  if (items.empty())
    return results;
  const int wanted = jobs > 0 ? jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::mutex mutex;
  makeThreadPool(static_cast<int>(std::min<size_t>(static_cast<size_t>(wanted), items.size())))
      ->parallelFor(static_cast<int64_t>(items.size()), [&](int64_t index, int) {
        const WarmItem &item = items[static_cast<size_t>(index)];
        Result<Kernel> kernel = compile(item.variant, item.options);
        Result<CompileInfo> &result = results[static_cast<size_t>(index)];
        result = kernel ? Result<CompileInfo>(kernel->info()) : Result<CompileInfo>(kernel.error());
        std::lock_guard lock(mutex);
        if (done)
          done(static_cast<size_t>(index), result);
      });
  return results;
}

std::string Context::cacheDirectory() const {
  const CacheDirectory *user = state->cache.userLayer();
  return user ? user->path() : "";
}

} // namespace attnc

#include "runtime/KernelCache.h"

#include <chrono>
#include <exception>

#include <fmt/format.h>

namespace attnc {

// Longer than a compile should take; after that a second one is better than waiting.
static constexpr std::chrono::seconds kLockPatience(20);

static double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

KernelCache::KernelCache(Options given) : options(std::move(given)) {
  auto add = [&](const std::string &path, CacheDirectory::Access access) {
    directories.push_back(std::make_unique<CacheDirectory>(path, access, options.limitBytes, options.log));
  };
  for (const std::string &path : options.systemDirectories)
    add(path, CacheDirectory::Access::ReadOnly);
  if (options.userDirectory) {
    add(*options.userDirectory, CacheDirectory::Access::ReadWrite);
    user = directories.back().get();
  }
}

Result<std::shared_ptr<const CacheEntry>> KernelCache::get(const CacheRequest &request, const Compile &compile,
                                                           CompileInfo &info) {
  return get<CacheEntry>(
      request, compile,
      [](const CacheEntry &entry) -> Result<std::shared_ptr<const CacheEntry>> {
        return std::make_shared<const CacheEntry>(entry);
      },
      info);
}

Result<KernelCache::Loaded> KernelCache::getLoaded(const CacheRequest &request, const Compile &compile,
                                                   const LoadAny &load, CompileInfo &info) {
  const auto start = std::chrono::steady_clock::now();
  const std::string &key = request.key.hex();
  info = {};
  info.key = key;
  info.target = request.target;

  std::unique_lock lock(mutex);
  if (auto found = memory.find(key); found != memory.end()) {
    uses.splice(uses.begin(), uses, found->second.use);
    info.fromMemory = true;
    info.milliseconds = millisecondsSince(start);
    return found->second.found.loaded;
  }
  std::shared_ptr<Flight> &slot = flights[key];
  if (slot) {
    std::shared_ptr<Flight> flight = slot;
    landed.wait(lock, [&] { return flight->result.has_value(); });
    info.fromMemory = flight->result->ok();
    info.milliseconds = millisecondsSince(start);
    return *flight->result;
  }
  std::shared_ptr<Flight> flight = slot = std::make_shared<Flight>();
  lock.unlock();
  Result<Found> found = find(request, compile, load, info);
  lock.lock();
  if (found)
    remember(key, *found);
  flight->result =
      found ? Result<Loaded>(found->loaded) : Result<Loaded>(found.error()); // told, and a failure forgotten
  flights.erase(key);
  lock.unlock();
  landed.notify_all();
  info.milliseconds = millisecondsSince(start);
  return *flight->result;
}

// Whoever waits for a flight must be told, so nothing may be thrown past it.
Result<KernelCache::Found> KernelCache::find(const CacheRequest &request, const Compile &compile, const LoadAny &load,
                                             CompileInfo &info) try {
  std::optional<Found> found = findOnDisk(request, load);
  std::unique_ptr<CacheDirectory::Lock> lock;
  if (!found && !options.forbidJit && user) {
    lock = user->lock(request.key, kLockPatience);
    found = findOnDisk(request, load); // another process may have made it meanwhile
  }
  if (found) {
    info.fromDisk = true;
    return *std::move(found);
  }
  if (options.forbidJit)
    return Error{ErrorCode::JitForbidden,
                 fmt::format("variant {} is not in the cache, and compiling is forbidden; make it with `{}` or without "
                             "forbidJit, or import or name a system cache directory that holds key {}",
                             request.what, request.remedy, request.key.hex())};
  return compileNow(request, compile, load);
} catch (const std::exception &error) {
  return Error{ErrorCode::Internal, fmt::format("the kernel cache failed at {}: {}", request.what, error.what())};
}

std::optional<KernelCache::Found> KernelCache::findOnDisk(const CacheRequest &request, const LoadAny &load) {
  for (const auto &directory : directories) {
    std::optional<CacheEntry> entry = directory->find(request.key);
    if (!entry)
      continue;
    Result<Loaded> loaded = load(*entry);
    if (loaded)
      return Found{*std::move(loaded), entry->binary.size()};
    options.log(fmt::format("cache: entry {} in '{}' is ignored: {}", request.key.brief(), directory->path(),
                            loaded.error().message));
  }
  return std::nullopt;
}

Result<KernelCache::Found> KernelCache::compileNow(const CacheRequest &request, const Compile &compile,
                                                   const LoadAny &load) {
  options.log(fmt::format("compile: {} starts, key {}", request.what, request.key.brief()));
  const auto start = std::chrono::steady_clock::now();
  auto fail = [&](const Error &error) {
    options.log(
        fmt::format("compile: {} failed after {:.1f} ms: {}", request.what, millisecondsSince(start), error.message));
    return error;
  };
  Result<CacheEntry> entry = compile();
  if (!entry)
    return fail(entry.error());
  entry->target = request.target;
  entry->created = utcNow();
  entry->compileMs = millisecondsSince(start);
  Result<Loaded> loaded = load(*entry);
  if (!loaded)
    return fail(loaded.error());
  options.log(
      fmt::format("compile: {} done in {:.1f} ms, {} bytes", request.what, entry->compileMs, entry->binary.size()));
  if (user)
    user->publish(request.key, *entry);
  return Found{*std::move(loaded), entry->binary.size()};
}

// What is dropped here lives on in the kernels that hold it.
void KernelCache::remember(const std::string &key, const Found &found) {
  uses.push_front(key);
  memory[key] = {found, uses.begin()};
  memoryBytes += found.bytes;
  while (memoryBytes > options.memoryLimitBytes && !uses.empty()) {
    auto oldest = memory.find(uses.back());
    memoryBytes -= oldest->second.found.bytes;
    memory.erase(oldest);
    uses.pop_back();
  }
}

void KernelCache::forgetMemory() {
  std::lock_guard lock(mutex);
  memory.clear();
  uses.clear();
  memoryBytes = 0;
}

} // namespace attnc

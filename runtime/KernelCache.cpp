#include "runtime/KernelCache.h"

#include <chrono>

#include <fmt/format.h>

#include "ir/Program.h"

namespace attnc {

static double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

KernelCache::KernelCache(Options given, CompilerLibrary &compiler) : options(std::move(given)), compiler(compiler) {
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

Result<KernelCache::Loaded> KernelCache::get(const KernelRequest &request, const Program &program, CompileInfo &info) {
  const auto start = std::chrono::steady_clock::now();
  info = {};
  info.key = request.key;
  info.target = request.target();

  std::unique_lock lock(mutex);
  if (auto found = memory.find(request.key); found != memory.end()) {
    info.fromMemory = true;
    info.milliseconds = millisecondsSince(start);
    return found->second;
  }
  std::shared_ptr<Flight> &slot = flights[request.key];
  if (slot) {
    std::shared_ptr<Flight> flight = slot;
    landed.wait(lock, [&] { return flight->result.has_value(); });
    info.fromMemory = flight->result->ok();
    info.milliseconds = millisecondsSince(start);
    return *flight->result;
  }
  std::shared_ptr<Flight> flight = slot = std::make_shared<Flight>();
  lock.unlock();
  Result<Loaded> result = find(request, program, info);
  lock.lock();
  if (result)
    memory[request.key] = *result;
  flight->result = result; // a failure is told to those who wait and then forgotten
  flights.erase(request.key);
  lock.unlock();
  landed.notify_all();
  info.milliseconds = millisecondsSince(start);
  return result;
}

Result<KernelCache::Loaded> KernelCache::find(const KernelRequest &request, const Program &program, CompileInfo &info) {
  for (const auto &directory : directories) {
    std::optional<CacheEntry> entry = directory->find(request);
    if (!entry)
      continue;
    Result<Loaded> loaded = LoadedKernel::load(*entry, request.config);
    if (loaded) {
      info.fromDisk = true;
      return loaded;
    }
    options.log(fmt::format("cache: entry {} in '{}' is ignored: {}", request.key.substr(0, 12), directory->path(),
                            loaded.error().message));
  }
  if (options.forbidJit)
    return Error{ErrorCode::JitForbidden,
                 fmt::format("variant {} is not in the cache, and compiling is forbidden; compile it "
                             "once without forbidJit, or name a system cache directory that holds "
                             "key {}",
                             request.describe(), request.key)};
  return compile(request, program);
}

Result<KernelCache::Loaded> KernelCache::compile(const KernelRequest &request, const Program &program) {
  options.log(fmt::format("compile: {} starts, key {}", request.describe(), request.key.substr(0, 12)));
  const auto start = std::chrono::steady_clock::now();
  auto fail = [&](const Error &error) {
    options.log(fmt::format("compile: {} failed: {}", request.describe(), error.message));
    return error;
  };
  Result<CompilerOutput> output = compiler.compile(print(program, PrintLocations::Yes), request.configJson, "object");
  if (!output)
    return fail(output.error());
  for (const std::string &warning : output->warnings)
    options.log("compile: " + warning);
  CacheEntry entry;
  entry.object = std::move(output->bytes);
  entry.variantName = request.variantName;
  entry.target = request.target();
  entry.compiler = compiler.build();
  entry.created = utcNow();
  entry.compileMs = millisecondsSince(start);
  if (Status read = readCompileInfo(output->info, entry); !read)
    return fail({ErrorCode::Internal, "the compiler's info: " + read.error().message});
  Result<Loaded> loaded = LoadedKernel::load(entry, request.config);
  if (!loaded)
    return fail(loaded.error());
  options.log(
      fmt::format("compile: {} done in {:.1f} ms, {} bytes", request.describe(), entry.compileMs, entry.object.size()));
  if (user)
    user->publish(request, entry);
  return loaded;
}

std::vector<SidecarSummary> KernelCache::list() const {
  std::vector<SidecarSummary> entries;
  for (const auto &directory : directories)
    for (SidecarSummary &summary : directory->list())
      entries.push_back(std::move(summary));
  return entries;
}

Result<int64_t> KernelCache::clear() {
  {
    std::lock_guard lock(mutex);
    memory.clear();
  }
  return user ? user->clear() : Result<int64_t>(int64_t(0));
}

std::string KernelCache::directory() const { return user ? user->path() : ""; }

} // namespace attnc

#include "runtime/CompilerLibrary.h"

#include <dlfcn.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attnc/Variant.h"
#include "compiler/attnc_compiler.h"

namespace attnc {

// Of attnc_compiler.h, as this runtime was built with it.
static constexpr int kCompilerAbi = 1;

struct CompilerLibrary::Functions {
  decltype(&attnc_compile) compile;
  decltype(&attnc_result_ok) ok;
  decltype(&attnc_result_bytes) bytes;
  decltype(&attnc_result_info) info;
  decltype(&attnc_result_message_count) messageCount;
  decltype(&attnc_result_message) message;
  decltype(&attnc_result_free) free;
  decltype(&attnc_compiler_abi) abi;
  decltype(&attnc_compiler_build) build;
};

CompilerLibrary::CompilerLibrary(std::vector<std::string> paths) : paths(std::move(paths)) {}
CompilerLibrary::~CompilerLibrary() = default; // the library itself stays: LLVM cannot be unloaded

std::vector<std::string> CompilerLibrary::defaultPaths() {
  std::vector<std::string> paths;
  Dl_info self;
  if (dladdr(reinterpret_cast<const void *>(&CompilerLibrary::defaultPaths), &self) && self.dli_fname) {
    std::string path = self.dli_fname;
    if (size_t slash = path.rfind('/'); slash != path.npos)
      paths.push_back(path.substr(0, slash) + "/libattnc_compiler.so");
  }
  paths.push_back(ATTNC_DEFAULT_COMPILER);
  return paths;
}

// RTLD_LOCAL: LLVM must stay invisible to others in the process, who may hold their own.
Status CompilerLibrary::tryOpen(const std::string &path) {
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Error{ErrorCode::NotFound, dlerror()};
  auto found = std::make_unique<Functions>();
  const char *missing = nullptr;
  auto bind = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    if (!function && !missing)
      missing = name;
  };
  bind(found->compile, "attnc_compile");
  bind(found->ok, "attnc_result_ok");
  bind(found->bytes, "attnc_result_bytes");
  bind(found->info, "attnc_result_info");
  bind(found->messageCount, "attnc_result_message_count");
  bind(found->message, "attnc_result_message");
  bind(found->free, "attnc_result_free");
  bind(found->abi, "attnc_compiler_abi");
  bind(found->build, "attnc_compiler_build");
  if (missing)
    return Error{ErrorCode::Unsupported, fmt::format("'{}' is no attnc compiler: it lacks {}", path, missing)};
  if (int abi = found->abi(); abi != kCompilerAbi)
    return Error{ErrorCode::Unsupported,
                 fmt::format("'{}' ({}) has interface {}, expected {}: install the compiler library "
                             "of the same attnc release",
                             path, found->build(), abi, kCompilerAbi)};
  functions = std::move(found);
  return {};
}

Status CompilerLibrary::open() {
  std::lock_guard lock(mutex);
  if (functions)
    return {};
  std::string looked;
  for (const std::string &path : paths) {
    if (path.find('/') != path.npos && access(path.c_str(), F_OK) != 0) {
      looked += fmt::format("\n  {}: no such file", path);
      continue;
    }
    Status opened = tryOpen(path);
    if (opened || opened.error().code != ErrorCode::NotFound)
      return opened;
    looked += fmt::format("\n  {}: {}", path, opened.error().message);
  }
  return Error{ErrorCode::NotFound, fmt::format("the compiler library is missing; looked at{}\n"
                                                "install libattnc_compiler.so beside libattnc, set ATTNC_COMPILER or "
                                                "ContextOptions::compilerPath to its path, or use a cache that already "
                                                "holds the kernel",
                                                looked)};
}

Result<CompilerOutput> CompilerLibrary::compile(const std::string &text, const std::string &config,
                                                const std::string &stage) {
  if (Status opened = open(); !opened)
    return opened.error();
  const Functions &call = *functions;
  std::unique_ptr<attnc_result, decltype(call.free)> result(
      call.compile(text.data(), text.size(), config.c_str(), stage.c_str()), call.free);
  CompilerOutput output;
  for (size_t i = 0; i < call.messageCount(result.get()); ++i)
    output.warnings.push_back(call.message(result.get(), i));
  if (!call.ok(result.get()))
    return Error{ErrorCode::InvalidVariant, output.warnings.empty()
                                                ? "the compiler failed without a message"
                                                : fmt::format("{}", fmt::join(output.warnings, "\n"))};
  size_t size = 0;
  const char *bytes = call.bytes(result.get(), &size);
  output.bytes.assign(bytes, size);
  output.info = call.info(result.get());
  return output;
}

std::string CompilerLibrary::build() const {
  std::lock_guard lock(mutex);
  return functions ? functions->build() : "";
}

} // namespace attnc

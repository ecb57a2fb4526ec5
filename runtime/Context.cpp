#include "attnc/Context.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/Program.h"
#include "runtime/ContextState.h"
#include "runtime/CpuKernel.h"
#include "runtime/CudaKernel.h"
#include "runtime/EmulatedDevice.h"
#include "runtime/KernelState.h"
#include "runtime/Suggest.h"
#include "runtime/Targets.h"

namespace attnc {

namespace {

// The environment is read here and nowhere else.
std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::optional<std::string> userCacheDirectory(const ContextOptions &options) {
  std::string path = options.cacheDir;
  if (path.empty())
    path = environment("ATTNC_CACHE_DIR");
  if (path == "none")
    return std::nullopt;
  if (!path.empty())
    return path;
  // The XDG rules: a relative path there is to be ignored.
  if (std::string base = environment("XDG_CACHE_HOME"); base.starts_with('/'))
    return base + "/attnc";
  if (std::string home = environment("HOME"); home.starts_with('/'))
    return home + "/.cache/attnc";
  return std::nullopt;
}

std::vector<std::string> compilerPaths(const ContextOptions &options) {
  if (!options.compilerPath.empty())
    return {options.compilerPath};
  if (std::string path = environment("ATTNC_COMPILER"); !path.empty())
    return {path};
  return CompilerLibrary::defaultPaths();
}

// The cache is blind to names, so a kernel may come from a variant of another one.
Variant underName(std::shared_ptr<const Program> program, const std::string &name) {
  if (program->name == name)
    return Variant::fromProgram(std::move(program));
  Program renamed = *program;
  renamed.name = name;
  return Variant::fromProgram(std::make_shared<const Program>(std::move(renamed)));
}

} // namespace

Result<Context> Context::create(const ContextOptions &options) {
  KernelCache::Options cache;
  cache.userDirectory = userCacheDirectory(options);
  cache.systemDirectories = options.systemCacheDirs;
  cache.limitBytes = options.cacheLimitBytes;
  cache.memoryLimitBytes = options.memoryLimitBytes;
  cache.forbidJit = options.forbidJit;
  cache.log = options.log ? options.log : [](const std::string &) {};
  std::shared_ptr<Executor> executor = options.executor ? options.executor : makeThreadPool();
  cuda::NvrtcSearch search;
  search.path = options.nvrtcPath.empty() ? environment("ATTNC_NVRTC") : options.nvrtcPath;
  for (const char *name : {"CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"})
    search.folders.push_back(environment(name));
  std::string driver = options.driverPath.empty() ? environment("ATTNC_CUDA_DRIVER") : options.driverPath;
  auto state = std::make_shared<State>(compilerPaths(options), std::move(cache), std::move(executor), std::move(search),
                                       std::move(driver));
  return Context(std::move(state));
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static Result<Kernel> compileForCpu(Context::State &state, const Variant &variant, const CompileOptions &options) {
  const Program &program = variant.program();
  Result<cpu::KernelConfig> config = readCpuOptions(program, options);
  if (!config)
    return config.error();
  CompileInfo info;
  Result<std::shared_ptr<const LoadedKernel>> loaded = state.cache.get<LoadedKernel>(
      cpuRequest(program, *config), [&] { return compileCpu(program, *config, state.compiler, state.cache.log()); },
      [&](const CacheEntry &entry) { return LoadedKernel::load(entry, *config); }, info);
  if (!loaded)
    return loaded.error();
  return Kernel(std::make_shared<Kernel::State>(Kernel::State{variant, underName((*loaded)->simplified, program.name),
                                                              *loaded, nullptr, state.executor, std::move(info)}));
}

// Where a kernel of this context for the target runs, or why it cannot.
static CudaKernel::Device deviceOf(Context::State &state, const CudaTarget &target) {
  if (target.output == cuda::NvrtcOutput::Ptx)
    return std::shared_ptr<const CudaDevice>(EmulatedDevice::instance());
  Result<std::shared_ptr<const GpuDevice>> gpu = state.cuda.gpu();
  if (!gpu)
    return gpu.error();
  return std::shared_ptr<const CudaDevice>(*std::move(gpu));
}

static Result<Kernel> compileForCuda(Context::State &state, const Variant &variant, const CompileOptions &options) {
  const Program &program = variant.program();
  Result<CudaTarget> target = readCudaOptions(program, options, [&] { return state.cuda.currentArch(); });
  if (!target)
    return target.error();
  const CudaKernel::Device device = deviceOf(state, *target);
  Result<std::shared_ptr<const cuda::Nvrtc>> nvrtc = state.cuda.nvrtc();
  auto compile = [&]() -> Result<CacheEntry> {
    if (!nvrtc)
      return nvrtc.error();
    return compileCuda(program, target->config, target->output, state.compiler, **nvrtc, state.cache.log());
  };
  // The version is part of the key. Without NVRTC, kernels made by any that the cache knows will do.
  std::vector<std::string> versions =
      nvrtc ? std::vector<std::string>{(*nvrtc)->version()} : cachedNvrtcVersions(state.cache);
  if (versions.empty())
    return nvrtc.error();
  Error last;
  for (const std::string &version : versions) {
    CompileInfo info;
    Result<std::shared_ptr<const CudaKernel>> loaded = state.cache.get<CudaKernel>(
        cudaRequest(program, target->config, target->output, version), compile,
        [&](const CacheEntry &entry) { return CudaKernel::load(entry, target->config, device); }, info);
    if (loaded)
      return Kernel(std::make_shared<Kernel::State>(Kernel::State{
          variant, underName((*loaded)->simplified, program.name), nullptr, *loaded, state.executor, std::move(info)}));
    last = loaded.error();
  }
  return last;
}

Result<Kernel> Context::compile(const Variant &variant, const CompileOptions &options) const {
  return isCudaTarget(options.target) ? compileForCuda(*state, variant, options)
                                      : compileForCpu(*state, variant, options);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static Result<std::string> dumpCuda(Context::State &state, const Variant &variant, const CompileOptions &options,
                                    const std::string &stage) {
  Result<CudaTarget> target = readCudaOptions(variant.program(), options, [&] { return state.cuda.currentArch(); });
  if (!target)
    return target.error();
  Result<CompilerOutput> text = emitCuda(variant.ir(/*withLocations=*/true), target->config, state.compiler);
  if (!text)
    return text.error();
  if (stage == "cuda")
    return std::move(text->bytes);
  Result<std::shared_ptr<const cuda::Nvrtc>> nvrtc = state.cuda.nvrtc();
  if (!nvrtc)
    return nvrtc.error();
  Result<cuda::NvrtcResult> compiled = compileText(**nvrtc, text->bytes, variant.name(), target->config.arch,
                                                   stage == "ptx" ? cuda::NvrtcOutput::Ptx : cuda::NvrtcOutput::Cubin);
  if (!compiled)
    return compiled.error();
  return std::move(compiled->binary);
}

Result<std::string> Context::dump(const Variant &variant, const CompileOptions &options,
                                  const std::string &stage) const {
  const std::vector<std::string> stages = {"attn", "staged", "vector", "llvm", "asm", "object", "cuda", "ptx", "cubin"};
  if (std::find(stages.begin(), stages.end(), stage) == stages.end())
    return Error{ErrorCode::NotFound, fmt::format("stage '{}' is unknown{}", stage, suggestion(stage, stages))};
  const bool isCudaStage = stage == "cuda" || stage == "ptx" || stage == "cubin";
  if (isCudaStage && !options.target.empty() && !isCudaTarget(options.target))
    return Error{ErrorCode::Unsupported, fmt::format("stage '{}' on target '{}': CUDA kernels are made for {}", stage,
                                                     options.target, fmt::join(cuda::kArches, ", "))};
  if (isCudaStage)
    return dumpCuda(*state, variant, options, stage);
  Result<cpu::KernelConfig> config = readCpuOptions(variant.program(), options);
  if (!config)
    return config.error();
  Result<CompilerOutput> output = state->compiler.compile(variant.ir(/*withLocations=*/true), config->toJson(), stage);
  if (!output)
    return output.error();
  return std::move(output->bytes);
}

Executor &Context::executor() const { return *state->executor; }

} // namespace attnc

#include "attnc/Context.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "codegen/cuda/KernelConfig.h"
#include "ir/Program.h"
#include "runtime/ContextState.h"
#include "runtime/CpuKernel.h"
#include "runtime/KernelState.h"
#include "runtime/Suggest.h"
#include "runtime/cuda/Nvrtc.h"

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

Result<cpu::Isa> readTarget(const std::string &target) {
  if (target == "cuda" || target.starts_with("sm_"))
    return Error{ErrorCode::Unsupported,
                 fmt::format("target '{}': CUDA kernels can be dumped (stages cuda, ptx, cubin) and not run yet; use a "
                             "cpu target",
                             target)};
  if (target.empty() || target == "cpu")
    return cpu::hostIsa();
  if (target.starts_with("cpu:"))
    if (std::optional<cpu::Isa> isa = cpu::isaFromName(std::string_view(target).substr(4)))
      return *isa;
  const std::vector<std::string> known = {"cpu", "cpu:sse", "cpu:avx2", "cpu:avx512", "cpu:avx512_bf16", "cpu:neon"};
  return Error{ErrorCode::NotFound, fmt::format("target '{}' is unknown{}", target, suggestion(target, known))};
}

Status checkDim(const char *name, int value) {
  if (value >= 1 && value <= 512)
    return {};
  return invalidArgument(fmt::format("{}: expected 1 to 512, found {}", name, value));
}

Result<std::vector<cpu::CaptureType>> captureTypes(const Program &program, const CompileOptions &options) {
  std::vector<cpu::CaptureType> types;
  std::vector<std::string> names;
  for (const Capture &capture : program.captures) {
    types.push_back({capture.name, naturalDtype(capture)});
    names.push_back(capture.name);
  }
  for (const auto &[name, dtype] : options.captureDtypes) {
    auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      return invalidArgument(fmt::format("captureDtypes: variant '{}' declares no capture '{}'{}", program.name, name,
                                         suggestion(name, names)));
    const Capture &declared = program.captures[found - names.begin()];
    if (!fitsDeclaredType(declared, dtype))
      return invalidArgument(fmt::format("captureDtypes: capture '{}' is declared like {}, which {} does not fit; "
                                         "f32 takes f32, f16, bf16, and i32 takes i32, i64",
                                         name, dtypeName(naturalDtype(declared)), dtypeName(dtype)));
    types[found - names.begin()].dtype = dtype;
  }
  return types;
}

Result<cpu::KernelConfig> readOptions(const Program &program, const CompileOptions &options) {
  if (options.dtype != DType::F32 && options.dtype != DType::F16 && options.dtype != DType::BF16)
    return invalidArgument(fmt::format("dtype: expected f32, f16 or bf16, found {}", dtypeName(options.dtype)));
  if (Status s = checkDim("headDim", options.headDim); !s)
    return s.error();
  if (Status s = checkDim("valueDim", options.valueDim); !s)
    return s.error();
  if (options.splitSize < cpu::kBlockN || options.splitSize > 1 << 30 || options.splitSize % cpu::kBlockN)
    return invalidArgument(fmt::format("splitSize: expected a multiple of {} up to {}, found {}", cpu::kBlockN, 1 << 30,
                                       options.splitSize));
  Result<cpu::Isa> isa = readTarget(options.target);
  if (!isa)
    return isa.error();
  Result<std::vector<cpu::CaptureType>> captures = captureTypes(program, options);
  if (!captures)
    return captures.error();
  cpu::KernelConfig config;
  config.isa = *isa;
  config.dtype = options.dtype;
  config.headDim = options.headDim;
  config.valueDim = options.valueDim;
  config.splitSize = options.splitSize;
  config.captures = *std::move(captures);
  return config;
}

Result<cuda::KernelConfig> readCudaOptions(const Program &program, const CompileOptions &options) {
  cuda::KernelConfig config;
  config.arch = options.target.empty() || options.target == "cuda" ? "sm_80" : options.target;
  config.dtype = options.dtype;
  config.headDim = options.headDim;
  config.valueDim = options.valueDim;
  config.splitSize = options.splitSize;
  Result<std::vector<cpu::CaptureType>> captures = captureTypes(program, options);
  if (!captures)
    return captures.error();
  config.captures = *std::move(captures);
  if (Status s = config.check(); !s)
    return s.error();
  return config;
}

// What NVRTC makes of a kernel's text: the PTX, or the cubin of config.arch.
Result<std::string> compileCuda(const std::string &nvrtcPath, const std::string &text, const Program &program,
                                const cuda::KernelConfig &config, cuda::NvrtcOutput output) {
  auto nvrtc = cuda::Nvrtc::open(nvrtcPath);
  if (!nvrtc)
    return nvrtc.error();
  if (Status s = (*nvrtc)->checkArch(config.arch); !s)
    return s.error();
  auto compiled =
      (*nvrtc)->compile(text, program.name + ".cu", cuda::Nvrtc::kernelOptions(config.arch, output), output);
  if (!compiled)
    return Error{
        compiled.error().code,
        fmt::format("{}\nthis is a defect of attnc: please report it with the text that `attnc dump --emit=cuda` "
                    "prints for variant '{}'",
                    compiled.error().message, program.name)};
  return std::move(compiled->binary);
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
  auto state = std::make_shared<State>(compilerPaths(options), std::move(cache), std::move(executor));
  state->nvrtcPath = options.nvrtcPath.empty() ? environment("ATTNC_NVRTC") : options.nvrtcPath;
  return Context(std::move(state));
}

Result<Kernel> Context::compile(const Variant &variant, const CompileOptions &options) const {
  const Program &program = variant.program();
  Result<cpu::KernelConfig> config = readOptions(program, options);
  if (!config)
    return config.error();
  CompileInfo info;
  Result<std::shared_ptr<const LoadedKernel>> loaded = state->cache.get<LoadedKernel>(
      cpuRequest(program, *config), [&] { return compileCpu(program, *config, state->compiler, state->cache.log()); },
      [&](const attnc::CacheEntry &entry) { return LoadedKernel::load(entry, *config); }, info);
  if (!loaded)
    return loaded.error();
  return Kernel(std::make_shared<Kernel::State>(Kernel::State{variant, underName((*loaded)->simplified, program.name),
                                                              *loaded, state->executor, std::move(info)}));
}

Result<std::string> Context::dump(const Variant &variant, const CompileOptions &options,
                                  const std::string &stage) const {
  const std::vector<std::string> stages = {"attn", "staged", "vector", "llvm", "asm", "object", "cuda", "ptx", "cubin"};
  if (std::find(stages.begin(), stages.end(), stage) == stages.end())
    return Error{ErrorCode::NotFound, fmt::format("stage '{}' is unknown{}", stage, suggestion(stage, stages))};
  if (stage == "cuda" || stage == "ptx" || stage == "cubin") {
    Result<cuda::KernelConfig> config = readCudaOptions(variant.program(), options);
    if (!config)
      return config.error();
    Result<CompilerOutput> text = state->compiler.compile(variant.ir(/*withLocations=*/true), config->toJson(), "cuda");
    if (!text)
      return text.error();
    if (stage == "cuda")
      return std::move(text->bytes);
    return compileCuda(state->nvrtcPath, text->bytes, variant.program(), *config,
                       stage == "ptx" ? cuda::NvrtcOutput::Ptx : cuda::NvrtcOutput::Cubin);
  }
  Result<cpu::KernelConfig> config = readOptions(variant.program(), options);
  if (!config)
    return config.error();
  Result<CompilerOutput> output = state->compiler.compile(variant.ir(/*withLocations=*/true), config->toJson(), stage);
  if (!output)
    return output.error();
  return std::move(output->bytes);
}

Executor &Context::executor() const { return *state->executor; }

} // namespace attnc

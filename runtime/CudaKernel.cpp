#include "runtime/CudaKernel.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attnc/Tensor.h"
#include "ir/Program.h"
#include "runtime/Arguments.h"
#include "runtime/JsonFields.h"
#include "runtime/cuda/CubinStatistics.h"

namespace attnc {

// As codegen/cuda/Emit.h names it.
static constexpr const char *kKernelName = "attnc_forward";

static const char *kindOf(cuda::NvrtcOutput output) { return output == cuda::NvrtcOutput::Ptx ? "ptx" : "cubin"; }

static std::string targetName(const cuda::KernelConfig &config, cuda::NvrtcOutput output) {
  return output == cuda::NvrtcOutput::Ptx ? "emulated:" + config.arch : config.arch;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

Result<CompilerOutput> emitCuda(const std::string &variantText, const cuda::KernelConfig &config,
                                CompilerLibrary &compiler) {
  return compiler.compile(variantText, config.toJson(), "cuda");
}

Result<cuda::NvrtcResult> compileText(const cuda::Nvrtc &nvrtc, const std::string &text, const std::string &variant,
                                      const std::string &arch, cuda::NvrtcOutput output) {
  if (Status s = nvrtc.checkArch(arch); !s)
    return s.error();
  auto compiled = nvrtc.compile(text, variant + ".cu", cuda::Nvrtc::kernelOptions(arch, output), output);
  if (!compiled)
    return Error{compiled.error().code,
                 fmt::format("{}\nthis is a defect of attnc: please report it with the text that `attnc dump "
                             "--emit=cuda` prints for variant '{}'",
                             compiled.error().message, variant)};
  return compiled;
}

CacheRequest cudaRequest(const Program &program, const cuda::KernelConfig &config, cuda::NvrtcOutput output,
                         const std::string &nvrtcVersion) {
  Program nameless = program;
  nameless.name = "variant";
  const std::string target = targetName(config, output);
  return {.key =
              CacheKey({{"backend", "cuda"},
                        {"emitter", std::to_string(cuda::kEmitterVersion)},
                        {"nvrtc", nvrtcVersion},
                        {"kind", kindOf(output)},
                        {"options", fmt::format("{}", fmt::join(cuda::Nvrtc::kernelOptions(config.arch, output), " "))},
                        {"config", config.toJson()},
                        {"ir", print(nameless)}}),
          .target = target,
          .what = kernelDescription(program, config, target),
          .remedy = warmCommand(program, config, target)};
}

// Registers and memory of a cubin; nothing is known of PTX.
static void addResources(Json &report, const std::string &cubin) {
  Result<cuda::CubinReport> read = cuda::readCubin(cubin);
  if (!read || read->kernels.empty())
    return;
  const cuda::KernelStatistics &kernel = read->kernels[0];
  report["registers"] = kernel.registers;
  report["stack_bytes"] = kernel.stackBytes;
  report["spill_load_bytes"] = kernel.localLoadBytes;
  report["spill_store_bytes"] = kernel.localStoreBytes;
  report["static_shared_bytes"] = kernel.sharedBytes;
  report["code_bytes"] = kernel.codeBytes;
}

Result<CacheEntry> compileCuda(const Program &program, const cuda::KernelConfig &config, cuda::NvrtcOutput output,
                               CompilerLibrary &compiler, const cuda::Nvrtc &nvrtc, const CacheDirectory::Log &log) {
  Result<CompilerOutput> text = emitCuda(print(program, PrintLocations::Yes), config, compiler);
  if (!text)
    return text.error();
  for (const std::string &warning : text->warnings)
    log("compile: " + warning);
  Result<cuda::NvrtcResult> compiled = compileText(nvrtc, text->bytes, program.name, config.arch, output);
  if (!compiled)
    return compiled.error();
  Json report = parseObject(text->info);
  CacheEntry entry;
  entry.kind = kindOf(output);
  entry.binary = std::move(compiled->binary);
  entry.variantText = textField(report, "variant");
  entry.name = program.name;
  entry.compiler = fmt::format("{} nvrtc {}", compiler.build(), nvrtc.version());
  report.erase("variant");
  report["nvrtc_ms"] = compiled->milliseconds;
  if (output == cuda::NvrtcOutput::Cubin)
    addResources(report, entry.binary);
  entry.report = toText(report);
  return entry;
}

std::vector<std::string> cachedNvrtcVersions(const KernelCache &cache) {
  std::vector<std::pair<std::string, std::string>> found; // created, version
  for (const auto &layer : cache.layers())
    for (const Sidecar &sidecar : layer->list())
      for (const CacheKey::Field &field : sidecar.key.fields())
        if (field.name == "nvrtc")
          found.emplace_back(sidecar.entry.created, field.value);
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> versions;
  for (const auto &[created, version] : found)
    if (std::find(versions.begin(), versions.end(), version) == versions.end())
      versions.push_back(version);
  return versions;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

// The report comes from disk: what the schedule table never gives is refused.
static Result<CudaKernel::Shape> readShape(const std::string &report, const cuda::KernelConfig &config) {
  const Json json = parseObject(report);
  CudaKernel::Shape shape;
  auto read = [&](const char *name, int64_t low, int64_t high, int &into) {
    int64_t value = 0;
    if (!integerField(json, name, low, high, value))
      return false;
    into = static_cast<int>(value);
    return true;
  };
  auto bad = [](const char *field) {
    return Error{ErrorCode::Internal, fmt::format("the kernel's report: bad or missing '{}'", field)};
  };
  if (!read("block_m", 16, 512, shape.blockM))
    return bad("block_m");
  if (!read("block_n", 16, 512, shape.blockN) || shape.blockN != cuda::tileKeys(config))
    return bad("block_n");
  if (!read("threads", 32, 1024, shape.threads) || shape.threads % 32)
    return bad("threads");
  if (!read("shared_bytes", 0, 256 << 10, shape.sharedBytes))
    return bad("shared_bytes");
  return shape;
}

Result<std::shared_ptr<const CudaKernel>> CudaKernel::load(const CacheEntry &entry, const cuda::KernelConfig &config,
                                                           const Device &device) {
  ParsedProgram parsed = parseProgram(entry.variantText);
  if (!parsed.program)
    return Error{ErrorCode::Internal, "the simplified variant does not read back: " + parsed.failure.message};
  Result<Shape> shape = readShape(entry.report, config);
  if (!shape)
    return shape.error();
  std::shared_ptr<const CudaFunction> function;
  if (device) {
    const char *kind = (*device)->isEmulated() ? "ptx" : "cubin";
    if (entry.kind != kind)
      return Error{ErrorCode::Internal, fmt::format("expected '{}', found '{}'", kind, entry.kind)};
    Result<std::shared_ptr<const CudaFunction>> loaded = (*device)->load(entry.binary, kKernelName, shape->sharedBytes);
    if (!loaded)
      return loaded.error();
    function = *std::move(loaded);
  }
  return std::make_shared<const CudaKernel>(config, std::make_shared<const Program>(std::move(*parsed.program)), *shape,
                                            device, std::move(function));
}

} // namespace attnc

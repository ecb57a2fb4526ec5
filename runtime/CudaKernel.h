// A CUDA kernel in memory, and what the kernel cache needs to know of it: the key, how it
// is compiled, how it is named.
#pragma once

#include "codegen/cuda/KernelConfig.h"
#include "runtime/CompilerLibrary.h"
#include "runtime/CudaDevice.h"
#include "runtime/KernelCache.h"
#include "runtime/cuda/Nvrtc.h"

namespace attnc {

struct Program;

// A kernel's text as the compiler prints it; CompilerOutput::info says how it is launched.
Result<CompilerOutput> emitCuda(const std::string &variantText, const cuda::KernelConfig &config,
                                CompilerLibrary &compiler);
// What NVRTC makes of it.
Result<cuda::NvrtcResult> compileText(const cuda::Nvrtc &nvrtc, const std::string &text, const std::string &variant,
                                      const std::string &arch, cuda::NvrtcOutput output);

// `output` tells kernels for the emulated device (PTX) from those for GPUs (cubin).
CacheRequest cudaRequest(const Program &program, const cuda::KernelConfig &config, cuda::NvrtcOutput output,
                         const std::string &nvrtcVersion);
Result<CacheEntry> compileCuda(const Program &program, const cuda::KernelConfig &config, cuda::NvrtcOutput output,
                               CompilerLibrary &compiler, const cuda::Nvrtc &nvrtc, const CacheDirectory::Log &log);

// Those that kernels in the cache were made with, the latest first: without NVRTC they still run.
std::vector<std::string> cachedNvrtcVersions(const KernelCache &cache);

class CudaKernel {
public:
  // How a launch is cut.
  struct Shape {
    int blockM = 0;      // queries of a CTA
    int blockN = 0;      // keys of a tile
    int threads = 0;     // of a CTA
    int sharedBytes = 0; // dynamic ones of a CTA
  };

  using Device = Result<std::shared_ptr<const CudaDevice>>;

  // Without a device the kernel can be cached and not run. Internal errors: the binary or the
  // report is malformed.
  static Result<std::shared_ptr<const CudaKernel>> load(const CacheEntry &entry, const cuda::KernelConfig &config,
                                                        const Device &device);

  const cuda::KernelConfig config;
  const std::shared_ptr<const Program> simplified;
  const Shape shape;
  const Device device;                                // or why there is none
  const std::shared_ptr<const CudaFunction> function; // null without a device

  CudaKernel(cuda::KernelConfig config, std::shared_ptr<const Program> simplified, Shape shape, Device device,
             std::shared_ptr<const CudaFunction> function)
      : config(std::move(config)), simplified(std::move(simplified)), shape(shape), device(std::move(device)),
        function(std::move(function)) {}
};

} // namespace attnc

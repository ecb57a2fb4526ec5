// NVRTC and the CUDA driver of a context, each opened the first time it is needed; what is not
// found is looked for again the next time.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "runtime/GpuDevice.h"
#include "runtime/cuda/Nvrtc.h"

namespace attnc {

class CudaLibraries {
public:
  CudaLibraries(cuda::NvrtcSearch search, std::string driverPath)
      : search(std::move(search)), driverPath(std::move(driverPath)) {}

  Result<std::shared_ptr<const cuda::Nvrtc>> nvrtc();
  Result<std::shared_ptr<const GpuDevice>> gpu();
  // The target that names the current GPU.
  Result<std::string> currentArch();

private:
  const cuda::NvrtcSearch search;
  const std::string driverPath;
  std::mutex mutex;
  std::shared_ptr<const cuda::Nvrtc> openNvrtc;
  std::shared_ptr<const GpuDevice> openGpu;
};

} // namespace attnc

// NVRTC and the CUDA driver of a context, each opened the first time it is needed.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "runtime/CudaDevice.h"
#include "runtime/cuda/Nvrtc.h"

namespace attnc {

class CudaLibraries {
public:
  explicit CudaLibraries(std::string nvrtcPath) : nvrtcPath(std::move(nvrtcPath)) {}

  Result<std::shared_ptr<const cuda::Nvrtc>> nvrtc();
  // Null where there is no driver.
  std::shared_ptr<const CudaDevice> gpu();
  // The target that names the current GPU.
  Result<std::string> currentArch();

private:
  const std::string nvrtcPath;
  std::mutex mutex;
  std::shared_ptr<const cuda::Nvrtc> openNvrtc;
};

} // namespace attnc

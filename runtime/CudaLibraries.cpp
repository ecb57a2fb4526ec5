#include "runtime/CudaLibraries.h"

namespace attnc {

Result<std::shared_ptr<const cuda::Nvrtc>> CudaLibraries::nvrtc() {
  std::lock_guard lock(mutex);
  if (openNvrtc)
    return openNvrtc;
  Result<std::shared_ptr<const cuda::Nvrtc>> opened = cuda::Nvrtc::open(nvrtcPath);
  if (opened)
    openNvrtc = *opened;
  return opened;
}

std::shared_ptr<const CudaDevice> CudaLibraries::gpu() { return nullptr; }

Result<std::string> CudaLibraries::currentArch() {
  return Error{ErrorCode::Unsupported, "target 'cuda': no CUDA driver"};
}

} // namespace attnc

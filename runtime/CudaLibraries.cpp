#include "runtime/CudaLibraries.h"

namespace attnc {

Result<std::shared_ptr<const cuda::Nvrtc>> CudaLibraries::nvrtc() {
  std::lock_guard lock(mutex);
  if (openNvrtc)
    return openNvrtc;
  Result<std::shared_ptr<const cuda::Nvrtc>> opened = cuda::Nvrtc::open(search);
  if (opened)
    openNvrtc = *opened;
  return opened;
}

Result<std::shared_ptr<const GpuDevice>> CudaLibraries::gpu() {
  std::lock_guard lock(mutex);
  if (openGpu)
    return openGpu;
  Result<std::shared_ptr<const cuda::Driver>> driver = cuda::Driver::open(driverPath);
  if (!driver)
    return driver.error();
  return openGpu = std::make_shared<const GpuDevice>(*std::move(driver));
}

Result<std::string> CudaLibraries::currentArch() {
  Result<std::shared_ptr<const GpuDevice>> device = gpu();
  if (!device)
    return Error{device.error().code, "target 'cuda': " + device.error().message};
  return (*device)->currentArch();
}

} // namespace attnc

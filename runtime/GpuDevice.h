// The GPU that is current on the calling thread, through the CUDA driver.
#pragma once

#include "runtime/CudaDevice.h"
#include "runtime/cuda/Driver.h"

namespace attnc {

class GpuDevice final : public CudaDevice {
public:
  explicit GpuDevice(std::shared_ptr<const cuda::Driver> driver) : driver(std::move(driver)) {}

  // Where a context is current, the kernel is made ready there, so that its first launch may be
  // part of a CUDA graph.
  Result<std::shared_ptr<const CudaFunction>> load(const std::string &binary, const std::string &kernel,
                                                   int sharedBytes) const override;
  Status checkMemory(const LaunchMemory &memory) const override;
  Result<bool> isCapturing(void *stream) const override { return driver->isCapturing(stream); }
  Result<std::shared_ptr<const DeviceBuffer>> upload(std::span<const std::byte> bytes, void *stream) const override;
  bool isEmulated() const override { return false; }

  // The target whose kernels the current GPU runs: "sm_90a".
  Result<std::string> currentArch() const;

private:
  const std::shared_ptr<const cuda::Driver> driver;
};

} // namespace attnc

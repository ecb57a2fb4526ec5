#include "runtime/cuda/GpuKernel.h"

namespace attnc::cuda {

GpuKernel::GpuKernel(std::shared_ptr<const Driver> given, void *library, void *kernel)
    : driver(std::move(given)), library(library), kernel(kernel), sharedLimits(driver->devices.size()) {}

GpuKernel::~GpuKernel() { driver->unload(library); }

// The attribute belongs to the kernel on a device, for all contexts and threads. Without it a
// block gets at most 48 KiB together with the kernel's static shared memory.
Status GpuKernel::raiseSharedLimit(uint32_t sharedBytes) const {
  if (sharedBytes == 0)
    return {};
  Result<int> ordinal = driver->currentOrdinal();
  if (!ordinal)
    return ordinal.error();
  std::atomic<uint32_t> &limit = sharedLimits[*ordinal];
  if (limit.load(std::memory_order_acquire) >= sharedBytes)
    return {};
  std::lock_guard lock(mutex);
  if (limit.load(std::memory_order_relaxed) >= sharedBytes)
    return {};
  if (Status raised = driver->raiseSharedLimit(kernel, *ordinal, sharedBytes); !raised)
    return raised;
  limit.store(sharedBytes, std::memory_order_release);
  return {};
}

Status GpuKernel::prepare(uint32_t sharedBytes) const {
  if (Status loaded = driver->loadFunction(kernel); !loaded)
    return loaded;
  return raiseSharedLimit(sharedBytes);
}

Status GpuKernel::launch(const LaunchShape &shape, const void *parameters, Stream stream) const {
  if (Status raised = raiseSharedLimit(shape.sharedBytes); !raised)
    return raised;
  return driver->launch(kernel, shape, parameters, stream);
}

} // namespace attnc::cuda

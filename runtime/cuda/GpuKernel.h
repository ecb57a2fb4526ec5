// A kernel of a loaded cubin, launched on whatever device is current. Knows nothing of what its
// parameters mean: they are the bytes of one struct.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "attnc/Status.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/LaunchShape.h"

namespace attnc::cuda {

// Safe to share between threads. Its library is unloaded with its last owner, which must not
// happen before what was launched has ended.
class GpuKernel {
public:
  // Launches with one parameter, passed by value: the bytes behind `parameters`, as many as the
  // kernel declares; they are copied before this returns. The stream is one of the current
  // context, whose device must not be another's. Neither allocates nor waits, so a CUDA graph
  // can capture it.
  Status launch(const LaunchShape &shape, const void *parameters, Stream stream) const;

  // Does what the first launch on the current device does beside launching: loads the code
  // into the context and raises the limit of dynamic shared memory. For callers whose first
  // launch is captured: the driver loads code lazily, and may have to wait for the device then.
  Status prepare(uint32_t sharedBytes) const;

  ~GpuKernel();
  GpuKernel(const GpuKernel &) = delete;
  GpuKernel &operator=(const GpuKernel &) = delete;

private:
  friend class Driver;
  GpuKernel(std::shared_ptr<const Driver> driver, void *library, void *kernel);
  Status raiseSharedLimit(uint32_t sharedBytes) const;

  std::shared_ptr<const Driver> driver;
  void *library; // CUlibrary
  void *kernel;  // CUkernel
  // By device: the limit that was set, 0 for the driver's default. Grows under the mutex.
  mutable std::vector<std::atomic<uint32_t>> sharedLimits;
  mutable std::mutex mutex;
};

} // namespace attnc::cuda

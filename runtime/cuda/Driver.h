// The CUDA driver, opened when first needed: libcuda comes with the GPU's driver, so nothing of
// CUDA is needed to build, and machines without a GPU never touch it. The few functions in use
// are declared in Driver.cpp; every failing call becomes an Error that names it and a way out.
//
// Work goes to the context that is current on the calling thread, as with the driver's own
// functions: in a process of torch or of the CUDA runtime that is the one they use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attnc/Status.h"
#include "runtime/cuda/LaunchShape.h"

namespace attnc::cuda {

class GpuKernel;

using Stream = void *; // CUstream, the same as cudaStream_t; null is the legacy default stream

struct DeviceInfo {
  int ordinal = 0;  // among the devices that CUDA_VISIBLE_DEVICES leaves
  std::string name; // "NVIDIA H100 80GB HBM3"
  int major = 0, minor = 0;
  int multiprocessors = 0;
  int maxSharedBytes = 0; // that a block may opt in to
};

enum class MemoryKind {
  Host, // pageable: the driver does not know it
  Pinned,
  Device,
  Managed
};

struct MemoryInfo {
  MemoryKind kind = MemoryKind::Host;
  int ordinal = -1; // of the device it was allocated for; -1 for Host
  // The whole allocation, 0 if unknown. Frameworks cut many tensors from one allocation.
  uint64_t rangeStart = 0, rangeBytes = 0;
};

// Safe to use from several threads at once.
class Driver : public std::enable_shared_from_this<Driver> {
public:
  using MemoryKind = cuda::MemoryKind;
  using MemoryInfo = cuda::MemoryInfo;

  // Opens `path`, or libcuda.so.1 on the loader's path where that is empty. NotFound: no
  // driver, or no device. Unsupported: a driver older than CUDA 12.0.
  static Result<std::shared_ptr<const Driver>> open(const std::string &path = {});

  int version() const { return cudaVersion; } // the newest CUDA it knows: 13000 for 13.0
  Result<int> deviceCount() const;
  Result<DeviceInfo> device(int ordinal) const;

  // Of the context that is current on this thread; NotFound where none is. The ordinal costs
  // one short call of the driver.
  Result<int> currentOrdinal() const;
  Result<DeviceInfo> currentDevice() const;
  // Retains the primary context of a device, for the rest of the process, and makes it current
  // on this thread: for callers that have no context of their own.
  Status makeCurrent(int ordinal) const;

  // A cubin as a library of the driver, which belongs to no context: it works on every device
  // of its architecture. The driver copies the bytes.
  Result<std::shared_ptr<const GpuKernel>> load(std::string_view cubin, const std::string &kernelName) const;

  // What a pointer is, without touching it.
  Result<MemoryInfo> memoryInfo(const void *pointer) const;
  Result<bool> isCapturing(Stream stream) const;

  // In the stream's order; none waits for the device. Nothing is done for 0 bytes (`allocate`
  // gives null) and for null. A copy from or to pageable memory may wait for earlier work.
  Result<void *> allocate(size_t bytes, Stream stream) const;
  Status release(void *memory, Stream stream) const;
  Status copyToDevice(void *to, const void *from, size_t bytes, Stream stream) const;
  Status copyToHost(void *to, const void *from, size_t bytes, Stream stream) const;
  // Never called by a launch: for tools and tests.
  Status synchronize(Stream stream) const;

  ~Driver();
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;

private:
  friend class GpuKernel;
  struct Functions;
  struct Device {
    int handle = 0; // CUdevice
    DeviceInfo info;
  };

  explicit Driver(std::unique_ptr<const Functions> functions);
  Status readDevices();
  Status check(const char *function, int code) const;

  // What GpuKernel is made of.
  Status loadFunction(void *kernel) const; // into the current context
  Status raiseSharedLimit(void *kernel, int ordinal, uint32_t bytes) const;
  Status launch(void *kernel, const LaunchShape &shape, const void *parameters, Stream stream) const;
  void unload(void *library) const;

  std::unique_ptr<const Functions> call;
  int cudaVersion = 0;
  std::vector<Device> devices; // they do not change while a process runs
};

} // namespace attnc::cuda

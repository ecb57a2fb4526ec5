// Where CUDA kernels run: a GPU or the emulated device. Launch code sees only this.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnc/Status.h"
#include "runtime/cuda/LaunchShape.h"

namespace attnc {

// Memory that a launch may touch.
struct LaunchMemory {
  std::string_view name;
  const void *data = nullptr;
  size_t bytes = 0;
  bool isWritable = false;
  bool isCapture = false;

  std::string label() const; // "query", "capture 'slopes'"
};

// A call, ready for a device: the kernel has one parameter.
struct CudaLaunch {
  cuda::LaunchShape shape;
  std::vector<std::byte> parameter;
  std::vector<LaunchMemory> memory;
};

// Memory of a device; given back when its last owner goes, after what the stream that it was
// made on has to do until then.
class DeviceBuffer {
public:
  virtual ~DeviceBuffer() = default;
  virtual const std::byte *data() const = 0;
  virtual size_t size() const = 0;
};

// A kernel loaded on a device. Safe to share between threads.
class CudaFunction {
public:
  virtual ~CudaFunction() = default;
  // In the order of the stream. Neither allocates nor waits on a GPU.
  virtual Status launch(const CudaLaunch &launch, void *stream) const = 0;
};

class CudaDevice {
public:
  virtual ~CudaDevice() = default;
  // `sharedBytes`: dynamic ones that launches will ask for. Errors: Internal where the binary
  // is not one of this device's.
  virtual Result<std::shared_ptr<const CudaFunction>> load(const std::string &binary, const std::string &kernel,
                                                           int sharedBytes) const = 0;
  // InvalidArgument, naming the memory, where kernels of this thread's current device
  // cannot or should not reach it.
  virtual Status checkMemory(const LaunchMemory &memory) const = 0;
  // Whether the stream records a graph.
  virtual Result<bool> isCapturing(void *stream) const = 0;
  virtual Result<std::shared_ptr<const DeviceBuffer>> upload(std::span<const std::byte> bytes, void *stream) const = 0;
  // Whether launch() reports where the kernel went wrong and memory is the host's.
  virtual bool isEmulated() const = 0;
};

} // namespace attnc

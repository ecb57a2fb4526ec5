#include "runtime/GpuDevice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/cuda/KernelConfig.h"
#include "runtime/Arguments.h"
#include "runtime/cuda/GpuKernel.h"

namespace attnc {

namespace {

class GpuFunction final : public CudaFunction {
public:
  explicit GpuFunction(std::shared_ptr<const cuda::GpuKernel> kernel) : kernel(std::move(kernel)) {}
  Status launch(const CudaLaunch &launch, void *stream) const override {
    return kernel->launch(launch.shape, launch.parameter.data(), stream);
  }

private:
  const std::shared_ptr<const cuda::GpuKernel> kernel;
};

class GpuBuffer final : public DeviceBuffer {
public:
  GpuBuffer(std::shared_ptr<const cuda::Driver> driver, void *memory, size_t bytes, void *stream)
      : driver(std::move(driver)), memory(memory), bytes(bytes), stream(stream) {}
  // A destructor has nobody to tell of an error: the context may be gone, and its memory with it.
  ~GpuBuffer() override { (void)driver->release(memory, stream).ok(); }
  const std::byte *data() const override { return static_cast<const std::byte *>(memory); }
  size_t size() const override { return bytes; }

private:
  const std::shared_ptr<const cuda::Driver> driver;
  void *const memory;
  const size_t bytes;
  void *const stream;
};

const char *kindText(cuda::MemoryKind kind) {
  switch (kind) {
  case cuda::MemoryKind::Host:
    return "host memory";
  case cuda::MemoryKind::Pinned:
    return "pinned host memory";
  case cuda::MemoryKind::Device:
    return "device memory";
  case cuda::MemoryKind::Managed:
    return "managed memory";
  }
  return "";
}

} // namespace

Result<std::shared_ptr<const CudaFunction>> GpuDevice::load(const std::string &binary, const std::string &kernel,
                                                            int sharedBytes) const {
  Result<std::shared_ptr<const cuda::GpuKernel>> loaded = driver->load(binary, kernel);
  if (!loaded)
    return loaded.error();
  // What is wrong here the first launch says; a kernel may be compiled for another device.
  if (driver->currentOrdinal().ok())
    (void)(*loaded)->prepare(static_cast<uint32_t>(sharedBytes)).ok();
  return std::shared_ptr<const CudaFunction>(std::make_shared<GpuFunction>(*std::move(loaded)));
}

Status GpuDevice::checkMemory(const LaunchMemory &memory) const {
  Result<int> current = driver->currentOrdinal();
  if (!current)
    return current.error();
  Result<cuda::MemoryInfo> info = driver->memoryInfo(memory.data);
  if (!info)
    return info.error();
  if (info->kind == cuda::MemoryKind::Host || info->kind == cuda::MemoryKind::Pinned)
    return invalidArgument(fmt::format("{}: expected memory of CUDA device {}, found {}; copy it to the device",
                                       memory.label(), *current, kindText(info->kind)));
  if (info->kind == cuda::MemoryKind::Device && info->ordinal != *current)
    return invalidArgument(
        fmt::format("{}: expected memory of CUDA device {}, which is current, found memory of device "
                    "{}; copy it, or make that device current",
                    memory.label(), *current, info->ordinal));
  return {};
}

Result<std::shared_ptr<const DeviceBuffer>> GpuDevice::upload(std::span<const std::byte> bytes, void *stream) const {
  Result<void *> memory = driver->allocate(bytes.size(), stream);
  if (!memory)
    return memory.error();
  auto buffer = std::make_shared<const GpuBuffer>(driver, *memory, bytes.size(), stream);
  if (Status s = driver->copyToDevice(*memory, bytes.data(), bytes.size(), stream); !s)
    return s.error();
  return std::shared_ptr<const DeviceBuffer>(std::move(buffer));
}

// A cubin runs on its own capability and on later minor ones, those of suffix 'a' on their
// own alone.
Result<std::string> GpuDevice::currentArch() const {
  Result<cuda::DeviceInfo> info = driver->currentDevice();
  if (!info)
    return info.error();
  const int capability = info->major * 10 + info->minor;
  if (capability == 90 || capability == 100)
    return fmt::format("sm_{}a", capability);
  if (info->major == 8)
    return std::string(capability >= 89 ? "sm_89" : capability >= 86 ? "sm_86" : "sm_80");
  if (info->major == 12)
    return std::string("sm_120");
  return Error{ErrorCode::Unsupported,
               fmt::format("target 'cuda': {} has compute capability {}.{}; CUDA kernels are made for {}", info->name,
                           info->major, info->minor, fmt::join(cuda::kArches, ", "))};
}

} // namespace attnc

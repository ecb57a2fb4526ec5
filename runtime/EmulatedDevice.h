// The emulated device: PTX, run by runtime/emulator on the host's own memory.
#pragma once

#include "runtime/CudaDevice.h"
#include "runtime/emulator/Emulator.h"

namespace attnc {

class EmulatedFunction final : public CudaFunction {
public:
  EmulatedFunction(emulator::Module module, std::string kernel)
      : module(std::move(module)), kernel(std::move(kernel)) {}

  // One launch under the options given; what the kernel did wrong is in the report.
  Result<emulator::Report> run(const CudaLaunch &launch, const emulator::Options &options) const;
  // With all checks; Internal, with the findings, where there are any.
  Status launch(const CudaLaunch &launch, void *stream) const override;

private:
  const emulator::Module module;
  const std::string kernel;
};

class EmulatedDevice final : public CudaDevice {
public:
  static std::shared_ptr<const EmulatedDevice> instance();

  Result<std::shared_ptr<const CudaFunction>> load(const std::string &binary, const std::string &kernel,
                                                   int sharedBytes) const override;
  Status checkMemory(const LaunchMemory &) const override { return {}; }
  Result<bool> isCapturing(void *) const override { return false; }
  Result<std::shared_ptr<const DeviceBuffer>> upload(std::span<const std::byte> bytes, void *stream) const override;
  bool isEmulated() const override { return true; }
};

// A line for each of at most `most` findings, and how many there were.
std::string findingsText(const std::vector<emulator::Finding> &findings, size_t most = 8);

} // namespace attnc

#include "runtime/EmulatedDevice.h"

#include <algorithm>

#include <fmt/format.h>

namespace attnc {

namespace {

class HostBuffer final : public DeviceBuffer {
public:
  explicit HostBuffer(std::span<const std::byte> bytes) : bytes(bytes.begin(), bytes.end()) {}
  const std::byte *data() const override { return bytes.data(); }
  size_t size() const override { return bytes.size(); }

private:
  const std::vector<std::byte> bytes;
};

// The emulator's regions lie apart; tensors that interleave (query, key and value of one
// projection) become one.
std::vector<emulator::MemoryRegion> regionsOf(std::vector<LaunchMemory> memory) {
  std::erase_if(memory, [](const LaunchMemory &each) { return each.bytes == 0; });
  std::sort(memory.begin(), memory.end(),
            [](const LaunchMemory &a, const LaunchMemory &b) { return std::less<>()(a.data, b.data); });
  std::vector<emulator::MemoryRegion> regions;
  const std::byte *end = nullptr;
  for (const LaunchMemory &each : memory) {
    const auto *begin = static_cast<const std::byte *>(each.data);
    if (!regions.empty() && begin < end) {
      emulator::MemoryRegion &last = regions.back();
      last.name += ", " + each.label();
      last.isWritable |= each.isWritable;
      end = std::max(end, begin + each.bytes);
      last.bytes = static_cast<size_t>(end - static_cast<const std::byte *>(last.data));
      continue;
    }
    regions.push_back({each.label(), const_cast<void *>(each.data), each.bytes, each.isWritable});
    end = begin + each.bytes;
  }
  return regions;
}

} // namespace

std::string LaunchMemory::label() const { return isCapture ? fmt::format("capture '{}'", name) : std::string(name); }

Result<emulator::Report> EmulatedFunction::run(const CudaLaunch &launch, const emulator::Options &options) const {
  emulator::Launch call;
  call.kernel = kernel;
  call.grid = launch.shape.grid;
  call.block = {launch.shape.threads, 1, 1};
  call.dynamicSharedBytes = launch.shape.sharedBytes;
  call.arguments = {launch.parameter};
  return emulator::run(module, call, regionsOf(launch.memory), options);
}

Status EmulatedFunction::launch(const CudaLaunch &launch, void *) const {
  Result<emulator::Report> report = run(launch, {.profile = false});
  if (!report)
    return report.error();
  if (report->findings.empty())
    return {};
  return Error{ErrorCode::Internal,
               fmt::format("the emulated device found faults in the kernel; this is a defect of attnc, please report "
                           "it with the variant and the shapes\n{}",
                           findingsText(report->findings))};
}

std::shared_ptr<const EmulatedDevice> EmulatedDevice::instance() {
  static const std::shared_ptr<const EmulatedDevice> device = std::make_shared<EmulatedDevice>();
  return device;
}

Result<std::shared_ptr<const CudaFunction>> EmulatedDevice::load(const std::string &binary, const std::string &kernel,
                                                                 int) const {
  Result<emulator::Module> module = emulator::Module::parse(binary);
  if (!module)
    return module.error();
  const std::vector<std::string> kernels = module->kernels();
  if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end())
    return Error{ErrorCode::Internal, fmt::format("the PTX lacks the kernel '{}'", kernel)};
  return std::shared_ptr<const CudaFunction>(std::make_shared<EmulatedFunction>(*std::move(module), kernel));
}

Result<std::shared_ptr<const DeviceBuffer>> EmulatedDevice::upload(std::span<const std::byte> bytes, void *) const {
  return std::shared_ptr<const DeviceBuffer>(std::make_shared<HostBuffer>(bytes));
}

std::string findingsText(const std::vector<emulator::Finding> &findings, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(most, findings.size()); ++i)
    text += fmt::format("{}  {}", i ? "\n" : "", findings[i].text());
  if (findings.size() > most)
    text += fmt::format("\n  and {} more", findings.size() - most);
  return text;
}

} // namespace attnc

// The limits of "Compute Capabilities" in the CUDA programming guide, and the allocation
// units of its occupancy calculator, which are the same from sm_80 to sm_120.
#include "runtime/cuda/Occupancy.h"

#include <algorithm>
#include <string>

namespace attnc::cuda {
namespace {

constexpr uint32_t kKiB = 1024;
constexpr SmLimits kLimits[] = {
    {80, 2048, 32, 164 * kKiB, 163 * kKiB},  {86, 1536, 16, 100 * kKiB, 99 * kKiB},
    {89, 1536, 24, 100 * kKiB, 99 * kKiB},   {90, 2048, 32, 228 * kKiB, 227 * kKiB},
    {100, 2048, 32, 228 * kKiB, 227 * kKiB}, {120, 1536, 24, 100 * kKiB, 99 * kKiB},
};

constexpr uint32_t kWarp = 32, kMaxThreads = 1024, kMaxRegisters = 255;
constexpr uint32_t kPartitions = 4, kPartitionRegisters = 16384, kRegisterUnit = 256; // a warp's
constexpr uint32_t kSharedUnit = 128, kSharedReserved = kKiB;                         // a block's

constexpr uint32_t roundUp(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

} // namespace

const SmLimits *limitsOf(int sm) {
  for (const SmLimits &limits : kLimits)
    if (limits.sm == sm)
      return &limits;
  return nullptr;
}

Result<Occupancy> occupancyOf(int sm, uint32_t registers, uint32_t sharedBytes, uint32_t threads) {
  const SmLimits *limits = limitsOf(sm);
  if (!limits)
    return Error{ErrorCode::Unsupported, "occupancy of sm_" + std::to_string(sm) + " is not known"};
  if (threads == 0 || threads > kMaxThreads)
    return Error{ErrorCode::InvalidArgument, "a block of " + std::to_string(threads) + " threads"};
  const uint32_t warps = (threads + kWarp - 1) / kWarp;
  Occupancy occupancy;
  occupancy.maxWarps = limits->threads / kWarp;

  const uint32_t warpRegisters = roundUp(std::max(registers, 1U) * kWarp, kRegisterUnit);
  const uint32_t byRegisters =
      registers > kMaxRegisters ? 0 : kPartitionRegisters / warpRegisters * kPartitions / warps;
  const uint32_t byShared = sharedBytes > limits->blockSharedBytes
                                ? 0
                                : limits->sharedBytes / roundUp(sharedBytes + kSharedReserved, kSharedUnit);
  const std::pair<uint32_t, const char *> bounds[] = {{occupancy.maxWarps / warps, "threads"},
                                                      {byRegisters, "registers"},
                                                      {byShared, "shared memory"},
                                                      {limits->blocks, "blocks"}};
  const auto *least = std::min_element(std::begin(bounds), std::end(bounds),
                                       [](const auto &a, const auto &b) { return a.first < b.first; });
  occupancy.blocks = least->first;
  occupancy.warps = occupancy.blocks * warps;
  occupancy.limit = least->second;
  return occupancy;
}

} // namespace attnc::cuda

// Addresses of PTX are host addresses. NOLINTBEGIN(performance-no-int-to-ptr)
#include "runtime/emulator/MemoryAccess.h"

#include <algorithm>
#include <cstdio>

#include "runtime/emulator/Lanes.h"

namespace attnc::emulator {

namespace {

constexpr uint64_t kWavefrontBytes = 128;

const char *verb(AccessKind kind) {
  return kind == AccessKind::Read ? "read" : kind == AccessKind::Write ? "write" : "atomic access";
}

std::string hexadecimal(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string describeAgent(const Cta &cta, int agent) {
  const int warps = int(cta.warps.size());
  if (agent < warps)
    return "warp " + std::to_string(agent);
  if (agent < 2 * warps)
    return "cp.async of warp " + std::to_string(agent - warps);
  if (agent == cta.bulkAgent() || agent >= cta.readers())
    return "a bulk copy";
  return "wgmma of warpgroup " + std::to_string(agent - cta.bulkAgent() - 1);
}

bool isAligned(Warp &warp, const Instruction &i, int lane, uint64_t address, uint32_t alignment, const char *space) {
  if (address % alignment == 0)
    return true;
  warp.cta->machine->report(FindingKind::Misaligned, warp, lane, i,
                            std::string(space) + " address " + hexadecimal(address) + " is not a multiple of " +
                                std::to_string(alignment));
  return false;
}

} // namespace

void reportVerdict(Warp &warp, const Instruction &i, int lane, bool isWrite, int agent,
                   const SharedShadow::Verdict &verdict) {
  using enum SharedShadow::Problem;
  Machine &machine = *warp.cta->machine;
  const std::string what = std::string(isWrite ? "write of" : "read of") + " shared byte " +
                           std::to_string(verdict.address) + " by " + describeAgent(*warp.cta, agent);
  switch (verdict.problem) {
  case None:
    return;
  case Uninitialised:
    return machine.report(FindingKind::UninitialisedShared, warp, lane, i, what + ": nothing was written there");
  case Lanes:
    return machine.report(FindingKind::LaneRace, warp, lane, i,
                          what + " follows a write by lane " + std::to_string(verdict.other) +
                              " of the same warp without bar.warp.sync");
  case AfterWrite:
  case AfterRead: {
    const bool isOwnCopy = agent == warp.index && verdict.other == warp.cta->copyAgent(warp);
    return machine.report(isOwnCopy ? FindingKind::AsyncNotAwaited : FindingKind::SharedRace, warp, lane, i,
                          what + " is not ordered after the " + (verdict.problem == AfterWrite ? "write" : "read") +
                              " by " + describeAgent(*warp.cta, verdict.other));
  }
  }
}

bool checkShared(Warp &warp, const Instruction &i, const SharedShadow::Access &access, uint64_t address, uint32_t bytes,
                 bool isWrite) {
  Cta &cta = *warp.cta;
  const int lane = access.lane == SharedShadow::kManyLanes ? 0 : access.lane;
  if (address > cta.shared.size() || bytes > cta.shared.size() - address) {
    cta.machine->report(FindingKind::OutOfBounds, warp, lane, i,
                        std::string("shared ") + (isWrite ? "write" : "read") + " of " + std::to_string(bytes) +
                            " bytes at " + hexadecimal(address) + ", the CTA has " + std::to_string(cta.shared.size()));
    return false;
  }
  if (!warp.isChecked)
    return true;
  const SharedShadow::Verdict verdict =
      isWrite ? cta.shadow.write(access, uint32_t(address), bytes) : cta.shadow.read(access, uint32_t(address), bytes);
  if (verdict.problem != SharedShadow::Problem::None)
    reportVerdict(warp, i, lane, isWrite, access.agent, verdict);
  return true;
}

uint8_t *sharedBytes(Warp &warp, const Instruction &i, int lane, uint64_t address, uint32_t bytes, AccessKind kind,
                     uint32_t alignment) {
  if (!isAligned(warp, i, lane, address, alignment, "shared") ||
      !checkShared(warp, i, warp.access(lane), address, bytes, kind == AccessKind::Write))
    return nullptr;
  return warp.cta->shared.data() + address;
}

uint8_t *globalBytes(Warp &warp, const Instruction &i, int lane, uint64_t address, uint32_t bytes, AccessKind kind,
                     uint32_t alignment) {
  Machine &machine = *warp.cta->machine;
  GlobalMemory::Region *region = machine.memory.find(address, bytes);
  if (region == nullptr) {
    machine.report(FindingKind::OutOfBounds, warp, lane, i,
                   std::string("global ") + verb(kind) + " of " + std::to_string(bytes) + " bytes at " +
                       hexadecimal(address) + ", " + machine.memory.describe(address));
    return nullptr;
  }
  if (!isAligned(warp, i, lane, address, alignment, "global"))
    return nullptr;
  if (kind != AccessKind::Read) {
    if (!region->isWritable) {
      // A strong load comes here as an atomic access; it writes nothing.
      if (i.kind == InstructionClass::GlobalLoad)
        return reinterpret_cast<uint8_t *>(address);
      machine.report(FindingKind::ReadOnlyWrite, warp, lane, i,
                     "write at " + hexadecimal(address) + ", " + machine.memory.describe(address) +
                         ", which is read-only");
      return nullptr;
    }
    if (kind == AccessKind::Write && warp.isChecked)
      if (const int64_t other = machine.memory.noteWrite(*region, address, bytes, warp.cta->linear); other >= 0)
        machine.report(FindingKind::WriteConflict, warp, lane, i,
                       "CTA " + std::to_string(other) + " has also written " + machine.memory.describe(address));
  }
  return reinterpret_cast<uint8_t *>(address);
}

uint8_t *localBytes(Warp &warp, const Instruction &i, int lane, uint64_t address, uint32_t bytes, uint32_t alignment) {
  const uint64_t frame = warp.local.size() / kLanes;
  if (address > frame || bytes > frame - address) {
    warp.cta->machine->report(FindingKind::OutOfBounds, warp, lane, i,
                              "local access of " + std::to_string(bytes) + " bytes at " + hexadecimal(address) +
                                  ", a lane has " + std::to_string(frame));
    return nullptr;
  }
  if (!isAligned(warp, i, lane, address, alignment, "local"))
    return nullptr;
  return warp.local.data() + frame * uint64_t(lane) + address;
}

uint8_t *genericBytes(Warp &warp, const Instruction &i, int lane, uint64_t address, uint32_t bytes, AccessKind kind,
                      uint32_t alignment) {
  if (address - kSharedWindow < kWindowBytes)
    return sharedBytes(warp, i, lane, address - kSharedWindow, bytes, kind, alignment);
  if (address - kLocalWindow < kWindowBytes)
    return localBytes(warp, i, lane, address - kLocalWindow, bytes, alignment);
  return globalBytes(warp, i, lane, address, bytes, kind, alignment);
}

void countWavefronts(Profile &profile, const uint64_t *addresses, uint32_t mask, uint32_t bytes) {
  // So many neighbouring lanes move 128 bytes; words that several lanes name count once. Lanes
  // of 8 or 16 bytes are aligned to them, so the unit of a conflict is theirs, not the word.
  const int group = bytes <= 4 ? kLanes : std::max(1, int(kLanes * 4 / bytes));
  const uint64_t unit = bytes == 8 || bytes == 16 ? bytes : 4;
  const uint64_t banks = kWavefrontBytes / unit;
  for (int first = 0; first < kLanes; first += group) {
    // The different units of each bank; mostly there is one, and the search is short.
    uint64_t units[kWavefrontBytes / 4][kLanes];
    int perBank[kWavefrontBytes / 4] = {};
    int most = 0, different = 0;
    for (int lane = first; lane < first + group; ++lane) {
      if ((mask & kLaneBits.bit[lane]) == 0)
        continue;
      for (uint64_t at = addresses[lane] / unit; at <= (addresses[lane] + bytes - 1) / unit; ++at) {
        uint64_t *const known = units[at % banks];
        int &count = perBank[at % banks];
        if (count == kLanes || std::find(known, known + count, at) != known + count)
          continue;
        known[count++] = at;
        ++different;
        most = std::max(most, count);
      }
    }
    profile.idealSharedWavefronts += (uint64_t(different) * unit + kWavefrontBytes - 1) / kWavefrontBytes;
    profile.sharedWavefronts += uint64_t(most);
  }
}

void countSectors(Profile &profile, const uint64_t *addresses, uint32_t mask, uint32_t bytes) {
  uint64_t sectors[2 * kLanes];
  int count = 0;
  forLanes(mask, [&](int lane) {
    sectors[count++] = addresses[lane] / 32;
    if ((addresses[lane] + bytes - 1) / 32 != sectors[count - 1])
      sectors[count++] = (addresses[lane] + bytes - 1) / 32;
  });
  std::sort(sectors, sectors + count);
  ++profile.globalRequests;
  profile.globalSectors += uint64_t(std::unique(sectors, sectors + count) - sectors);
}

} // namespace attnc::emulator
// NOLINTEND(performance-no-int-to-ptr)

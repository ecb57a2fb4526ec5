// Instructions that the four warps of a warpgroup run together.
#pragma once

#include "runtime/emulator/Hopper.h"
#include "runtime/emulator/WarpCollectives.h"

namespace attnc::emulator {

inline constexpr int kWarpsOfGroup = 4;

void wakeWarpgroup(Warp *warps);

// Runs `action` on the group when its last warp is here; the others wait till then. The group
// goes on if it returns true, and otherwise when somebody wakes it.
template <typename Action> Flow meetWarpgroup(Warp &warp, const Instruction &i, uint32_t mask, Action action) {
  Cta &cta = *warp.cta;
  if (!isWholeWarp(warp, i, mask))
    return Flow::Next;
  const auto index = size_t(warp.index) / kWarpsOfGroup;
  Warpgroup &group = cta.hopper->warpgroups[index];
  if (group.arrived > 0 && group.at != &i)
    cta.machine->report(FindingKind::BarrierMisuse, warp, 0, i,
                        "the warps of a warpgroup are at different instructions of it");
  group.at = &i;
  warp.state = Warp::State::Blocked;
  warp.waitingAt = &i;
  if (++group.arrived < kWarpsOfGroup)
    return Flow::Block;
  group.arrived = 0;
  Warp *const warps = &cta.warps[index * kWarpsOfGroup];
  if (action(group, warps))
    wakeWarpgroup(warps);
  ++cta.machine->events;
  return Flow::Block;
}

} // namespace attnc::emulator

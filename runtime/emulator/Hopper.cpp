#include "runtime/emulator/Hopper.h"

#include "runtime/emulator/Warpgroups.h"

namespace attnc::emulator {

namespace {

// Under the policy that lands copies late: rounds of all warps after which one lands though
// others still make progress.
constexpr int kLongestDelay = 64;

} // namespace

Cta::Cta() = default;
Cta::Cta(Cta &&) noexcept = default;
Cta::~Cta() = default;

void wakeWarpgroup(Warp *warps) {
  for (int k = 0; k < kWarpsOfGroup; ++k)
    if (warps[k].state == Warp::State::Blocked && warps[k].waitingBarrier < 0) {
      warps[k].state = Warp::State::Ready;
      warps[k].waitingAt = nullptr;
    }
}

void startHopper(Cta &cta) {
  if (cta.hopper == nullptr)
    cta.hopper = std::make_unique<HopperState>();
  *cta.hopper = HopperState();
  cta.hopper->groups.resize(cta.warps.size());
  cta.hopper->warpgroups.resize((cta.warps.size() + 3) / 4);
}

bool stepHopper(Cta &cta) {
  HopperState &hopper = *cta.hopper;
  if (hopper.copies.empty())
    return false;
  Machine &machine = *cta.machine;
  if (machine.options.async == AsyncPolicy::Random) {
    if (machine.flip())
      landBulkCopy(cta, machine.random() % hopper.copies.size());
    return true;
  }
  const bool isSilent = machine.events == hopper.eventsSeen;
  hopper.eventsSeen = machine.events;
  if (!isSilent && ++hopper.roundsWaited < kLongestDelay)
    return true;
  hopper.roundsWaited = 0;
  landBulkCopy(cta, 0);
  hopper.eventsSeen = machine.events;
  return true;
}

} // namespace attnc::emulator

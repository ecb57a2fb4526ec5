#include "runtime/emulator/WgmmaRegisters.h"

#include <algorithm>

#include "runtime/emulator/Hopper.h"

namespace attnc::emulator {

namespace {

const WgmmaAccess &accessOf(const Machine &machine, const Instruction &i) {
  return machine.program->wgmmaAccesses[size_t(&i - machine.program->code.data())];
}

std::string registerText(const Machine &machine, int index) {
  return "register " + machine.program->wgmmaNames[size_t(index)];
}

// The time up to which the warpgroup's products have been waited for.
uint32_t doneTime(const Warp &warp) { return warp.cta->hopper->warpgroups[size_t(warp.index) / 4].done; }

} // namespace

void checkWgmmaRegisters(Warp &warp, const Instruction &i) {
  Machine &machine = *warp.cta->machine;
  const WgmmaAccess &access = accessOf(machine, i);
  if (access.isProduct)
    return;
  const uint32_t done = doneTime(warp);
  WgmmaRegister handedOn;
  for (int index : access.reads) {
    const WgmmaRegister &state = warp.wgmmaRegisters[size_t(index)];
    handedOn.fencesBefore = std::max(handedOn.fencesBefore, state.fencesBefore);
    if (state.isResult && state.busyUntil > handedOn.busyUntil)
      handedOn.busyUntil = state.busyUntil, handedOn.isResult = true;
    if (!access.isMove && state.isResult && state.busyUntil > done)
      machine.report(FindingKind::AsyncNotAwaited, warp, 0, i,
                     registerText(machine, index) + " is read before a wgmma.wait_group covers the product it is of");
  }
  for (int index : access.writes) {
    WgmmaRegister &state = warp.wgmmaRegisters[size_t(index)];
    if (!access.isMove && state.busyUntil > done)
      machine.report(FindingKind::AsyncNotAwaited, warp, 0, i,
                     registerText(machine, index) + " is written while a wgmma may still use it");
    state = access.isMove ? handedOn : WgmmaRegister{warp.wgmmaFences, 0, false};
  }
}

void startProduct(Warp &warp, const Instruction &i, uint32_t time) {
  Machine &machine = *warp.cta->machine;
  const WgmmaAccess &access = accessOf(machine, i);
  if (warp.wgmmaFences == 0)
    machine.report(FindingKind::MissingFence, warp, 0, i, "no wgmma.fence comes before the first product");
  for (int index : access.reads) {
    WgmmaRegister &state = warp.wgmmaRegisters[size_t(index)];
    if (state.fencesBefore == warp.wgmmaFences)
      machine.report(FindingKind::MissingFence, warp, 0, i,
                     registerText(machine, index) + " was written after the last wgmma.fence");
    state.busyUntil = time;
    state.isResult = false;
  }
  for (int index : access.writes)
    warp.wgmmaRegisters[size_t(index)] = {-1, time, true};
}

} // namespace attnc::emulator

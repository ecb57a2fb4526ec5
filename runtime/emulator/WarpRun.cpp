// Lanes that diverge become fragments, each with its program counter. The lowest one runs until
// it meets the next, and then they are one again: code is laid out so that paths join at higher
// addresses, and a loop is left last by those that iterate most.
#include "runtime/emulator/WarpRun.h"

#include <algorithm>
#include <climits>

#include "runtime/emulator/Lanes.h"

namespace attnc::emulator {

void Warp::park(Fragment fragment) {
  const auto at = std::ranges::lower_bound(others, fragment.pc, {}, &Fragment::pc);
  if (at != others.end() && at->pc == fragment.pc)
    at->mask |= fragment.mask;
  else
    others.insert(at, fragment);
}

void Warp::takeLowest() {
  pc = others.front().pc;
  active = others.front().mask;
  others.erase(others.begin());
}

void Warp::moveTo(uint32_t mask, int32_t target) {
  if (mask == active) {
    pc = target;
    return;
  }
  park({target, mask});
  active &= ~mask;
  ++pc;
}

void Warp::endLanes(uint32_t mask) {
  live &= ~mask;
  active &= ~mask;
}

namespace {

// Registers that no path has surely written. Moves hand the state on, anything else must not
// read what was never written.
void checkDefined(Warp &warp, const Instruction &i, uint32_t mask) {
  Machine &machine = *warp.cta->machine;
  const auto pc = size_t(&i - machine.program->code.data());
  const TrackedAccess &access = machine.program->tracked[pc];
  uint32_t defined = kAllLanes;
  for (int index : access.reads) {
    const uint32_t state = warp.defined[size_t(index)];
    defined &= state;
    if (!access.isMove && (mask & ~state) != 0)
      machine.report(FindingKind::UninitialisedRegister, warp, firstLane(mask & ~state), i,
                     "register " + machine.program->trackedNames[size_t(index)] + " was never written");
  }
  for (int index : access.writes) {
    uint32_t &state = warp.defined[size_t(index)];
    state = (state & ~mask) | (mask & (access.isMove && access.reads.size() == 1 ? defined : kAllLanes));
  }
}

void checkTracked(Warp &warp, const Instruction &i, uint32_t mask) {
  const Program &program = *warp.cta->machine->program;
  if (!program.tracked.empty())
    checkDefined(warp, i, mask);
  if (!program.wgmmaAccesses.empty())
    checkWgmmaRegisters(warp, i);
}

} // namespace

Stop runWarp(Warp &warp, uint64_t budget) {
  Machine &machine = *warp.cta->machine;
  const Instruction *const code = machine.program->code.data();
  uint64_t *const counts = machine.counts.data();
  const uint64_t start = budget;
  Stop stop = Stop::Budget;
  while (budget > 0) {
    if (!warp.others.empty() && warp.others.front().pc <= warp.pc) {
      const Fragment next = warp.others.front();
      if (next.pc == warp.pc) {
        warp.active |= next.mask;
        warp.others.erase(warp.others.begin());
      } else {
        const Fragment current = {warp.pc, warp.active};
        warp.takeLowest();
        warp.park(current);
      }
      continue;
    }
    const Instruction &i = code[warp.pc];
    --budget;
    ++counts[warp.pc];
    uint32_t mask = warp.active;
    if (i.guard >= 0)
      mask &= i.isGuardNegated ? ~warp.registers[i.guard] : warp.registers[i.guard];
    if (mask == 0) {
      ++warp.pc;
      continue;
    }
    if (i.isTracked && warp.isChecked)
      checkTracked(warp, i, mask);
    const Flow flow = i.handler(warp, i, mask);
    if (flow == Flow::Next) {
      ++warp.pc;
      continue;
    }
    if (flow == Flow::Jump)
      continue;
    if (flow == Flow::Block) {
      ++warp.pc;
      if (warp.state == Warp::State::Ready)
        continue; // its own arrival was the last
      stop = Stop::Blocked;
      break;
    }
    if (flow == Flow::Yield) {
      ++warp.pc;
      stop = Stop::Yielding;
      break;
    }
    // Exit: the remaining lanes go on.
    if (machine.isStopped) {
      stop = Stop::Done;
      break;
    }
    if (warp.active != 0) {
      ++warp.pc;
    } else if (!warp.others.empty()) {
      warp.takeLowest();
    } else {
      warp.state = Warp::State::Done;
      stop = Stop::Done;
      break;
    }
  }
  machine.executed += start - budget;
  return stop;
}

} // namespace attnc::emulator

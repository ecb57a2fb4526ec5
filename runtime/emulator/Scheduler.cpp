#include "runtime/emulator/Scheduler.h"

#include <algorithm>
#include <bit>
#include <list>
#include <numeric>

#include "runtime/emulator/AsyncCopies.h"
#include "runtime/emulator/Barriers.h"
#include "runtime/emulator/Hopper.h"
#include "runtime/emulator/WarpRun.h"

namespace attnc::emulator {

namespace {

constexpr uint64_t kQuantum = 8192; // of a warp, without a seed
constexpr uint64_t kMaxRandomQuantum = 96;
constexpr int kSilentRounds = 32;           // without any event, before a livelock is looked for
constexpr uint64_t kLongestCycle = 1 << 14; // instructions of a waiting loop that is recognised

uint64_t specialValue(const Machine &machine, const Cta &cta, int warp, int lane, const Preset &preset) {
  const Launch &launch = *machine.launch;
  const Program &program = *machine.program;
  const uint32_t thread = uint32_t(warp * kLanes + lane);
  const auto &block = launch.block;
  using enum Special;
  switch (preset.special) {
  case Constant:
    return preset.value;
  case ParameterAddress:
    return reinterpret_cast<uint64_t>(machine.parameters) + preset.value;
  case VariableAddress:
    return machine.variableAddresses[size_t(preset.index)] + preset.value;
  case DynamicShared:
    return program.dynamicSharedOffset + preset.value;
  case TidX:
    return thread % block[0];
  case TidY:
    return thread / block[0] % block[1];
  case TidZ:
    return thread / block[0] / block[1];
  case NtidX:
  case NtidY:
  case NtidZ:
    return block[size_t(preset.special) - size_t(NtidX)];
  case CtaidX:
  case CtaidY:
  case CtaidZ:
    return cta.id[size_t(preset.special) - size_t(CtaidX)];
  case NctaidX:
  case NctaidY:
  case NctaidZ:
    return launch.grid[size_t(preset.special) - size_t(NctaidX)];
  case Laneid:
    return uint64_t(lane);
  case Warpid:
    return uint64_t(warp);
  case Nwarpid:
    return cta.warps.size();
  case Smid:
  case Gridid:
    return 0;
  case Nsmid:
    return 1;
  case LanemaskEq:
    return 1U << lane;
  case LanemaskLt:
    return (1U << lane) - 1;
  case LanemaskLe:
    return (2U << lane) - 1;
  case LanemaskGe:
    return ~((1U << lane) - 1);
  case LanemaskGt:
    return ~((2U << lane) - 1);
  case DynamicSharedBytes:
    return launch.dynamicSharedBytes;
  case TotalSharedBytes:
    return cta.shared.size();
  }
}

void presetRegisters(const Machine &machine, Warp &warp) {
  for (const Preset &preset : machine.program->presets) {
    if (preset.bits == 1) {
      warp.registers[preset.slot] = uint32_t(preset.value);
      continue;
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint64_t value = specialValue(machine, *warp.cta, warp.index, lane, preset);
      if (preset.bits > 32)
        warp.doubleWords(preset.slot)[lane] = value;
      else
        warp.words(preset.slot)[lane] = uint32_t(value);
    }
  }
}

// CTAs are reused: their memory would otherwise be faulted in anew each time.
void startCta(Machine &machine, Cta &cta, uint32_t linear) {
  const Launch &launch = *machine.launch;
  const Program &program = *machine.program;
  const uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  const size_t warps = (threads + kLanes - 1) / kLanes;
  cta.machine = &machine;
  cta.linear = linear;
  cta.id = {linear % launch.grid[0], linear / launch.grid[0] % launch.grid[1],
            linear / launch.grid[0] / launch.grid[1]};
  // Memory is dirty on a device; a pattern that is a NaN in every float type shows its use.
  cta.shared.assign(program.dynamicSharedOffset + launch.dynamicSharedBytes, 0xff);
  cta.warps.resize(warps);
  cta.liveWarps = int(warps);
  const size_t stride = size_t(program.registerWords + 15) / 16 * 16;
  cta.registers.resize(stride * warps + 16);
  const size_t misaligned = reinterpret_cast<uintptr_t>(cta.registers.data()) / 4 % 16;
  uint32_t *const base = cta.registers.data() + (16 - misaligned) % 16;
  const size_t agents = size_t(cta.agents());
  for (size_t index = 0; index < warps; ++index) {
    Warp &warp = cta.warps[index];
    warp.cta = &cta;
    warp.index = int(index);
    warp.registers = base + stride * index;
    warp.pc = 0;
    const uint32_t first = uint32_t(index) * kLanes;
    warp.live = warp.active = threads - first >= kLanes ? kAllLanes : (1U << (threads - first)) - 1;
    warp.others.clear();
    warp.state = Warp::State::Ready;
    warp.carries = 0;
    warp.epoch = 1;
    warp.isChecked = machine.options.check;
    warp.waitingAt = nullptr;
    warp.waitingBarrier = -1;
    warp.clock.assign(agents, 0);
    warp.clock[index] = 1;
    warp.defined.assign(size_t(program.trackedRegisters), 0);
    warp.wgmmaRegisters.assign(program.wgmmaNames.size(), {});
    warp.wgmmaFences = 0;
    warp.local.assign(size_t(program.localBytes) * kLanes, 0xff);
    warp.copies.pending.clear();
    warp.copies.groups.clear();
    warp.copies.uncommitted = 0;
    warp.copies.issued = 0;
    presetRegisters(machine, warp);
  }
  for (Barrier &barrier : cta.barriers) {
    barrier = Barrier();
    barrier.clock.assign(agents, 0);
  }
  if (machine.options.check)
    cta.shadow.reset(uint32_t(cta.shared.size()), cta.readers());
  startHopper(cta);
}

void endWarp(Cta &cta) {
  --cta.liveWarps;
  ++cta.machine->events;
  for (int index = 0; index < int(cta.barriers.size()); ++index)
    if (cta.barriers[size_t(index)].countsAll)
      releaseIfComplete(cta, index);
}

// --- when nothing moves ---

void reportDeadlock(const Cta &cta, const std::string &why) {
  Machine &machine = *cta.machine;
  const Warp *first = nullptr;
  std::string message = why;
  for (const Warp &warp : cta.warps) {
    if (warp.state == Warp::State::Done)
      continue;
    if (first == nullptr)
      first = &warp;
    const size_t pc = size_t(warp.waitingAt != nullptr ? warp.waitingAt - machine.program->code.data() : warp.pc);
    const Program::Origin &origin = machine.program->origins[pc];
    message += "; warp " + std::to_string(warp.index) +
               (warp.state == Warp::State::Blocked ? " waits at line " : " is at line ") + std::to_string(origin.line) +
               " '" + origin.text + "'";
  }
  if (first == nullptr)
    return;
  const Instruction &at = first->waitingAt != nullptr ? *first->waitingAt : machine.program->code[size_t(first->pc)];
  machine.report(FindingKind::Deadlock, *first, 0, at, message);
}

// Whether the warp, left alone, comes back to exactly where it is: then it waits for somebody.
bool isCycling(Warp &warp) {
  Machine &machine = *warp.cta->machine;
  const uint64_t events = machine.events;
  const int32_t pc = warp.pc;
  const uint32_t active = warp.active;
  const std::vector<Fragment> others = warp.others;
  const auto words = size_t(machine.program->registerWords);
  const std::vector<uint32_t> registers(warp.registers, warp.registers + words);
  for (uint64_t step = 0; step < kLongestCycle; ++step) {
    const Stop stop = runWarp(warp, 1);
    if ((stop != Stop::Budget && stop != Stop::Yielding) || machine.events != events)
      return false;
    if (warp.pc == pc && warp.active == active && std::equal(registers.begin(), registers.end(), warp.registers) &&
        std::ranges::equal(others, warp.others,
                           [](Fragment x, Fragment y) { return x.pc == y.pc && x.mask == y.mask; }))
      return true;
  }
  return false;
}

class Grid {
public:
  explicit Grid(Machine &machine) : machine(machine) {}

  void run() {
    const auto &grid = machine.launch->grid;
    const uint32_t total = grid[0] * grid[1] * grid[2];
    const uint32_t resident =
        machine.options.residentCtas <= 0 ? total : std::min(total, uint32_t(machine.options.residentCtas));
    std::vector<uint32_t> order;
    if (machine.options.seed != 0) {
      order.resize(total);
      std::iota(order.begin(), order.end(), 0U);
      std::shuffle(order.begin(), order.end(), machine.random);
    }
    uint32_t next = 0;
    const auto start = [&](Cta &cta) {
      startCta(machine, cta, order.empty() ? next : order[next]);
      ++next;
    };
    for (uint32_t i = 0; i < resident; ++i)
      start(running.emplace_back());
    while (!running.empty() && !machine.isStopped) {
      const uint64_t events = machine.events;
      bool hasMoved = false;
      for (auto cta = running.begin(); cta != running.end() && !machine.isStopped;) {
        hasMoved |= runRound(*cta);
        if (cta->liveWarps > 0) {
          ++cta;
        } else if (next < total) {
          start(*cta++);
        } else {
          cta = running.erase(cta);
        }
      }
      if (machine.isStopped)
        break;
      watch(hasMoved, events);
    }
  }

private:
  // Each ready warp of the CTA once, for its quantum. False if none was ready.
  bool runRound(Cta &cta) {
    bool hasMoved = stepHopper(cta);
    const size_t count = cta.warps.size();
    const bool isRandom = machine.options.seed != 0;
    const size_t shift = isRandom ? machine.random() % count : 0;
    for (size_t k = 0; k < count && !machine.isStopped; ++k) {
      Warp &warp = cta.warps[(k + shift) % count];
      if (warp.state != Warp::State::Ready)
        continue;
      if (isRandom && count > 1 && machine.random() % 4 == 0) {
        hasMoved = true; // its turn comes in a later round
        continue;
      }
      hasMoved = true;
      if (machine.options.async == AsyncPolicy::Random)
        landSomeCopy(warp);
      uint64_t quantum = kQuantum;
      if (isRandom)
        quantum = 1 + machine.random() % kMaxRandomQuantum;
      else if (machine.options.async == AsyncPolicy::Random)
        quantum = kMaxRandomQuantum;
      if (runWarp(warp, quantum) == Stop::Done && warp.state == Warp::State::Done)
        endWarp(cta);
    }
    return hasMoved;
  }

  // Stops the launch when no warp can move or all that move only wait.
  void watch(bool hasMoved, uint64_t eventsBefore) {
    if (running.empty())
      return;
    if (!hasMoved)
      return stop("no warp can go on");
    if (machine.executed > machine.options.maxInstructions)
      return stop("the launch has run more than " + std::to_string(machine.options.maxInstructions) +
                  " warp instructions");
    silentRounds = machine.events == eventsBefore ? silentRounds + 1 : 0;
    if (silentRounds < patience)
      return;
    silentRounds = 0;
    for (Cta &cta : running)
      for (Warp &warp : cta.warps)
        if (warp.state == Warp::State::Ready && !isCycling(warp)) {
          if (warp.state == Warp::State::Done)
            endWarp(cta);
          patience = std::min(patience * 2, 1 << 20);
          return;
        }
    const uint32_t total = machine.launch->grid[0] * machine.launch->grid[1] * machine.launch->grid[2];
    stop(running.size() < total && machine.options.residentCtas > 0
             ? "all warps that can run repeat the same loop without end (they may wait for a CTA that is not resident)"
             : "all warps that can run repeat the same loop without end");
  }

  void stop(const std::string &why) {
    for (const Cta &cta : running)
      reportDeadlock(cta, why);
    machine.isStopped = true;
  }

  Machine &machine;
  std::list<Cta> running;
  int silentRounds = 0;
  int patience = kSilentRounds;
};

} // namespace

void runGrid(Machine &machine) { Grid(machine).run(); }

} // namespace attnc::emulator

// The state of a launch: machine, CTAs, warps. Handlers change it; Scheduler.cpp runs it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/emulator/Emulator.h"
#include "runtime/emulator/GlobalMemory.h"
#include "runtime/emulator/Program.h"
#include "runtime/emulator/SharedShadow.h"
#include "runtime/emulator/TensorCore.h"
#include "runtime/emulator/WgmmaRegisters.h"

namespace attnc::emulator {

struct Cta;
struct Machine;
struct HopperState; // mbarriers, bulk copies and warpgroups of a CTA

inline constexpr uint32_t kAllLanes = 0xffffffff;

// Generic addresses of shared and local memory. Bit 56 is never set in a host pointer.
inline constexpr uint64_t kSharedWindow = uint64_t(1) << 56;
inline constexpr uint64_t kLocalWindow = (uint64_t(1) << 56) + (uint64_t(1) << 40);
inline constexpr uint64_t kWindowBytes = uint64_t(1) << 32;

// Lanes that share a program counter.
struct Fragment {
  int32_t pc = 0;
  uint32_t mask = 0;
};

// The copies that one cp.async starts, with the clock of that moment.
struct AsyncBatch {
  std::array<uint64_t, kLanes> source;
  std::array<uint32_t, kLanes> target;
  std::array<uint8_t, kLanes> sourceBytes;
  uint32_t mask = 0;
  uint8_t bytes = 0;
  const Instruction *instruction = nullptr;
  std::vector<uint32_t> clock;
  bool hasLanded = false;
};

// cp.async of one warp: batches in order of issue, the first ones grouped by commits.
struct AsyncCopies {
  std::deque<AsyncBatch> pending;
  std::deque<size_t> groups; // sizes of the committed groups, oldest first
  size_t uncommitted = 0;
  std::vector<AsyncBatch> spare; // keeps its memory for the next
  uint32_t issued = 0;           // the engine's clock
};

struct Warp {
  enum class State : uint8_t { Ready, Blocked, Done };

  Cta *cta = nullptr;
  uint32_t *registers = nullptr;
  int index = 0;
  int32_t pc = 0;
  uint32_t active = 0;          // lanes at pc
  std::vector<Fragment> others; // the rest, by ascending pc
  uint32_t live = 0;            // lanes that have not exited
  uint32_t carries = 0;         // the condition code's carry, a bit a lane
  State state = State::Ready;
  uint32_t epoch = 1; // see SharedShadow
  bool isChecked = false;
  const Instruction *waitingAt = nullptr;
  uint32_t waitingMask = 0;
  int waitingBarrier = -1;
  std::vector<uint32_t> clock;   // one entry an agent
  std::vector<uint32_t> defined; // by tracked register, a bit a lane
  std::vector<WgmmaRegister> wgmmaRegisters;
  int32_t wgmmaFences = 0;
  std::vector<uint8_t> local; // lanes' frames one after the other
  AsyncCopies copies;

  uint32_t *words(int32_t slot) { return registers + slot; }
  uint64_t *doubleWords(int32_t slot) { return reinterpret_cast<uint64_t *>(registers + slot); }
  float *floats(int32_t slot) { return reinterpret_cast<float *>(registers + slot); }
  uint32_t &predicate(int32_t slot) { return registers[slot]; }
  // What a predicate source says, all lanes.
  uint32_t predicateOf(int32_t slot, bool isNegated) const { return isNegated ? ~registers[slot] : registers[slot]; }
  void setPredicate(int32_t slot, uint32_t bits, uint32_t mask) {
    if (slot >= 0)
      registers[slot] = (registers[slot] & ~mask) | (bits & mask);
  }
  SharedShadow::Access access(int lane) const { return {index, clock.data(), lane, epoch}; }

  // --- fragments (Scheduler.cpp) ---
  void moveTo(uint32_t mask, int32_t target); // the others go on to pc + 1
  void endLanes(uint32_t mask);
  void park(Fragment fragment);
  void takeLowest(); // makes `others`' first the current fragment
};

struct Barrier {
  uint32_t expectedWarps = 0;
  uint32_t arrivals = 0;     // 0: not in use
  uint64_t arrivedWarps = 0; // a bit each
  uint64_t waiting = 0;
  bool countsAll = false; // all live warps, whatever their number becomes
  std::vector<uint32_t> clock;
  // Of bar.red.
  uint32_t trueThreads = 0, threads = 0;
};

struct Cta {
  Machine *machine = nullptr;
  std::array<uint32_t, 3> id = {};
  uint32_t linear = 0;
  std::vector<uint8_t> shared;
  SharedShadow shadow;
  std::vector<Warp> warps;
  std::vector<uint32_t> registers; // of all warps
  std::array<Barrier, 16> barriers;
  std::unique_ptr<HopperState> hopper;
  int liveWarps = 0;

  Cta();
  Cta(Cta &&) noexcept;
  ~Cta();

  int copyAgent(const Warp &warp) const { return int(warps.size()) + warp.index; }
  int bulkAgent() const { return 2 * int(warps.size()); }
  int warpgroupAgent(int group) const { return bulkAgent() + 1 + group; }
  int readers() const { return bulkAgent() + 1 + (int(warps.size()) + 3) / 4; }
  // Copies into shared memory, which only write. One agent for each of a few mbarriers: what a
  // wait for one copy tells of another that some other mbarrier counts is nothing.
  static constexpr int kLoadAgents = 8;
  int loadAgent(uint32_t mbarrier) const { return readers() + int(mbarrier / 8 % kLoadAgents); }
  int agents() const { return readers() + kLoadAgents; }
};

struct Machine {
  const Program *program = nullptr;
  const Launch *launch = nullptr;
  Options options;
  GlobalMemory memory;
  std::vector<uint8_t> parameterStorage;
  uint8_t *parameters = nullptr; // aligned for tensor maps
  std::vector<uint64_t> variableAddresses;
  std::vector<std::unique_ptr<uint8_t[]>> variables;
  std::vector<uint64_t> counts; // executions by pc
  Profile profile;
  std::vector<Finding> findings;
  std::set<std::pair<const Instruction *, FindingKind>> reported;
  std::mt19937_64 random{0};
  uint64_t executed = 0;
  uint64_t events = 0; // whatever another warp could be waiting for
  bool isStopped = false;
  TensorCoreRounding rounding = TensorCoreRounding::Fma;

  bool hasReported(const Instruction &instruction, FindingKind kind) const {
    return reported.contains({&instruction, kind});
  }
  void report(FindingKind kind, const Warp &warp, int lane, const Instruction &instruction, std::string message);
  bool flip() { return random() & 1; }
};

} // namespace attnc::emulator

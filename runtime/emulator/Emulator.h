// Runs PTX on the processor: a warp at a time, thirty-two lanes wide, with the checks that a
// device does not make. Global addresses are host pointers and must lie in the regions that
// the caller names. A clean run is evidence, not proof: see README.md for what is not modelled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnc/Status.h"

namespace attnc::emulator {

// A parsed and decoded PTX text. Cheap to copy, safe to share between threads.
class Module {
public:
  // Unsupported, with the instruction and its PTX line, for a form that the emulator does not
  // know; InvalidArgument for text that is not PTX.
  static Result<Module> parse(std::string_view ptx);

  std::vector<std::string> kernels() const;

  struct State;
  const State &state() const { return *shared; }

private:
  explicit Module(std::shared_ptr<const State> decoded) : shared(std::move(decoded)) {}

  std::shared_ptr<const State> shared;
};

// When an asynchronous copy takes effect: as late as its waits allow, at once, or anywhere
// between by the seed. A correct kernel gives the same bits under each.
enum class AsyncPolicy { Latest, Eager, Random };

// How the tensor cores add: a chain of fused multiply-adds, or what was measured on A100 and
// on H100. No one of them is all devices' bits.
enum class TensorCoreRounding { Fma, Ampere, Hopper };

struct Options {
  bool check = true;
  AsyncPolicy async = AsyncPolicy::Latest;
  uint64_t seed = 0;    // not zero: permutes the order of CTAs and of warps
  int residentCtas = 1; // CTAs that run round-robin at once; 0 for all of them
  bool profile = true;
  uint64_t maxInstructions = 1ull << 40; // of warps; beyond it the launch counts as stuck
  TensorCoreRounding rounding = TensorCoreRounding::Fma;
};

// Memory a kernel may touch. `data` stays the caller's.
struct MemoryRegion {
  std::string name;
  void *data = nullptr;
  size_t bytes = 0;
  bool isWritable = false;
};

struct Launch {
  std::string kernel;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::array<uint32_t, 3> block = {1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  std::vector<std::vector<std::byte>> arguments; // one a kernel parameter, of its exact size
};

enum class FindingKind {
  OutOfBounds,
  Misaligned,
  ReadOnlyWrite,
  UninitialisedShared,
  UninitialisedRegister,
  SharedRace,      // accesses of two warps, or of a warp and a copy, without an order
  LaneRace,        // accesses of two lanes of a warp without a bar.warp.sync between
  GlobalRace,      // two lanes of one store write different values to one word
  WriteConflict,   // two CTAs write one word
  FloatAtomic,     // the sum depends on the order
  AsyncNotAwaited, // a warp touches what its own copy or product has not been waited for
  MissingFence,    // wgmma uses registers that were written after the last wgmma.fence
  BarrierDivergence,
  BarrierMisuse,
  PartialWarp, // a collective instruction without all its lanes
  Deadlock,
  Trap,
};

const char *nameOf(FindingKind kind);

struct SourceLine {
  std::string file; // empty where the PTX carries no lines
  int line = 0;
};

struct Finding {
  FindingKind kind;
  std::string kernel;
  std::array<uint32_t, 3> cta = {};
  int warp = 0;
  int lane = 0;
  int ptxLine = 0;
  SourceLine source;
  std::string message; // what happened, with the address and the instruction

  std::string text() const; // all of it in one line
};

enum class InstructionClass : uint8_t {
  Integer,
  Float,
  Special, // ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh
  Move,
  Convert,
  Compare,
  Select,
  Mma,
  Wgmma,
  LoadMatrix,
  StoreMatrix,
  SharedAccess,
  GlobalLoad,
  GlobalStore,
  Atomic,
  AsyncCopy,
  BulkCopy,
  Shuffle, // and votes
  Barrier,
  Mbarrier,
  Branch,
  Parameter,
  Local,
  Other,
};
inline constexpr int kInstructionClasses = int(InstructionClass::Other) + 1;

const char *nameOf(InstructionClass instructionClass);

struct Profile {
  uint64_t warpInstructions = 0;
  std::array<uint64_t, kInstructionClasses> byClass = {};
  uint64_t sharedWavefronts = 0; // 128-byte passes, with the bank conflicts
  uint64_t idealSharedWavefronts = 0;
  uint64_t globalRequests = 0;
  uint64_t globalSectors = 0; // of 32 bytes
  uint64_t barriers = 0;      // arrivals of warps

  uint64_t count(InstructionClass instructionClass) const { return byClass[size_t(instructionClass)]; }
};

struct Report {
  std::vector<Finding> findings; // one for an instruction and a kind, the first seen
  Profile profile;
};

// Runs one launch to its end. Errors are those of the call: an unknown kernel, arguments that
// do not fit, shapes no device takes. What the kernel does wrong is a finding: the faulty access
// is not performed (a load gives zero) and the run goes on, but for a deadlock, which ends it.
Result<Report> run(const Module &module, const Launch &launch, std::span<const MemoryRegion> memory,
                   const Options &options = {});

} // namespace attnc::emulator

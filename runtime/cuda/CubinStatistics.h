// What a compiled kernel consists of, counted without running it: registers and memory, the
// instructions by mnemonic and class, and its loops. Counts are of the code, once each,
// not of an execution; they find regressions (a spill, a mask that was not peeled off, an
// unexpected conversion) and say nothing about time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attnc/Status.h"
#include "runtime/cuda/Sass.h"

namespace attnc::cuda {

// Instructions by mnemonic, where NOPs and the endless branch behind the code are left out.
struct InstructionCounts {
  uint32_t total = 0;
  uint32_t stall = 0; // the sum of the cycles that each asks to wait for the next
  std::map<std::string, uint32_t> byMnemonic;
  std::array<uint32_t, kInstructionClasses> byClass = {};

  uint32_t operator[](const std::string &mnemonic) const;
  uint32_t operator[](InstructionClass kind) const { return byClass[static_cast<size_t>(kind)]; }
};

// From the target of backward branches to the last of them, inner loops included.
struct LoopStatistics {
  uint32_t first = 0; // indices of instructions
  uint32_t last = 0;
  uint32_t depth = 1; // 2 inside one other loop
  InstructionCounts counts;
};

struct KernelStatistics {
  std::string name;
  int sm = 0;
  uint32_t registers = 0;
  uint32_t sharedBytes = 0; // static
  uint32_t stackBytes = 0;
  uint32_t barriers = 0;
  uint32_t parameterBytes = 0;
  uint32_t maxThreads = 0; // 0: no __launch_bounds__
  uint32_t codeBytes = 0;
  // LDL and STL: of spills, or of arrays that the kernel indexes. Bytes of a lane.
  uint32_t localLoads = 0, localLoadBytes = 0;
  uint32_t localStores = 0, localStoreBytes = 0;
  uint32_t forwardBranches = 0, indirectBranches = 0;
  InstructionCounts counts;
  std::vector<LoopStatistics> loops; // by first instruction, outer before inner
};

struct CubinReport {
  int sm = 0;
  std::vector<KernelStatistics> kernels;
};

// Errors as parseCubin's (Cubin.h).
Result<CubinReport> readCubin(std::string_view bytes);

// A table for people: resources, occupancy for `threads` (0: the kernel's launch bounds, else
// left out) and `dynamicSharedBytes`, then a column for the kernel and for each loop of more
// than a few instructions.
std::string describe(const KernelStatistics &kernel, uint32_t threads = 0, uint32_t dynamicSharedBytes = 0);

} // namespace attnc::cuda

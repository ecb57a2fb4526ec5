// How many warps of a kernel an SM can hold, from the limits that NVIDIA publishes for each
// generation. An upper bound: it says nothing about speed.
#pragma once

#include <cstdint>

#include "attnc/Status.h"

namespace attnc::cuda {

struct SmLimits {
  int sm;
  uint32_t threads;          // resident on an SM
  uint32_t blocks;           // resident on an SM
  uint32_t sharedBytes;      // of an SM
  uint32_t blockSharedBytes; // a block may ask for, above 48 KiB by opting in
};

// Null for a generation that is not in the table.
const SmLimits *limitsOf(int sm);

struct Occupancy {
  uint32_t blocks = 0;    // resident on an SM; 0 where not even one fits
  uint32_t warps = 0;     // blocks times the block's warps
  uint32_t maxWarps = 0;  // of an SM
  const char *limit = ""; // what is used up first: "registers", "shared memory", "threads", "blocks"
};

// `sharedBytes` is static and dynamic shared memory of a block of `threads`.
// InvalidArgument for no threads or more than 1024, Unsupported for an unknown generation.
Result<Occupancy> occupancyOf(int sm, uint32_t registers, uint32_t sharedBytes, uint32_t threads);

} // namespace attnc::cuda

// How large a launch is: blocks of the grid, threads of a block, dynamic shared memory.
#pragma once

#include <array>
#include <cstdint>

namespace attnc::cuda {

struct LaunchShape {
  std::array<uint32_t, 3> grid{1, 1, 1};
  uint32_t threads = 1;     // of a block, along x
  uint32_t sharedBytes = 0; // dynamic, of a block
};

} // namespace attnc::cuda

// The block lists of a call in the form that CUDA kernels read: for each slice (batches and
// heads that are masked alike share one) and each block of query rows, runs of tiles.
#pragma once

#include <cstddef>
#include <vector>

#include "codegen/cuda/device/abi.cuh"
#include "runtime/TileRuns.h"

namespace attnc {

struct TileCounts {
  int64_t total = 0, visited = 0, partial = 0;
};

// One block of memory, so that one copy brings it to a device.
struct PackedBlockLists {
  std::vector<std::byte> bytes;
  size_t offsetsAt = 0, runsAt = 0; // slices lie at 0
  TileCounts tiles;
};

// `mask` decides which batches and heads share lists; its tiles and those of the kernel
// need not be the same size. Unsupported where the lists would have 2^31 runs.
Result<PackedBlockLists> packBlockLists(const Problem &problem, const BlockMask &mask, int blockM, int blockN);

// Without lists: every tile of every block.
TileCounts countAllTiles(const Problem &problem, int blockM, int blockN, bool isPartial);

} // namespace attnc

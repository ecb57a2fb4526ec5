// Which tiles of keys a block of query rows visits, in the form that a kernel takes, and
// how they fall into splits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attnc/BlockMask.h"
#include "codegen/cpu/KernelAbi.h"

namespace attnc {

// Runs are in ascending order and do not overlap.
using RunList = std::vector<cpu::TileRun>;

int64_t tileCount(const RunList &runs);
int64_t partialCount(const RunList &runs);

// Tiles that either list visits; a tile is full where each list that has rows says so, that
// is where both visit it as full.
void uniteRuns(const RunList &a, const RunList &b, RunList &into);

// Where runs come from: a block mask, or none (every tile full).
class TileSource {
public:
  // `mask` may be null; its tiles hold `tileKeys` keys or a multiple. Without `skipsEmpty`
  // every tile is visited, as a partial one.
  TileSource(const Problem &problem, int tileKeys, const BlockMask *mask, bool skipsEmpty);

  // Of rows [firstRow, firstRow + rowCount) of one (batch, head). The blocks of the mask
  // need not be those of the task: runs of all blocks that hold a row are united.
  void runs(int64_t batch, int64_t head, int64_t firstRow, int64_t rowCount, RunList &into, RunList &spare) const;
  int64_t tiles() const { return kvTiles; }               // of one block, visited or not
  bool isUniform() const { return !mask || !skipsEmpty; } // every block has the same runs

private:
  void blockRuns(int64_t batch, int64_t head, int64_t block, RunList &into) const;
  void markTail(RunList &runs) const;

  const BlockMask *const mask;
  const bool skipsEmpty;
  const int64_t kvTiles;
  const bool hasPartialTail; // the last tile has fewer keys than a tile
  const int32_t refinement;  // tiles in one of the mask's
};

// Calls body(splitIndex, runs) for each split of `splitTiles` tiles that has any, upward.
template <typename Body> void forEachSplit(const RunList &runs, int64_t splitTiles, RunList &scratch, Body body) {
  scratch.clear();
  int64_t split = -1;
  for (cpu::TileRun run : runs) {
    while (run.count > 0) {
      const int64_t current = run.first / splitTiles;
      if (current != split) {
        if (!scratch.empty())
          body(split, scratch);
        scratch.clear();
        split = current;
      }
      const int64_t room = (current + 1) * splitTiles - run.first;
      const int32_t count = static_cast<int32_t>(std::min<int64_t>(run.count, room));
      scratch.push_back({run.first, count, run.isPartial});
      run.first += count;
      run.count -= count;
    }
  }
  if (!scratch.empty())
    body(split, scratch);
}

} // namespace attnc

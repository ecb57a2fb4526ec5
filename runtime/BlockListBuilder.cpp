#include "runtime/BlockListBuilder.h"

#include <cstring>

namespace attnc {

namespace {

int64_t blocksOf(int64_t length, int block) { return (length + block - 1) / block; }

class Builder {
public:
  Builder(const Problem &problem, const BlockMask &mask, int blockM, int blockN)
      : problem(problem), mask(mask), blockM(blockM), tiles(problem, blockN, &mask, /*skipsEmpty=*/true),
        blocks(blocksOf(problem.queryLength, blockM)), listOf(mask.sliceCount(), -1) {}

  Result<PackedBlockLists> build() {
    for (int64_t batch = 0; batch < problem.batch; ++batch)
      for (int64_t head = 0; head < problem.heads; ++head) {
        int &list = listOf[mask.slice(batch, head)];
        if (list < 0) {
          list = static_cast<int>(perList.size());
          addList(batch, head);
        }
        slices.push_back(list);
        counts.total += blocks * tiles.tiles();
        counts.visited += perList[list].visited;
        counts.partial += perList[list].partial;
      }
    if (runs.size() > size_t(INT32_MAX))
      return Error{ErrorCode::Unsupported, "block lists: the mask has more than 2^31 runs; use larger blocks"};
    return pack();
  }

private:
  void addList(int64_t batch, int64_t head) {
    TileCounts count;
    offsets.push_back(static_cast<int32_t>(runs.size()));
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t first = block * blockM;
      tiles.runs(batch, head, first, std::min<int64_t>(blockM, problem.queryLength - first), found, spare);
      for (const cpu::TileRun &run : found)
        runs.push_back({run.first, run.count << 1 | static_cast<int>(run.isPartial)});
      offsets.push_back(static_cast<int32_t>(runs.size()));
      count.visited += tileCount(found);
      count.partial += partialCount(found);
    }
    perList.push_back(count);
  }

  PackedBlockLists pack() const {
    PackedBlockLists packed;
    auto append = [&](const auto &list) {
      const size_t at = (packed.bytes.size() + 15) / 16 * 16;
      packed.bytes.resize(at + list.size() * sizeof(list[0]));
      if (!list.empty())
        std::memcpy(packed.bytes.data() + at, list.data(), list.size() * sizeof(list[0]));
      return at;
    };
    append(slices);
    packed.offsetsAt = append(offsets);
    packed.runsAt = append(runs);
    packed.tiles = counts;
    return packed;
  }

  const Problem &problem;
  const BlockMask &mask;
  const int blockM;
  const TileSource tiles;
  const int64_t blocks;
  std::vector<int> listOf; // of the mask's slices
  std::vector<TileCounts> perList;
  std::vector<int32_t> slices, offsets;
  std::vector<attnc_device::Run> runs;
  RunList found, spare;
  TileCounts counts;
};

} // namespace

Result<PackedBlockLists> packBlockLists(const Problem &problem, const BlockMask &mask, int blockM, int blockN) {
  return Builder(problem, mask, blockM, blockN).build();
}

TileCounts countAllTiles(const Problem &problem, int blockM, int blockN, bool isPartial) {
  const int64_t blocks = problem.batch * problem.heads * blocksOf(problem.queryLength, blockM);
  const int64_t total = blocks * blocksOf(problem.kvLength, blockN);
  const int64_t tails = problem.kvLength % blockN ? blocks : 0;
  return {total, total, isPartial ? total : tails};
}

} // namespace attnc

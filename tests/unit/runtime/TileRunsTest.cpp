// Runs of tiles: uniting them and cutting them at splits, against a plain list of tiles.
#include <map>
#include <random>

#include "runtime/TileRuns.h"
#include "gtest/gtest.h"

using namespace attnc;

// Tile -> is it partial.
using Tiles = std::map<int, bool>;

static Tiles expand(const RunList &runs) {
  Tiles tiles;
  for (const cpu::TileRun &run : runs)
    for (int i = 0; i < run.count; ++i)
      tiles[run.first + i] = run.isPartial;
  return tiles;
}

static RunList randomRuns(std::mt19937 &random) {
  RunList runs;
  for (int at = random() % 4; at < 60;) {
    int count = 1 + random() % 9;
    runs.push_back({at, count, static_cast<int64_t>(random() % 2)});
    at += count + random() % 5;
  }
  if (random() % 8 == 0)
    runs.clear();
  return runs;
}

// A tile is visited if either visits it, and full only if both do so as full.
TEST(TileRuns, uniteFollowsItsDefinition) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const RunList a = randomRuns(random), b = randomRuns(random);
    Tiles expected;
    for (const auto &[tile, isPartial] : expand(a)) {
      auto other = expand(b);
      expected[tile] = isPartial || !other.count(tile) || other[tile];
    }
    for (const auto &[tile, isPartial] : expand(b))
      expected.emplace(tile, true);
    RunList united;
    uniteRuns(a, b, united);
    ASSERT_EQ(expand(united), expected);
    ASSERT_EQ(tileCount(united), static_cast<int64_t>(expected.size()));
    for (size_t i = 1; i < united.size(); ++i)
      ASSERT_GE(united[i].first, united[i - 1].first + united[i - 1].count) << "not ascending";
  }
}

// Splits come in ascending order, hold the tiles of their range and no other, lose none.
TEST(TileRuns, splitsCoverAllTilesInOrder) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const RunList runs = randomRuns(random);
    const int64_t splitTiles = 1 + random() % 20;
    Tiles seen;
    int64_t last = -1;
    RunList scratch;
    forEachSplit(runs, splitTiles, scratch, [&](int64_t split, const RunList &part) {
      ASSERT_GT(split, last);
      last = split;
      ASSERT_FALSE(part.empty());
      for (const auto &[tile, isPartial] : expand(part)) {
        ASSERT_EQ(tile / splitTiles, split);
        ASSERT_TRUE(seen.emplace(tile, isPartial).second);
      }
    });
    ASSERT_EQ(seen, expand(runs));
  }
}

TEST(TileRuns, withoutMaskAllTilesAreFullButTheTail) {
  for (int64_t kvLength : {0, 1, 63, 64, 65, 128, 1000}) {
    Problem problem;
    problem.kvLength = kvLength;
    RunList runs, spare;
    TileSource(problem, 64, nullptr, true).runs(0, 0, 0, 1, runs, spare);
    Tiles expected;
    for (int tile = 0; tile * 64 < kvLength; ++tile)
      expected[tile] = (tile + 1) * 64 > kvLength;
    EXPECT_EQ(expand(runs), expected) << kvLength;
    TileSource(problem, 64, nullptr, false).runs(0, 0, 0, 1, runs, spare);
    EXPECT_EQ(partialCount(runs), static_cast<int64_t>(expected.size())) << "every tile is masked";
  }
}

// Tiles of a mask that hold several of the kernel's: each stands for all that have a key.
TEST(TileRuns, tilesOfMaskAreRefined) {
  auto causal =
      Variant::fromIr("attn.variant @plain {\n  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {\n"
                      "    %0 = arith.cmpi sge, %q_idx, %kv_idx : i32\n    attn.yield %0 : i1\n  }\n}\n");
  ASSERT_TRUE(causal.ok()) << causal.error().message;
  for (int64_t kvLength : {33, 64, 100, 128, 129}) {
    const Problem problem{.queryLength = 128, .kvLength = kvLength};
    auto mask = BlockMask::create(*causal, problem, {}, 32, 64);
    ASSERT_TRUE(mask.ok()) << mask.error().message;
    for (int64_t block = 0; block < 4; ++block) {
      RunList fine, spare;
      TileSource(problem, 32, &*mask, true).runs(0, 0, block * 32, 32, fine, spare);
      Tiles expected;
      const BlockMask::Runs marked = mask->runs(0, 0, block);
      for (const BlockRun *run = marked.begin; run != marked.end; ++run)
        for (int tile = 2 * run->first; tile < 2 * (run->first + run->count); ++tile)
          if (tile * 32 < kvLength)
            expected[tile] = !run->isFull || (tile + 1) * 32 > kvLength;
      EXPECT_EQ(expand(fine), expected) << "keys " << kvLength << ", block " << block;
    }
  }
}

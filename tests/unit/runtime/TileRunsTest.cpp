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
    TileSource(problem, nullptr, true).runs(0, 0, 0, 1, runs, spare);
    Tiles expected;
    for (int tile = 0; tile * 64 < kvLength; ++tile)
      expected[tile] = (tile + 1) * 64 > kvLength;
    EXPECT_EQ(expand(runs), expected) << kvLength;
    TileSource(problem, nullptr, false).runs(0, 0, 0, 1, runs, spare);
    EXPECT_EQ(partialCount(runs), static_cast<int64_t>(expected.size())) << "every tile is masked";
  }
}

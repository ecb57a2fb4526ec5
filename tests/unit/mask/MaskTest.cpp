// Every tile of a block mask against dense evaluation, for the standard library's masks and
// for random ones. Numbered properties of each tile:
//   1. an empty tile keeps no pair       2. a full tile keeps every pair and has all its keys
//   3. a partial tile keeps some and drops some, or is the last one with fewer keys
//   4. runs ascend and do not overlap
#include <random>

#include "attnc/attnc.h"
#include "runtime/mask/ScalarInputs.h"
#include "runtime/mask/Tape.h"
#include "tests/support/RandomVariant.h"
#include "gtest/gtest.h"

namespace attnc::test {
namespace {

enum class Tile { Empty, Partial, Full };

// Row by row with the point evaluator; independent of intervals and tables.
std::vector<Tile> denseTiles(const Function &mask, const ScalarInputs &inputs, uint32_t batch, uint32_t head,
                             int blockM, int blockN) {
  const Problem &problem = inputs.problem();
  const int64_t rows = (problem.queryLength + blockM - 1) / blockM, columns = (problem.kvLength + blockN - 1) / blockN;
  std::vector<int64_t> kept(rows * columns), total(rows * columns);
  Tape tape(mask, inputs, {mask.result});
  Points points{batch, head, {0}, {}, static_cast<size_t>(problem.kvLength)};
  for (int64_t key = 0; key < problem.kvLength; ++key)
    points.keys.push_back(static_cast<uint32_t>(key));
  for (int64_t row = 0; row < problem.queryLength; ++row) {
    points.queries[0] = static_cast<uint32_t>(problem.queryOffset + row);
    tape.run(points);
    for (int64_t key = 0; key < problem.kvLength; ++key) {
      const int64_t tile = row / blockM * columns + key / blockN;
      kept[tile] += tape.value(mask.result, static_cast<size_t>(key));
      ++total[tile];
    }
  }
  std::vector<Tile> tiles;
  for (int64_t tile = 0; tile < rows * columns; ++tile) {
    const bool isShort = (tile % columns + 1) * blockN > problem.kvLength;
    tiles.push_back(kept[tile] == 0 ? Tile::Empty : kept[tile] == total[tile] && !isShort ? Tile::Full : Tile::Partial);
  }
  return tiles;
}

void expectExact(const Variant &variant, const Problem &problem, const Bindings &bindings, int blockM, int blockN,
                 const std::string &what) {
  auto mask = BlockMask::create(variant, problem, bindings, blockM, blockN);
  ASSERT_TRUE(mask.ok()) << what << ": " << mask.error().message;
  auto inputs = ScalarInputs::bind(variant.program(), problem, bindings);
  ASSERT_TRUE(inputs.ok());
  for (int64_t batch = 0; batch < problem.batch; ++batch)
    for (int64_t head = 0; head < problem.heads; ++head) {
      std::vector<Tile> expected(mask->queryBlocks() * mask->kvBlocks(), Tile::Full);
      if (variant.program().maskMod)
        expected = denseTiles(*variant.program().maskMod, **inputs, static_cast<uint32_t>(batch),
                              static_cast<uint32_t>(head), blockM, blockN);
      std::vector<Tile> got(expected.size(), Tile::Empty);
      for (int64_t row = 0; row < mask->queryBlocks(); ++row) {
        int64_t next = 0;
        const BlockMask::Runs runs = mask->runs(batch, head, row);
        for (const BlockRun *run = runs.begin; run != runs.end; ++run) {
          ASSERT_GE(run->first, next) << what;
          ASSERT_GT(run->count, 0) << what;
          next = run->first + run->count;
          ASSERT_LE(next, mask->kvBlocks()) << what;
          for (int64_t column = run->first; column < next; ++column)
            got[row * mask->kvBlocks() + column] = run->isFull ? Tile::Full : Tile::Partial;
        }
      }
      for (size_t tile = 0; tile < expected.size(); ++tile)
        ASSERT_EQ(static_cast<int>(got[tile]), static_cast<int>(expected[tile]))
            << what << ": batch " << batch << " head " << head << " tile " << tile / mask->kvBlocks() << ", "
            << tile % mask->kvBlocks() << "\n"
            << variant.ir();
    }
}

// Captures for a variant of the standard library: ids that ascend, lengths, random tables.
struct StdInputs {
  Bindings bindings;
  std::vector<OwnedTensor> memory;

  StdInputs(const Program &program, const Problem &problem, unsigned seed) {
    std::mt19937 random(seed);
    for (const Capture &capture : program.captures) {
      std::vector<int64_t> shape;
      for (const CaptureDim &dim : capture.dims)
        shape.push_back(dim.kind == CaptureDim::Fixed ? dim.size
                        : dim.kind == CaptureDim::Any ? 40
                        : dim.named == DimKind::B     ? problem.batch
                        : dim.named == DimKind::H     ? problem.heads
                        : dim.named == DimKind::Q     ? problem.queryLength
                                                      : problem.kvLength);
      const DType dtype = capture.type == ScalarType::F32   ? DType::F32
                          : capture.type == ScalarType::I32 ? DType::I32
                                                            : DType::Bool;
      memory.push_back(*OwnedTensor::zeros(dtype, shape));
      const TensorView &view = memory.back().view;
      int32_t id = 0;
      for (int64_t i = 0; i < view.elements(); ++i) {
        if (dtype == DType::I32) {
          id = capture.dims.size() == 1 && view.shape[0] > problem.batch ? id + (random() % 40 == 0)
                                                                         : static_cast<int32_t>(random() % 200);
          static_cast<int32_t *>(view.data)[i] = id;
        } else if (dtype == DType::Bool) {
          static_cast<uint8_t *>(view.data)[i] = random() % 4 == 0;
        }
      }
      bindings.captures.push_back({capture.name, view});
    }
    for (const Param &param : program.params)
      if (!param.defaultBits)
        bindings.params.push_back({param.name, 30});
  }
};

TEST(BlockMask, StandardLibraryIsExactOnEveryTile) {
  auto names = Variant::list("std");
  ASSERT_TRUE(names.ok());
  int masks = 0;
  for (const std::string &name : *names) {
    auto variant = Variant::load("std", name);
    ASSERT_TRUE(variant.ok()) << variant.error().message;
    if (!variant->program().maskMod)
      continue;
    ++masks;
    for (auto [queries, keys] : {std::pair(256, 256), std::pair(333, 333), std::pair(100, 517)}) {
      const Problem problem{.batch = 2,
                            .heads = 2,
                            .kvHeads = 2,
                            .queryLength = queries,
                            .kvLength = keys,
                            .headDim = 64,
                            .valueDim = 64};
      const StdInputs inputs(variant->program(), problem, 3);
      for (int block : {64, 16})
        expectExact(*variant, problem, inputs.bindings, block, block, name);
    }
  }
  EXPECT_GT(masks, 20);
}

TEST(BlockMask, RectangularBlocksAndOffsetsAreExact) {
  auto variant = Variant::load("std", "sliding_window");
  ASSERT_TRUE(variant.ok());
  const Bindings bindings{.params = {{"window", 50}}};
  for (int64_t offset : {0, 37, 200}) {
    const Problem problem{.queryLength = 90, .kvLength = 301, .headDim = 8, .valueDim = 8, .queryOffset = offset};
    for (auto [m, n] : {std::pair(16, 64), std::pair(7, 13), std::pair(128, 128)})
      expectExact(*variant, problem, bindings, m, n, "offset " + std::to_string(offset));
  }
}

TEST(BlockMask, RandomMasksAreExactOnEveryTile) {
  const unsigned seed = static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
  std::printf("seed %u (--gtest_random_seed)\n", seed);
  for (unsigned i = 0; i < 1500; ++i) {
    RandomOptions options{.batch = 2,
                          .heads = 2,
                          .queries = 40 + 13 * (i % 5),
                          .keys = 45 + 17 * (i % 4),
                          .depth = 2 + static_cast<int>(i % 4)};
    const RandomVariant made = randomVariant(seed * 7919 + i, options);
    const Problem problem{.batch = options.batch,
                          .heads = options.heads,
                          .kvHeads = options.heads,
                          .queryLength = options.queries,
                          .kvLength = options.keys,
                          .headDim = 8,
                          .valueDim = 8};
    expectExact(Variant::fromProgram(made.program), problem, made.bindings, 16, 16, "random " + std::to_string(i));
    if (HasFatalFailure())
      return;
  }
}

// Positions near the end of the 32-bit range: sums wrap, and no interval may pretend otherwise.
TEST(BlockMask, WrappingArithmeticIsExact) {
  for (const char *body :
       {"q_idx + 2147483600 > kv_idx", "(q_idx * 65536) * 65536 >= kv_idx", "-q_idx - 2147483600 < kv_idx",
        "abs(q_idx - 2147483647 - kv_idx) > 5", "(kv_idx << 28) > q_idx", "(q_idx + 2147483640) // 7 < kv_idx"}) {
    auto variant = Variant::parse("variant v { mask_mod = " + std::string(body) + "; }", "wrap.attn");
    ASSERT_TRUE(variant.ok()) << variant.error().message;
    const Problem problem{.queryLength = 120, .kvLength = 130, .headDim = 8, .valueDim = 8};
    expectExact(*variant, problem, {}, 16, 16, body);
  }
}

TEST(BlockMask, HeadsWithEqualValuesShareASlice) {
  auto variant = Variant::parse("variant v { tensor w: i32[H]; mask_mod = q_idx - kv_idx < w[h] and q_idx >= kv_idx; }",
                                "heads.attn");
  ASSERT_TRUE(variant.ok()) << variant.error().message;
  const int32_t widths[] = {8, 32, 8, 32, 8};
  const Problem problem{
      .batch = 3, .heads = 5, .kvHeads = 5, .queryLength = 256, .kvLength = 256, .headDim = 8, .valueDim = 8};
  const Bindings bindings{.captures = {{"w", TensorView::contiguous(widths, DType::I32, {5})}}};
  auto mask = BlockMask::create(*variant, problem, bindings);
  ASSERT_TRUE(mask.ok()) << mask.error().message;
  EXPECT_EQ(mask->sliceCount(), 2);
  EXPECT_EQ(mask->slice(0, 0), mask->slice(2, 4));
  EXPECT_NE(mask->slice(0, 0), mask->slice(0, 1));
  expectExact(*variant, problem, bindings, 64, 64, "per head");
}

// 1 M x 1 M: nothing of size S x S, or even blocks x blocks, may be made.
TEST(BlockMask, AMillionTokensTakeLittleMemory) {
  auto variant = Variant::load("std", "causal");
  ASSERT_TRUE(variant.ok());
  const int64_t length = 1 << 20;
  const Problem problem{.queryLength = length, .kvLength = length, .headDim = 64, .valueDim = 64};
  auto mask = BlockMask::create(*variant, problem, {}, 64, 64);
  ASSERT_TRUE(mask.ok());
  const int64_t blocks = length / 64;
  EXPECT_EQ(mask->counts().partial, blocks);
  EXPECT_EQ(mask->counts().full, blocks * (blocks - 1) / 2);
  EXPECT_LT(mask->bytes(), size_t(1) << 20);
}

TEST(BlockMask, BadInputIsAnErrorThatNamesIt) {
  auto variant = Variant::load("std", "prefix_lm");
  ASSERT_TRUE(variant.ok());
  const Problem problem{.batch = 2, .queryLength = 64, .kvLength = 64, .headDim = 8, .valueDim = 8};
  auto missing = BlockMask::create(*variant, problem, {});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("prefix_len"), std::string::npos) << missing.error().message;
  const int32_t lengths[] = {1, 2, 3};
  auto wrong = BlockMask::create(*variant, problem,
                                 {.captures = {{"prefix_len", TensorView::contiguous(lengths, DType::I32, {3})}}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("B = 2"), std::string::npos) << wrong.error().message;
  auto blocks = BlockMask::create(*variant, problem, {}, 0, 64);
  EXPECT_FALSE(blocks.ok());
}

} // namespace
} // namespace attnc::test

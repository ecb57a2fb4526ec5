// From Context to output rows with the fake kernel: values against a plain double loop, and
// equal bits whatever the launch chooses.
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "runtime/KernelState.h"
#include "tests/unit/runtime/CacheFixture.h"

using namespace attnc;
using testing::HasSubstr;

namespace {

struct Case {
  int64_t batch, heads, kvHeads, queries, keys, offset;
};

struct Tensors {
  Case sizes;
  std::vector<float> q, k, v, o, lse;

  Tensors(Case sizes, unsigned seed) : sizes(sizes) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    auto fill = [&](std::vector<float> &into, int64_t count) {
      into.resize(count);
      for (float &x : into)
        x = normal(random);
    };
    fill(q, sizes.batch * sizes.heads * sizes.queries * 8);
    fill(k, sizes.batch * sizes.kvHeads * sizes.keys * 8);
    fill(v, sizes.batch * sizes.kvHeads * sizes.keys * 4);
    poison();
  }
  void poison() {
    o.assign(sizes.batch * sizes.heads * sizes.queries * 4, NAN);
    lse.assign(sizes.batch * sizes.heads * sizes.queries, NAN);
  }
  RunArguments arguments(bool isCausal) {
    RunArguments a;
    a.query = TensorView::contiguous(q.data(), DType::F32, {sizes.batch, sizes.heads, sizes.queries, 8});
    a.key = TensorView::contiguous(k.data(), DType::F32, {sizes.batch, sizes.kvHeads, sizes.keys, 8});
    a.value = TensorView::contiguous(v.data(), DType::F32, {sizes.batch, sizes.kvHeads, sizes.keys, 4});
    a.output = TensorView::contiguous(o.data(), DType::F32, {sizes.batch, sizes.heads, sizes.queries, 4});
    a.lse = TensorView::contiguous(lse.data(), DType::F32, {sizes.batch, sizes.heads, sizes.queries});
    a.bindings.params = {{"is_causal", isCausal ? 1.0 : 0.0}};
    a.queryOffset = sizes.offset;
    return a;
  }
  // Largest distance of the outputs from a plain loop in double precision.
  double distance(bool isCausal) const {
    double worst = 0;
    for (int64_t row = 0; row < sizes.batch * sizes.heads * sizes.queries; ++row) {
      const int64_t index = row % sizes.queries, head = row / sizes.queries;
      const int64_t kvHead = head / sizes.heads * sizes.kvHeads + head % sizes.heads / (sizes.heads / sizes.kvHeads);
      double sum = 0, out[4] = {};
      for (int64_t key = 0; key < sizes.keys && (!isCausal || key <= index + sizes.offset); ++key) {
        double score = 0;
        for (int d = 0; d < 8; ++d)
          score += double(q[row * 8 + d]) * k[(kvHead * sizes.keys + key) * 8 + d];
        const double weight = std::exp(score / std::sqrt(8.0));
        sum += weight;
        for (int d = 0; d < 4; ++d)
          out[d] += weight * v[(kvHead * sizes.keys + key) * 4 + d];
      }
      for (int d = 0; d < 4; ++d)
        worst = std::max(worst, std::abs(o[row * 4 + d] - (sum == 0 ? 0 : out[d] / sum)));
      if (sum == 0)
        worst = lse[row] == -INFINITY ? worst : INFINITY;
      else
        worst = std::max(worst, std::abs(lse[row] - std::log(sum)));
      if (std::isnan(o[row * 4]) || std::isnan(lse[row]))
        return NAN;
    }
    return worst;
  }
};

// The Kernel of a Context, opened for the launch's choices.
class LaunchTest : public CacheFixture {
protected:
  std::shared_ptr<const Kernel::State> state(int splitSize, int threads) {
    options.executor = makeThreadPool(threads);
    options.cacheDir = "none";
    Context one = context();
    auto kernel = one.compile(causalVariant(), fakeOptions(splitSize));
    EXPECT_TRUE(kernel.ok());
    return kernel->internals();
  }
};

const Case kCases[] = {{1, 1, 1, 1, 1, 0},       {1, 1, 1, 1, 300, 299},  {2, 4, 2, 5, 70, 65},
                       {1, 2, 1, 100, 100, 0},   {2, 3, 3, 65, 257, 192}, {1, 4, 4, 16, 500, 484},
                       {1, 1, 1, 17, 1000, 983}, {1, 2, 2, 130, 64, 0}};

} // namespace

TEST_F(LaunchTest, matchesAPlainLoop) {
  auto kernel = state(128, 3);
  unsigned seed = std::random_device()();
  for (const Case &sizes : kCases)
    for (bool isCausal : {false, true}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " queries " << sizes.queries << " keys " << sizes.keys
                                      << " causal " << isCausal);
      Tensors tensors(sizes, seed++);
      RunArguments arguments = tensors.arguments(isCausal);
      arguments.skipEmptyTiles = isCausal; // the fake's mask is a param; the variant's is not
      RunStats stats;
      Status status = runKernel(*kernel, arguments, &stats);
      ASSERT_TRUE(status.ok()) << status.error().message;
      EXPECT_LT(tensors.distance(isCausal), 2e-5);
      EXPECT_LE(stats.tilesVisited, stats.tilesTotal);
      EXPECT_LE(stats.tilesPartial, stats.tilesVisited);
    }
}

// Threads, schedules, parallel splits and visiting empty tiles change no bit.
TEST_F(LaunchTest, choicesChangeNoBit) {
  unsigned seed = std::random_device()();
  for (const Case &sizes : kCases) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " queries " << sizes.queries << " keys " << sizes.keys);
    Tensors tensors(sizes, seed++);
    std::vector<float> expected, expectedLse;
    for (int threads : {1, 2, 7}) {
      auto kernel = state(64, threads);
      for (auto schedule : {LaunchChoices::AutoSchedule, LaunchChoices::Narrowest, LaunchChoices::Widest})
        for (auto splits : {LaunchChoices::NeverParallel, LaunchChoices::AlwaysParallel})
          for (bool skips : {true, false}) {
            tensors.poison();
            RunArguments arguments = tensors.arguments(true);
            arguments.skipEmptyTiles = skips;
            ASSERT_TRUE(runKernel(*kernel, arguments, nullptr, {schedule, splits}).ok());
            if (expected.empty()) {
              expected = tensors.o;
              expectedLse = tensors.lse;
            }
            ASSERT_EQ(std::memcmp(expected.data(), tensors.o.data(), expected.size() * 4), 0)
                << threads << " threads, schedule " << schedule << ", splits " << splits << ", skips " << skips;
            ASSERT_EQ(std::memcmp(expectedLse.data(), tensors.lse.data(), expectedLse.size() * 4), 0);
          }
    }
  }
}

// Block masks of other block heights give the same bits.
TEST_F(LaunchTest, anyBlockHeightOfTheMask) {
  Tensors tensors({1, 2, 1, 200, 333, 133}, 5);
  auto kernel = state(128, 2);
  std::vector<float> expected;
  for (int blockM : {64, 16, 128, 48, 1000}) {
    RunArguments arguments = tensors.arguments(true);
    auto mask = BlockMask::create(kernel->variant, {1, 2, 1, 200, 333, 8, 4, 133}, arguments.bindings, blockM);
    ASSERT_TRUE(mask.ok()) << mask.error().message;
    arguments.blockMask = &*mask;
    tensors.poison();
    ASSERT_TRUE(runKernel(*kernel, arguments, nullptr).ok());
    if (expected.empty())
      expected = tensors.o;
    EXPECT_EQ(std::memcmp(expected.data(), tensors.o.data(), expected.size() * 4), 0) << blockM;
  }
  EXPECT_LT(tensors.distance(true), 2e-5);
}

TEST_F(LaunchTest, emptyCallsAreFine) {
  auto kernel = state(128, 2);
  Tensors noKeys({1, 2, 2, 3, 0, 0}, 1);
  ASSERT_TRUE(runKernel(*kernel, noKeys.arguments(true), nullptr).ok());
  EXPECT_EQ(noKeys.distance(true), 0) << "zeros and -inf";
  for (Case sizes : {Case{0, 2, 2, 3, 4, 0}, Case{1, 2, 2, 0, 4, 0}, Case{1, 0, 0, 3, 4, 0}}) {
    Tensors nothing(sizes, 1);
    Status status = runKernel(*kernel, nothing.arguments(true), nullptr);
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
}

TEST_F(LaunchTest, manyThreadsRunOneKernel) {
  auto kernel = state(64, 3);
  Tensors expected({1, 2, 2, 70, 300, 230}, 9);
  ASSERT_TRUE(runKernel(*kernel, expected.arguments(true), nullptr).ok());
  std::vector<std::thread> threads;
  std::atomic<int> equal = 0;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      Tensors mine({1, 2, 2, 70, 300, 230}, 9);
      for (int j = 0; j < 20; ++j) {
        mine.poison();
        bool ok = runKernel(*kernel, mine.arguments(true), nullptr).ok();
        equal += ok && std::memcmp(mine.o.data(), expected.o.data(), mine.o.size() * 4) == 0;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(equal, 120);
}

TEST_F(LaunchTest, foreignKernelsAreCachedAndNotRun) {
  options.cacheDir = "none";
  CompileOptions foreign = fakeOptions();
#if defined(__x86_64__)
  foreign.target = "cpu:neon";
#else
  foreign.target = "cpu:avx2";
#endif
  auto kernel = context().compile(causalVariant(), foreign);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  Tensors tensors({1, 1, 1, 4, 4, 0}, 1);
  Status status = kernel->run(tensors.arguments(true));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(status.error().message, HasSubstr("which this processor does not run; compile with target \"cpu\""));
}

TEST_F(LaunchTest, statsCountTiles) {
  auto kernel = state(128, 2);
  Tensors tensors({1, 2, 2, 256, 256, 0}, 3);
  RunStats stats;
  ASSERT_TRUE(runKernel(*kernel, tensors.arguments(true), &stats).ok());
  EXPECT_EQ(stats.tilesTotal, 2 * 4 * 4);
  EXPECT_EQ(stats.tilesVisited, 2 * (1 + 2 + 3 + 4));
  EXPECT_EQ(stats.tilesPartial, 2 * 4);
  EXPECT_GT(stats.milliseconds, 0);
}

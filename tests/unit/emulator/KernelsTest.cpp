// Whole kernels through NVRTC and the emulator: right ones agree with a reference in double
// precision, give the same bits under every schedule, and no finding; seeded bugs are seen, some
// of which give right numbers under one of the policies.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>

#include "runtime/emulator/Formats.h"
#include "runtime/emulator/TensorMap.h"
#include "tests/unit/emulator/CudaFile.h"
#include "tests/unit/emulator/PtxRunner.h"

namespace attnc::emulator {

namespace {

constexpr int kDim = 64;

struct Generation {
  const char *file;
  const char *arch;
  Format format;
};
constexpr Generation kAmpere = {"ampere.cu", "sm_80", Format::F16};
constexpr Generation kHopper = {"hopper.cu", "sm_90a", Format::BF16};

// The kernel with a seeded bug, or nothing where NVRTC is not installed.
std::optional<Module> compileKernel(const Generation &generation, int bug) {
  return compileFile(generation.file, generation.arch, {"-DBUG=" + std::to_string(bug)});
}

struct Problem {
  int heads, length;
  Format format;
  std::vector<uint16_t> q, k, v;

  Problem(const Generation &generation, int heads, int length)
      : heads(heads), length(length), format(generation.format) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (auto *tensor : {&q, &k, &v}) {
      tensor->resize(size_t(heads) * length * kDim);
      for (uint16_t &x : *tensor)
        x = uint16_t(narrow(format, normal(random)));
    }
  }

  double value(const std::vector<uint16_t> &tensor, int head, int row, int column) const {
    return widen(format, tensor[(size_t(head) * length + row) * kDim + column]);
  }

  // The largest difference from attention in double precision.
  double error(const std::vector<uint16_t> &out, const std::vector<float> &lse) const {
    double worst = 0;
    for (int head = 0; head < heads; ++head)
      for (int row = 0; row < length; ++row) {
        std::vector<double> weights(length);
        double sum = 0, rowMax = -INFINITY;
        for (int key = 0; key < length; ++key) {
          for (int x = 0; x < kDim; ++x)
            weights[key] += value(q, head, row, x) * value(k, head, key, x) / 8;
          rowMax = std::max(rowMax, weights[key]);
        }
        for (double &weight : weights)
          sum += weight = std::exp(weight - rowMax);
        const auto keep = [&](double difference) { worst = difference <= worst ? worst : difference; };
        for (int x = 0; x < kDim; ++x) {
          double expected = 0;
          for (int key = 0; key < length; ++key)
            expected += weights[key] * value(v, head, key, x) / sum;
          const double actual = value(out, head, row, x);
          keep(std::isfinite(actual) ? std::fabs(expected - actual) : INFINITY);
        }
        const double actual = lse[size_t(head) * length + row];
        keep(std::isfinite(actual) ? std::fabs(rowMax + std::log(sum) - actual) : INFINITY);
      }
    return worst;
  }
};

struct Outcome {
  RunResult result;
  std::vector<uint16_t> out;
  std::vector<float> lse;
};

std::vector<std::byte> mapOf(const std::vector<uint16_t> &tensor, int rows) {
  TensorMap map;
  map.base = reinterpret_cast<uint64_t>(tensor.data());
  map.rank = 2;
  map.dims = {kDim, uint64_t(rows)};
  map.strides = {2, 2 * kDim};
  map.box = {kDim, 64};
  map.swizzle = 128;
  const auto encoded = encodeTensorMap(map);
  return encoded ? argument(*encoded) : std::vector<std::byte>();
}

Outcome runKernel(const Generation &generation, const Module &module, const Problem &problem, const Options &options) {
  Outcome outcome;
  outcome.out.resize(problem.q.size());
  outcome.lse.resize(size_t(problem.heads) * problem.length);
  Launch launch;
  launch.kernel = "forward";
  launch.grid = {uint32_t(problem.length + 63) / 64, uint32_t(problem.heads), 1};
  const float scale = 0.125F * 1.44269504F;
  if (generation.arch == kHopper.arch) {
    const int rows = problem.heads * problem.length;
    launch.block = {256, 1, 1};
    launch.dynamicSharedBytes = 1024 + 6 * 8192;
    launch.arguments = {mapOf(problem.q, rows), mapOf(problem.k, rows), mapOf(problem.v, rows),
                        mapOf(outcome.out, rows)};
  } else {
    launch.block = {128, 1, 1};
    launch.arguments = {argument(problem.q.data()), argument(problem.k.data()), argument(problem.v.data()),
                        argument(outcome.out.data())};
  }
  launch.arguments.push_back(argument(outcome.lse.data()));
  launch.arguments.push_back(argument(problem.length));
  launch.arguments.push_back(argument(scale));
  const auto region = [](const char *name, const auto &data, bool isWritable) {
    return MemoryRegion{name, const_cast<void *>(static_cast<const void *>(data.data())), data.size() * sizeof(data[0]),
                        isWritable};
  };
  const std::vector<MemoryRegion> memory = {region("q", problem.q, false), region("k", problem.k, false),
                                            region("v", problem.v, false), region("out", outcome.out, true),
                                            region("lse", outcome.lse, true)};
  Result<Report> report = run(module, launch, memory, options);
  if (report)
    outcome.result.report = *report;
  else
    outcome.result.error = report.error().message;
  return outcome;
}

void expectCorrect(const Generation &generation, std::initializer_list<int> lengths, double tolerance) {
  const auto module = compileKernel(generation, 0);
  if (!module)
    GTEST_SKIP() << "NVRTC is not installed";
  for (int length : lengths) {
    const Problem problem(generation, 2, length);
    std::vector<uint16_t> bits;
    for (const Options &options : allSchedules()) {
      const Outcome outcome = runKernel(generation, *module, problem, options);
      ASSERT_EQ(outcome.result.texts(), "") << "length " << length;
      EXPECT_LT(problem.error(outcome.out, outcome.lse), tolerance) << "length " << length;
      if (bits.empty())
        bits = outcome.out;
      EXPECT_EQ(bits, outcome.out) << "length " << length << " seed " << options.seed;
    }
  }
}

// What a seeded bug must lead to under every schedule.
struct Seeded {
  int bug;
  std::vector<FindingKind> kinds; // any of them; empty: only the numbers tell
};

void expectSeen(const Generation &generation, const Seeded &seeded, int length) {
  const auto module = compileKernel(generation, seeded.bug);
  if (!module)
    GTEST_SKIP() << "NVRTC is not installed";
  const Problem problem(generation, 1, length);
  for (const Options &options : allSchedules()) {
    const Outcome outcome = runKernel(generation, *module, problem, options);
    ASSERT_EQ(outcome.result.error, "");
    if (seeded.kinds.empty()) {
      EXPECT_EQ(outcome.result.texts(), "");
      EXPECT_GT(problem.error(outcome.out, outcome.lse), 0.1) << "bug " << seeded.bug;
      continue;
    }
    bool isSeen = false;
    for (FindingKind kind : seeded.kinds)
      isSeen |= outcome.result.has(kind);
    EXPECT_TRUE(isSeen) << "bug " << seeded.bug << "\n" << outcome.result.texts();
  }
}

class AmpereBugs : public testing::TestWithParam<Seeded> {};
class HopperBugs : public testing::TestWithParam<Seeded> {};

} // namespace

TEST(Kernels, AmpereIsCorrectUnderEverySchedule) { expectCorrect(kAmpere, {1, 63, 64, 65, 200, 300}, 2e-3); }

TEST(Kernels, HopperIsCorrectUnderEverySchedule) { expectCorrect(kHopper, {64, 128, 320}, 2e-2); }

TEST(Kernels, ProfileCountsAmpere) {
  const auto module = compileKernel(kAmpere, 0), unswizzled = compileKernel(kAmpere, 7);
  if (!module || !unswizzled)
    GTEST_SKIP() << "NVRTC is not installed";
  const Problem problem(kAmpere, 1, 256);
  const Profile profile = runKernel(kAmpere, *module, problem, {}).result.report.profile;
  // Four query tiles, four key tiles, four warps; 64 products a tile.
  EXPECT_EQ(profile.count(InstructionClass::Mma), 4U * 4 * 4 * 64);
  EXPECT_EQ(profile.count(InstructionClass::LoadMatrix), 4U * 4 * (4 * 32 + 4));
  EXPECT_EQ(profile.barriers, 4U * 4 * 4 * 2);
  EXPECT_EQ(profile.sharedWavefronts, profile.idealSharedWavefronts);
  const Outcome slow = runKernel(kAmpere, *unswizzled, problem, {});
  EXPECT_EQ(slow.result.texts(), "");
  EXPECT_GT(slow.result.report.profile.sharedWavefronts, 5 * profile.sharedWavefronts);
}

TEST(Kernels, TensorCoreModelsDifferInBitsOnly) {
  const auto module = compileKernel(kAmpere, 0);
  if (!module)
    GTEST_SKIP() << "NVRTC is not installed";
  const Problem problem(kAmpere, 1, 128);
  std::vector<std::vector<uint16_t>> bits;
  for (TensorCoreRounding rounding :
       {TensorCoreRounding::Fma, TensorCoreRounding::Ampere, TensorCoreRounding::Hopper}) {
    Options options;
    options.rounding = rounding;
    const Outcome outcome = runKernel(kAmpere, *module, problem, options);
    EXPECT_LT(problem.error(outcome.out, outcome.lse), 2e-3);
    bits.push_back(outcome.out);
  }
  EXPECT_NE(bits[0], bits[1]);
}

TEST_P(AmpereBugs, IsSeen) { expectSeen(kAmpere, GetParam(), GetParam().bug == 6 ? 70 : 200); }

TEST_P(HopperBugs, IsSeen) { expectSeen(kHopper, GetParam(), 512); }

using enum FindingKind;

const Seeded kAmpereBugs[] = {
    {1, {SharedRace}},                                       // no barrier before a stage is filled again
    {2, {UninitialisedShared, SharedRace}},                  // waits for one copy group too few
    {3, {UninitialisedShared, SharedRace}},                  // no barrier after the wait
    {4, {OutOfBounds}},                                      // rows past the end are fetched
    {5, {UninitialisedShared}},                              // the first tile of v never is
    {6, {BarrierDivergence}},                                // a barrier in a branch
    {8, {}},                                                 // fragments swapped
    {9, {UninitialisedShared, SharedRace, AsyncNotAwaited}}, // waits for no copy
    {10, {OutOfBounds}},                                     // rows past the end are stored
    {11, {WriteConflict}},                                   // all CTAs write the first rows' sums
    {12, {FloatAtomic}},                                     // sums are added up
};
INSTANTIATE_TEST_SUITE_P(Kernels, AmpereBugs, testing::ValuesIn(kAmpereBugs));

const Seeded kHopperBugs[] = {
    {1, {Deadlock}},                                  // an arrival that nobody makes
    {2, {UninitialisedShared, SharedRace}},           // the consumer does not wait
    {3, {UninitialisedShared, SharedRace}},           // too few bytes announced
    {4, {BarrierMisuse, Deadlock, SharedRace}},       // the producer does not wait
    {5, {}},                                          // a wrong stride in a descriptor
    {6, {UninitialisedShared, SharedRace}},           // stored before all have written
    {7, {Deadlock}},                                  // the producer waits for the wrong parity
    {8, {UninitialisedShared, SharedRace, Deadlock}}, // the consumer does
    {9, {UninitialisedShared, SharedRace}},           // no bytes announced
    {10, {Misaligned}},                               // a box at 16 bytes past its place
    {11, {MissingFence}},                             // no wgmma.fence
    {12, {AsyncNotAwaited}},                          // no wgmma.commit_group
    {13, {AsyncNotAwaited, SharedRace}},              // no wgmma.wait_group
    {14, {Deadlock}},                                 // one warp of four gives its registers back
    {15, {WriteConflict}},                            // all CTAs write the first rows' sums
};
INSTANTIATE_TEST_SUITE_P(Kernels, HopperBugs, testing::ValuesIn(kHopperBugs));

} // namespace attnc::emulator

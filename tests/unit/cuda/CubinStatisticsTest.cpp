// Counts in cubins that NVRTC makes here agree with what the kernels were written to hold
// and with what ptxas says about them, on every generation.
#include "runtime/cuda/CubinStatistics.h"

#include <gmock/gmock.h>

#include <regex>

#include "runtime/cuda/Nvrtc.h"

namespace attnc::cuda {
namespace {

using testing::HasSubstr;

constexpr const char *kArches[] = {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"};

// A tile loop like an attention kernel's: the asm volatile instructions appear as often as
// written, whatever the optimiser does with the rest.
constexpr const char *kTile = R"(
#define MMA(i) asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" \
  : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[0]), "r"(r[1]));
extern "C" __global__ void __launch_bounds__(128) tile(float *out, const char *in, int n) {
  __shared__ __align__(16) char s[8192];
  float c[4][4] = {};
  unsigned r[4], at = static_cast<unsigned>(__cvta_generic_to_shared(s)) + threadIdx.x * 16;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(in + i * 16) : "memory");
    asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
    MMA(0) MMA(1) MMA(2) MMA(3) MMA(0)
    asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(c[0][0]));
    asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(c[1][0]));
    asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, -1;" : "+f"(c[2][0]));
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      out[(i * 4 + j) * 128 + threadIdx.x] = c[i][j];
}
)";

constexpr const char *kSpilling = R"(
extern "C" __global__ void __maxnreg__(32) spilling(float *out, const float *in, int n) {
  float v[100];
  for (int k = 0; k < 100; ++k) v[k] = in[k * n];
  for (int r = 0; r < n; ++r)
    for (int k = 0; k < 100; ++k) v[k] = v[k] * v[(k * 7 + 3) % 100] + v[(k + 1) % 100];
  for (int k = 0; k < 100; ++k) out[k] = v[k];
}
)";

class CubinStatisticsTest : public testing::TestWithParam<const char *> {
protected:
  // The report on the only kernel of `text`, and ptxas's words about it.
  void compile(const char *text) {
    const auto nvrtc = Nvrtc::open();
    if (!nvrtc)
      GTEST_SKIP() << "no NVRTC on this machine";
    if (!(*nvrtc)->checkArch(GetParam()))
      GTEST_SKIP() << "this NVRTC does not know " << GetParam();
    const auto options = std::vector<std::string>{std::string("--gpu-architecture=") + GetParam(), "--ptxas-options=-v",
                                                  "-default-device"};
    const auto result = (*nvrtc)->compile(text, "kernel.cu", options, NvrtcOutput::Cubin);
    ASSERT_TRUE(result) << result.error().message;
    const auto report = readCubin(result->binary);
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_EQ(report->kernels.size(), 1U);
    EXPECT_EQ(report->sm, std::atoi(GetParam() + 3));
    kernel = report->kernels[0];
    log = result->log;
  }

  // The number before `words` in ptxas's log; 0 where it does not speak of them.
  uint32_t said(const std::string &words) const {
    std::smatch match;
    return std::regex_search(log, match, std::regex("(\\d+) " + words)) ? std::stoul(match[1]) : 0;
  }
  void agreesWithPtxas() const {
    EXPECT_NE(kernel.registers, 0U);
    EXPECT_THAT(log, HasSubstr("Used " + std::to_string(kernel.registers) + " registers"));
    EXPECT_EQ(kernel.sharedBytes, said("bytes smem")) << log;
    EXPECT_EQ(kernel.barriers, said("barriers")) << log;
    EXPECT_EQ(kernel.stackBytes, said("bytes stack frame")) << log;
    EXPECT_EQ(kernel.localStoreBytes, said("bytes spill stores")) << log;
    EXPECT_EQ(kernel.localLoadBytes, said("bytes spill loads")) << log;
  }

  KernelStatistics kernel;
  std::string log;
};

TEST_P(CubinStatisticsTest, CountsWhatWasWritten) {
  compile(kTile);
  if (IsSkipped() || HasFatalFailure())
    return;
  EXPECT_EQ(kernel.name, "tile");
  EXPECT_EQ(kernel.maxThreads, 128U);
  agreesWithPtxas();
  const LoopStatistics *loop = nullptr;
  for (const LoopStatistics &candidate : kernel.loops)
    if (candidate.counts["HMMA"] > 0)
      loop = &candidate;
  ASSERT_NE(loop, nullptr);
  for (const InstructionCounts *counts : {static_cast<const InstructionCounts *>(&kernel.counts), &loop->counts}) {
    EXPECT_EQ((*counts)["HMMA"], 5U);
    EXPECT_EQ((*counts)[InstructionClass::Tensor], 5U);
    EXPECT_EQ((*counts)["LDSM"], 1U);
    EXPECT_EQ((*counts)["LDGSTS"], 1U);
    EXPECT_EQ((*counts)["MUFU"], 2U);
    EXPECT_EQ((*counts)["SHFL"], 1U);
    EXPECT_EQ((*counts)["BAR"], 1U);
  }
  EXPECT_EQ(kernel.counts["STG"], 16U);
  EXPECT_EQ(loop->counts["STG"], 0U);
  EXPECT_EQ(kernel.counts["EXIT"], 1U);
  EXPECT_EQ(kernel.counts[InstructionClass::Unknown], 0U);
  const std::string text = describe(kernel, 0, 16384);
  EXPECT_THAT(text, HasSubstr("blocks of 128 threads with 16384 B dynamic shared memory"));
  EXPECT_THAT(text, HasSubstr("HMMA"));
}

TEST_P(CubinStatisticsTest, SpillsAreCountedToTheByte) {
  compile(kSpilling);
  if (IsSkipped() || HasFatalFailure())
    return;
  agreesWithPtxas();
  EXPECT_GT(kernel.localStores, 0U);
  EXPECT_GT(kernel.localLoads, 0U);
  EXPECT_EQ(kernel.localStores + kernel.localLoads, kernel.counts[InstructionClass::Local]);
  EXPECT_EQ(kernel.counts["FFMA"], 100U);
  EXPECT_EQ(kernel.counts["STG"], 100U);
}

INSTANTIATE_TEST_SUITE_P(Arches, CubinStatisticsTest, testing::ValuesIn(kArches),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace attnc::cuda

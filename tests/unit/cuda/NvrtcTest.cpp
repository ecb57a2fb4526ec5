// NVRTC where there is one: what it compiles, and what it says when it cannot.
#include "runtime/cuda/Nvrtc.h"

#include <gmock/gmock.h>

namespace attnc::cuda {
namespace {

using testing::HasSubstr;

constexpr const char *kAxpy = "extern \"C\" __global__ void axpy(float *y, const float *x, float a) {\n"
                              "  y[threadIdx.x] = y[threadIdx.x] + a * x[threadIdx.x];\n}\n";

class NvrtcTest : public testing::Test {
protected:
  void SetUp() override {
    auto opened = Nvrtc::open();
    if (!opened)
      GTEST_SKIP() << "no NVRTC on this machine";
    nvrtc = *opened;
  }
  std::shared_ptr<const Nvrtc> nvrtc;
};

TEST(NvrtcMissing, SaysWhereItLookedAndWhatToInstall) {
  auto opened = Nvrtc::open("/nonexistent/libnvrtc.so.13");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::NotFound);
  EXPECT_THAT(opened.error().message, HasSubstr("/nonexistent/libnvrtc.so.13"));
  EXPECT_THAT(opened.error().message, HasSubstr("nvidia-cuda-nvrtc"));
}

TEST_F(NvrtcTest, PtxKeepsEveryRounding) {
  auto result = nvrtc->compile(kAxpy, "axpy.cu", Nvrtc::kernelOptions("sm_80", NvrtcOutput::Ptx), NvrtcOutput::Ptx);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result->binary, HasSubstr(".entry axpy"));
  EXPECT_THAT(result->binary, HasSubstr("mul.rn.f32"));
  EXPECT_THAT(result->binary, HasSubstr("add.rn.f32"));
  EXPECT_THAT(result->binary, Not(HasSubstr("fma")));
}

TEST_F(NvrtcTest, CubinIsElfAndTheLogNamesRegisters) {
  auto result = nvrtc->compile(kAxpy, "axpy.cu", Nvrtc::kernelOptions("sm_80", NvrtcOutput::Cubin), NvrtcOutput::Cubin);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->binary.substr(0, 4), "\177ELF");
  EXPECT_THAT(result->log, HasSubstr("registers"));
}

TEST_F(NvrtcTest, ErrorsCarryTheLogWithFileAndLine) {
  auto result = nvrtc->compile("__global__ void k() { undefined(); }", "bad.cu",
                               Nvrtc::kernelOptions("sm_80", NvrtcOutput::Ptx), NvrtcOutput::Ptx);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::Internal);
  EXPECT_THAT(result.error().message, HasSubstr("bad.cu(1)"));
}

TEST_F(NvrtcTest, UnknownArchesAreNamed) {
  EXPECT_TRUE(nvrtc->checkArch("sm_80").ok());
  EXPECT_TRUE(nvrtc->checkArch("sm_90a").ok());
  Status status = nvrtc->checkArch("sm_42");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("sm_42"));
  EXPECT_THAT(status.error().message, HasSubstr("sm_80"));
}

} // namespace
} // namespace attnc::cuda

// CUDA kernels of any variant, run on the emulated device through the public API or, with
// other options of the emulator, through the launch code below it.
#pragma once

#include "runtime/CudaCall.h"
#include "runtime/CudaKernel.h"
#include "runtime/EmulatedDevice.h"
#include "tests/unit/api/ApiFixture.h"

namespace attnc::test {

class EmulatedTest : public ApiTest {
protected:
  void SetUp() override {
    ApiTest::SetUp();
    if (!cuda::Nvrtc::open())
      GTEST_SKIP() << "no NVRTC on this machine";
  }

  Kernel compileEmulated(const Variant &variant, DType dtype, const Sizes &sizes, int splitSize = 1024,
                         const std::string &arch = "sm_80") {
    CompileOptions options = compileOptions(dtype, sizes, splitSize);
    options.target = "emulated:" + arch;
    return compile(variant, options);
  }

  // Fails where the checker found anything.
  static emulator::Profile launch(const Kernel &kernel, const RunArguments &arguments, emulator::Options options = {}) {
    Result<CudaCall> call = prepareCuda(*kernel.internals(), arguments);
    EXPECT_TRUE(call.ok()) << call.error().message;
    const auto &function = static_cast<const EmulatedFunction &>(*kernel.internals()->cuda->function);
    Result<emulator::Report> report = function.run(call->launch, options);
    EXPECT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(report->findings.empty()) << findingsText(report->findings);
    return report->profile;
  }

  // Output and log-sum-exp against the float64 reference.
  static void expectNear(const Call &call, const Call &expected);
};

} // namespace attnc::test

// Kernels over the fake driver: a launch launches and does nothing else, limits are raised once a
// device, libraries live as long as their owners.
#include <cstring>
#include <thread>

#include <gmock/gmock.h>

#include "tests/unit/cuda/DriverFixture.h"

namespace attnc::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class GpuKernelTest : public DriverFixture {};

TEST_F(GpuKernelTest, AKernelThatDoesNotLoadSaysWhy) {
  fake_cuda()->version = 12040;
  auto driver = open();
  for (auto [code, name] : {std::pair(209, "CUDA_ERROR_NO_BINARY_FOR_GPU"), std::pair(300, "CUDA_ERROR_INVALID_SOURCE"),
                            std::pair(222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION")}) {
    fake_cuda_fail_next("cuLibraryLoadData", code);
    auto loaded = driver->load(kCubin, "attnc_forward");
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(loaded.error().message,
                AllOf(HasSubstr(std::string("cuLibraryLoadData: ") + name),
                      HasSubstr("driver is older than the toolkit that compiled the kernel"), HasSubstr("CUDA 12.4")));
  }
}

TEST_F(GpuKernelTest, AMissingKernelIsNamedAndItsLibraryUnloaded) {
  auto driver = open();
  fake_cuda_fail_next("cuLibraryGetKernel", 500);
  auto loaded = driver->load(kCubin, "attnc_combine");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::NotFound);
  EXPECT_THAT(loaded.error().message, HasSubstr("'attnc_combine'"));
  EXPECT_EQ(fake_cuda_live_libraries(), 0);
}

TEST_F(GpuKernelTest, WhatIsNoCubinNeverReachesTheDriver) {
  auto driver = open();
  for (std::string_view bytes : {"", "\177EL", ".version 8.0"})
    EXPECT_FALSE(driver->load(bytes, "attnc_forward").ok());
  EXPECT_EQ(callCount("cuLibraryLoadData"), 0);
}

TEST_F(GpuKernelTest, TheLastOwnerUnloadsTheLibrary) {
  auto driver = open();
  auto kernel = load(*driver), other = kernel;
  driver.reset(); // the kernel keeps it
  kernel.reset();
  EXPECT_EQ(fake_cuda_live_libraries(), 1);
  EXPECT_TRUE(other->launch({}, parameters, stream).ok());
  other.reset();
  EXPECT_EQ(fake_cuda_live_libraries(), 0);
  EXPECT_EQ(callCount("cuLibraryUnload"), 1);
}

TEST_F(GpuKernelTest, ALaunchOnlyLaunches) {
  auto driver = open();
  auto kernel = load(*driver);
  LaunchShape shape = {.grid = {7, 5, 3}, .threads = 128, .sharedBytes = 100000};
  ASSERT_TRUE(kernel->launch(shape, parameters, stream).ok());
  const size_t before = std::strlen(fake_cuda_calls());
  fake_cuda()->isCapturing = true;
  ASSERT_TRUE(kernel->launch(shape, parameters, stream).ok());
  EXPECT_STREQ(fake_cuda_calls() + before, "cuCtxGetDevice\ncuLaunchKernel grid=7,5,3 threads=128 shared=100000\n");
  EXPECT_EQ(0, std::memcmp(fake_cuda_parameters(), parameters, 16));
  for (const char *name : {"cuMem", "cuStreamSynchronize", "cuDevicePrimaryCtxRetain"})
    EXPECT_EQ(callCount(name), 0) << name;
}

TEST_F(GpuKernelTest, TheSharedLimitIsRaisedOnceADevice) {
  auto driver = open();
  auto kernel = load(*driver);
  for (int device : {0, 1, 0, 1}) {
    ASSERT_TRUE(driver->makeCurrent(device).ok());
    ASSERT_TRUE(kernel->launch({.sharedBytes = 90000}, parameters, stream).ok());
    ASSERT_TRUE(kernel->launch({.sharedBytes = 80000}, parameters, stream).ok());
  }
  EXPECT_EQ(callCount("cuKernelSetAttribute device=0 value=90000"), 1);
  EXPECT_EQ(callCount("cuKernelSetAttribute device=1 value=90000"), 1);
  EXPECT_EQ(callCount("cuKernelSetAttribute"), 2);
  ASSERT_TRUE(kernel->launch({.sharedBytes = 100000}, parameters, stream).ok()); // more than before
  EXPECT_EQ(callCount("cuKernelSetAttribute device=1 value=100000"), 1);
}

TEST_F(GpuKernelTest, PrepareDoesWhatTheFirstLaunchWould) {
  auto driver = open();
  auto kernel = load(*driver);
  ASSERT_TRUE(kernel->prepare(90000).ok());
  EXPECT_EQ(callCount("cuKernelGetFunction"), 1);
  ASSERT_TRUE(kernel->launch({.sharedBytes = 90000}, parameters, stream).ok());
  EXPECT_EQ(callCount("cuKernelSetAttribute"), 1);
}

TEST_F(GpuKernelTest, TooMuchSharedMemoryIsRefusedWithBothSizes) {
  auto driver = open();
  Status status = load(*driver)->launch({.sharedBytes = 240000}, parameters, stream);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(status.error().message,
              AllOf(HasSubstr("240000"), HasSubstr("232448"), HasSubstr("sm_90"), HasSubstr("Fake GPU 0")));
  EXPECT_EQ(callCount("cuLaunchKernel"), 0);
}

TEST_F(GpuKernelTest, AnImpossibleShapeIsSpelledOut) {
  auto driver = open();
  Status status = load(*driver)->launch({.grid = {1, 70000, 1}, .threads = 64}, parameters, stream);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(status.error().message, AllOf(HasSubstr("CUDA_ERROR_INVALID_VALUE"), HasSubstr("1 x 70000 x 1")));
}

TEST_F(GpuKernelTest, AnEarlierKernelsFaultIsNotBlamedOnTheCall) {
  auto driver = open();
  fake_cuda_fail_next("cuLaunchKernel", 700);
  Status status = load(*driver)->launch({}, parameters, stream);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::Internal);
  EXPECT_THAT(status.error().message, AllOf(HasSubstr("cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS"),
                                            HasSubstr("earlier"), HasSubstr("compute-sanitizer")));
}

TEST_F(GpuKernelTest, ManyThreadsShareAKernel) {
  auto driver = open();
  auto kernel = load(*driver);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      ASSERT_TRUE(driver->makeCurrent(i % 2).ok());
      for (int launch = 0; launch < 50; ++launch)
        ASSERT_TRUE(kernel->launch({.sharedBytes = 90000}, parameters, stream).ok());
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(callCount("cuLaunchKernel"), 8 * 50);
  EXPECT_EQ(callCount("cuKernelSetAttribute"), 2);
}

} // namespace
} // namespace attnc::cuda

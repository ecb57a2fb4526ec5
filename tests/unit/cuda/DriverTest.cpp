// The driver that Driver opens is a fake one: what is called, what never is, and what an error
// says. Nothing here needs a GPU.
#include <cstring>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>

#include "tests/unit/cuda/DriverFixture.h"

namespace attnc::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DriverTest : public DriverFixture {};

TEST_F(DriverTest, AMissingDriverSaysWhereItLookedAndWhatNeedsNone) {
  Error error = openError("/nonexistent/libcuda.so.1");
  EXPECT_EQ(error.code, ErrorCode::NotFound);
  EXPECT_THAT(error.message, AllOf(HasSubstr("'/nonexistent/libcuda.so.1'"), HasSubstr("CPU"), HasSubstr("emulated")));
}

TEST_F(DriverTest, ALibraryThatIsNoDriverIsRefused) {
  Error error = openError("libc.so.6");
  EXPECT_EQ(error.code, ErrorCode::Unsupported);
  EXPECT_THAT(error.message, AllOf(HasSubstr("'libc.so.6'"), HasSubstr("lacks cuDriverGetVersion")));
}

TEST_F(DriverTest, AnOldDriverIsRefusedWithBothVersions) {
  fake_cuda()->version = 11040;
  Error error = openError();
  EXPECT_EQ(error.code, ErrorCode::Unsupported);
  EXPECT_THAT(error.message, AllOf(HasSubstr("CUDA 11.4"), HasSubstr("12.0")));
  EXPECT_EQ(callCount("cuInit"), 0);
}

TEST_F(DriverTest, TheToolkitsStubIsNamed) {
  const char *stub = "/usr/local/cuda/lib64/stubs/libcuda.so";
  if (!std::filesystem::exists(stub))
    GTEST_SKIP() << "no CUDA toolkit on this machine";
  Error error = openError(stub);
  EXPECT_EQ(error.code, ErrorCode::NotFound);
  EXPECT_THAT(error.message, AllOf(HasSubstr("error 34"), HasSubstr("stub")));
}

TEST_F(DriverTest, NoVisibleDeviceIsExplained) {
  fake_cuda_fail_next("cuInit", 100);
  Error error = openError();
  EXPECT_EQ(error.code, ErrorCode::NotFound);
  EXPECT_THAT(error.message, AllOf(HasSubstr("cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)"),
                                   HasSubstr("CUDA_VISIBLE_DEVICES")));
}

TEST_F(DriverTest, AMixedDriverIsExplained) {
  fake_cuda_fail_next("cuInit", 803);
  Error error = openError();
  EXPECT_EQ(error.code, ErrorCode::Unsupported);
  EXPECT_THAT(error.message, AllOf(HasSubstr("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"), HasSubstr("reboot")));
}

TEST_F(DriverTest, TheCurrentDeviceIsThatOfTheThreadsContext) {
  auto driver = open();
  EXPECT_EQ(driver->version(), 13000);
  EXPECT_EQ(*driver->deviceCount(), 2);
  ASSERT_TRUE(driver->makeCurrent(1).ok());
  Result<DeviceInfo> device = driver->currentDevice();
  ASSERT_TRUE(device.ok());
  EXPECT_EQ(device->ordinal, 1);
  EXPECT_EQ(device->name, "Fake GPU 1");
  EXPECT_EQ(device->major, 9);
  EXPECT_EQ(device->minor, 0);
  EXPECT_EQ(device->multiprocessors, 132);
  EXPECT_EQ(device->maxSharedBytes, 232448);
  std::thread([&] { EXPECT_EQ(*driver->currentOrdinal(), 0); }).join();
}

TEST_F(DriverTest, TheCurrentOrdinalCostsOneCall) {
  auto driver = open();
  const size_t before = std::strlen(fake_cuda_calls());
  EXPECT_EQ(*driver->currentOrdinal(), 0);
  EXPECT_STREQ(fake_cuda_calls() + before, "cuCtxGetDevice\n");
}

TEST_F(DriverTest, NoCurrentContextSaysHowToMakeOne) {
  fake_cuda()->currentDevice = -1;
  auto driver = open();
  Result<DeviceInfo> device = driver->currentDevice();
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().code, ErrorCode::NotFound);
  EXPECT_THAT(device.error().message,
              AllOf(HasSubstr("cudaSetDevice"), HasSubstr("torch.cuda.init()"), HasSubstr("makeCurrent")));
  auto kernel = load(*driver); // belongs to no context
  Status launched = kernel->launch({.sharedBytes = 1024}, parameters, stream);
  ASSERT_FALSE(launched.ok());
  EXPECT_EQ(launched.error().code, ErrorCode::NotFound);
  EXPECT_TRUE(driver->makeCurrent(0).ok());
  EXPECT_TRUE(kernel->launch({.sharedBytes = 1024}, parameters, stream).ok());
}

TEST_F(DriverTest, AnUnknownDeviceIsCounted) {
  Status status = open()->makeCurrent(2);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, AllOf(HasSubstr("device 2"), HasSubstr("shows 2")));
}

TEST_F(DriverTest, AnErrorWithoutANameKeepsItsNumber) {
  auto driver = open();
  fake_cuda_fail_next("cuStreamSynchronize", 777);
  Status status = driver->synchronize(stream);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("cuStreamSynchronize: CUDA error 777"));
}

TEST_F(DriverTest, MemoryOfEveryKindIsTold) {
  auto driver = open();
  ASSERT_TRUE(driver->makeCurrent(1).ok());
  void *device = *driver->allocate(256, stream);
  char pinned[64], managed[64], host[64];
  fake_cuda_add_memory(pinned, sizeof pinned, kFakePinned, 0);
  fake_cuda_add_memory(managed, sizeof managed, kFakeManaged, 1);
  auto expect = [&](const void *pointer, MemoryKind kind, int ordinal, const void *start, size_t bytes) {
    Result<MemoryInfo> info = driver->memoryInfo(pointer);
    ASSERT_TRUE(info.ok());
    EXPECT_EQ(info->kind, kind);
    EXPECT_EQ(info->ordinal, ordinal);
    EXPECT_EQ(info->rangeStart, reinterpret_cast<uintptr_t>(start));
    EXPECT_EQ(info->rangeBytes, bytes);
  };
  expect(static_cast<char *>(device) + 100, MemoryKind::Device, 1, device, 256);
  expect(pinned + 63, MemoryKind::Pinned, 0, pinned, 64);
  expect(managed, MemoryKind::Managed, 1, managed, 64);
  expect(host, MemoryKind::Host, -1, nullptr, 0);
  expect(nullptr, MemoryKind::Host, -1, nullptr, 0);
  EXPECT_EQ(callCount("cuPointerGetAttributes"), 5);
}

TEST_F(DriverTest, MemoryIsCopiedInTheStreamsOrderWithoutWaiting) {
  auto driver = open();
  Result<void *> memory = driver->allocate(16, stream);
  ASSERT_TRUE(memory.ok());
  char back[16] = {};
  EXPECT_TRUE(driver->copyToDevice(*memory, parameters, 16, stream).ok());
  EXPECT_TRUE(driver->copyToHost(back, *memory, 16, stream).ok());
  EXPECT_EQ(0, std::memcmp(back, parameters, 16));
  EXPECT_TRUE(driver->release(*memory, stream).ok());
  EXPECT_EQ(fake_cuda_live_allocations(), 0);
  EXPECT_EQ(callCount("cuStreamSynchronize"), 0);
  EXPECT_TRUE(driver->synchronize(stream).ok());
}

TEST_F(DriverTest, NothingIsCalledForNoBytes) {
  auto driver = open();
  EXPECT_EQ(*driver->allocate(0, stream), nullptr);
  EXPECT_TRUE(driver->release(nullptr, stream).ok());
  EXPECT_TRUE(driver->copyToDevice(nullptr, nullptr, 0, stream).ok());
  EXPECT_TRUE(driver->copyToHost(nullptr, nullptr, 0, stream).ok());
  EXPECT_EQ(callCount("cuMem"), 0);
}

TEST_F(DriverTest, FullMemorySaysHowMuchWasWanted) {
  auto driver = open();
  fake_cuda_fail_next("cuMemAllocAsync", 2);
  Result<void *> memory = driver->allocate(4096, stream);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(memory.error().message,
              AllOf(HasSubstr("4096 bytes"), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"), HasSubstr("empty_cache")));
}

TEST_F(DriverTest, ACaptureIsSeenAndWaitingInItIsRefused) {
  auto driver = open();
  EXPECT_FALSE(*driver->isCapturing(stream));
  fake_cuda()->isCapturing = true;
  EXPECT_TRUE(*driver->isCapturing(stream));
  EXPECT_FALSE(*driver->isCapturing(nullptr));
  Status status = driver->synchronize(stream);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("captured"));
}

} // namespace
} // namespace attnc::cuda

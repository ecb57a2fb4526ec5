// Opens the fake driver in the state of a fresh process, and counts what was called.
#pragma once

#include <sstream>

#include <gtest/gtest.h>

#include "runtime/cuda/Driver.h"
#include "runtime/cuda/GpuKernel.h"
#include "tests/unit/cuda/fake_driver/FakeDriver.h"

namespace attnc::cuda {

inline constexpr std::string_view kCubin = "\177ELF and so on";

// Calls whose line in the log begins so.
inline int callCount(std::string_view line) {
  std::istringstream calls(fake_cuda_calls());
  int found = 0;
  for (std::string each; std::getline(calls, each);)
    found += each.starts_with(line);
  return found;
}

class DriverFixture : public testing::Test {
protected:
  void SetUp() override { fake_cuda_reset(); }
  void TearDown() override { fake_cuda_reset(); }

  static std::shared_ptr<const Driver> open() {
    auto opened = Driver::open(ATTNC_FAKE_CUDA);
    EXPECT_TRUE(opened.ok()) << (opened ? "" : opened.error().message);
    return opened ? *opened : nullptr;
  }
  static Error openError(const std::string &path = ATTNC_FAKE_CUDA) {
    auto opened = Driver::open(path);
    EXPECT_FALSE(opened.ok());
    return opened ? Error{} : opened.error();
  }
  static std::shared_ptr<const GpuKernel> load(const Driver &driver) {
    auto loaded = driver.load(kCubin, "attnc_forward");
    EXPECT_TRUE(loaded.ok()) << (loaded ? "" : loaded.error().message);
    return loaded ? *loaded : nullptr;
  }
  const char *parameters = "sixteen bytes..";
  Stream stream = &parameters; // any address but null, which is the default stream
};

} // namespace attnc::cuda

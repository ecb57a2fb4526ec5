// The occupancy of an SM: by hand, and, where a toolkit is installed, as NVIDIA's own
// calculator (cuda_occupancy.h) has it.
#include "runtime/cuda/Occupancy.h"

#include <gtest/gtest.h>

#include <string>

#ifdef ATTNC_CUDA_OCCUPANCY
#include <cuda_runtime_api.h>

#include <cuda_occupancy.h>
#endif

namespace attnc::cuda {
namespace {

TEST(Occupancy, EachLimitByHand) {
  // 128 threads of 168 registers: 21 x 256 a warp, 3 warps a quarter, 12 warps, 3 blocks.
  const auto registers = occupancyOf(80, 168, 0, 128);
  ASSERT_TRUE(registers);
  EXPECT_EQ(registers->blocks, 3U);
  EXPECT_EQ(registers->warps, 12U);
  EXPECT_EQ(registers->maxWarps, 64U);
  EXPECT_STREQ(registers->limit, "registers");
  // 64 KiB and the reserved 1 KiB: three times in 228 KiB.
  const auto shared = occupancyOf(90, 32, 65536, 128);
  EXPECT_EQ(shared->blocks, 3U);
  EXPECT_STREQ(shared->limit, "shared memory");
  EXPECT_EQ(occupancyOf(90, 32, 227 * 1024, 128)->blocks, 1U);
  EXPECT_EQ(occupancyOf(90, 32, 227 * 1024 + 1, 128)->blocks, 0U);
  EXPECT_STREQ(occupancyOf(86, 32, 0, 1024)->limit, "threads");
  EXPECT_EQ(occupancyOf(86, 32, 0, 1024)->blocks, 1U);
  EXPECT_STREQ(occupancyOf(120, 16, 0, 32)->limit, "blocks");
  EXPECT_EQ(occupancyOf(120, 16, 0, 32)->blocks, 24U);
}

TEST(Occupancy, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(occupancyOf(75, 32, 0, 128).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(occupancyOf(80, 32, 0, 0).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(occupancyOf(80, 32, 0, 1025).error().code, ErrorCode::InvalidArgument);
}

#ifdef ATTNC_CUDA_OCCUPANCY
cudaOccDeviceProp propertiesOf(const SmLimits &limits) {
  cudaOccDeviceProp properties;
  properties.computeMajor = limits.sm / 10;
  properties.computeMinor = limits.sm % 10;
  properties.maxThreadsPerBlock = 1024;
  properties.maxThreadsPerMultiprocessor = static_cast<int>(limits.threads);
  properties.regsPerBlock = properties.regsPerMultiprocessor = 65536;
  properties.warpSize = 32;
  properties.numSms = 100;
  properties.sharedMemPerBlock = 48 * 1024;
  properties.sharedMemPerMultiprocessor = limits.sharedBytes;
  properties.sharedMemPerBlockOptin = limits.blockSharedBytes;
  properties.reservedSharedMemPerBlock = 1024;
  return properties;
}

TEST(Occupancy, AgreesWithNvidiasCalculator) {
  for (const int sm : {80, 86, 89, 90, 100, 120}) {
    const SmLimits &limits = *limitsOf(sm);
    const cudaOccDeviceProp properties = propertiesOf(limits);
    cudaOccFuncAttributes attributes;
    attributes.maxThreadsPerBlock = 1024;
    attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    attributes.maxDynamicSharedSizeBytes = limits.blockSharedBytes;
    attributes.numBlockBarriers = 1;
    cudaOccDeviceState state;
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    for (int registers = 8; registers <= 255; registers += 3)
      for (const int threads : {32, 96, 128, 160, 256, 384, 512, 1024})
        for (const size_t shared : {0, 1000, 8192, 16384, 33000, 65536, 100000, 101376, 160000, 232448}) {
          attributes.numRegs = registers;
          cudaOccResult result;
          ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, threads, shared),
                    CUDA_OCC_SUCCESS);
          const auto ours = occupancyOf(sm, registers, shared, threads);
          ASSERT_TRUE(ours);
          ASSERT_EQ(ours->blocks, static_cast<uint32_t>(result.activeBlocksPerMultiprocessor))
              << "sm_" << sm << ", " << registers << " registers, " << shared << " B, " << threads << " threads";
        }
  }
}
#endif

} // namespace
} // namespace attnc::cuda

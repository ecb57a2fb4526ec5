// wgmma reads its operands through descriptors. The canonical layouts are written here as
// PTX draws them, in shared memory, and the product must be the matrices'.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "runtime/emulator/Emulator.h"
#include "runtime/emulator/Formats.h"
#include "runtime/emulator/TensorCore.h"

using namespace attnc::emulator;

namespace {

// Small integers, so that every model is exact.
float elementA(int row, int k) { return static_cast<float>((row * 7 + k * 3) % 11 - 5); }
float elementB(int k, int column) { return static_cast<float>((column * 5 + k * 2) % 13 - 6); }

struct Accumulators {
  std::vector<float> values;
  std::vector<float *> registers;
  int n;

  explicit Accumulators(int n) : values(size_t(n) / 2 * 4 * kLanes, 1.0F), n(n) {
    for (int i = 0; i < n / 2 * 4; ++i)
      registers.push_back(&values[size_t(i) * kLanes]);
  }
  float *const *warp(int index) const { return &registers[size_t(index) * n / 2]; }
  float at(int row, int column) const {
    const int lane = row % 8 * 4 + column % 8 / 2;
    return warp(row / 16)[column / 8 * 4 + row % 16 / 8 * 2 + column % 2][lane];
  }
};

// Where an operand's element (row of m or n, k) lies by the drawings of PTX's "Shared
// memory matrix layout": atoms of eight 16-byte or `width`-byte rows, eight atoms' rows
// `stride` or `leading` apart, 16-byte pieces exchanged within the width.
uint32_t place(const MatrixDescriptor &d, Major major, int row, int k) {
  const uint32_t width = d.swizzle == 0 ? 16 : d.swizzle, wide = width / 2; // elements
  uint32_t atomRow, column, base;
  if (major == Major::K) {
    atomRow = row % 8, column = k % wide;
    base = d.start + row / 8 * d.stride + (d.swizzle == 0 ? k / 8 * d.leading : 0);
  } else {
    atomRow = k % 8, column = row % wide;
    base =
        d.start + (d.swizzle == 0 ? k / 8 * d.leading + row / 8 * d.stride : k / 8 * d.stride + row / wide * d.leading);
  }
  uint32_t piece = column / 8;
  const uint32_t pattern = base + atomRow * width;
  if (d.swizzle != 0)
    piece ^= pattern / 128 % (d.swizzle / 16); // rows of 128 bytes exchange their pieces
  return base + atomRow * width + piece * 16 + column % 8 * 2;
}

void store(std::vector<uint8_t> &shared, uint32_t address, float value) {
  const uint16_t bits = toF16(value);
  ASSERT_LE(address + 2, shared.size());
  std::memcpy(&shared[address], &bits, 2);
}

// A descriptor for `extent` rows starting at `start`, tight.
MatrixDescriptor tight(Major major, uint32_t swizzle, int extent, uint32_t start) {
  const uint32_t width = swizzle == 0 ? 16 : swizzle;
  MatrixDescriptor d{start, 0, 0, swizzle};
  if (major == Major::K) {
    d.stride = 8 * width;
    d.leading = swizzle == 0 ? uint32_t(extent) / 8 * 128 : 16;
  } else if (swizzle == 0) {
    d.stride = 128;
    d.leading = uint32_t(extent) / 8 * 128;
  } else {
    d.stride = 8 * width;
    d.leading = 2 * d.stride;
  }
  return d;
}

} // namespace

TEST(Wgmma, DescriptorFields) {
  // Start 0x12340, leading 4096, stride 1024, swizzle 128 as code 1.
  const uint64_t bits = 0x1234ULL | 256ULL << 16 | 64ULL << 32 | 1ULL << 62;
  const auto d = decodeDescriptor(bits);
  ASSERT_TRUE(d.ok());
  EXPECT_EQ(d->start, 0x12340U);
  EXPECT_EQ(d->leading, 4096U);
  EXPECT_EQ(d->stride, 1024U);
  EXPECT_EQ(d->swizzle, 128U);
  for (const auto &[code, swizzle] : {std::pair{0ULL, 0U}, {1ULL, 128U}, {2ULL, 64U}, {3ULL, 32U}}) {
    EXPECT_EQ(decodeDescriptor(code << 62)->swizzle, swizzle);
    EXPECT_EQ(encodeDescriptor({0, 0, 0, swizzle}), code << 62);
  }
  EXPECT_EQ(encodeDescriptor(*d), bits);
  EXPECT_EQ(decodeDescriptor(bits | 1ULL << 49).error().code, attnc::ErrorCode::Unsupported);
  EXPECT_FALSE(decodeDescriptor(bits | 1ULL << 14).ok());
}

TEST(Wgmma, EveryLayoutMultiplies) {
  for (const int n : {8, 64, 128, 256})
    for (const uint32_t swizzle : {0U, 32U, 64U, 128U})
      for (const Major majorA : {Major::K, Major::MN})
        for (const Major majorB : {Major::K, Major::MN}) {
          if (majorB == Major::MN && n * 2 < int(swizzle))
            continue; // a partial atom
          SCOPED_TRACE("n " + std::to_string(n) + " swizzle " + std::to_string(swizzle) + " A " +
                       std::to_string(int(majorA)) + " B " + std::to_string(int(majorB)));
          std::vector<uint8_t> shared(128 * 1024);
          const MatrixDescriptor a = tight(majorA, swizzle, 64, 1024), b = tight(majorB, swizzle, n, 32 * 1024);
          for (int k = 0; k < 16; ++k) {
            for (int row = 0; row < 64; ++row)
              store(shared, place(a, majorA, row, k), elementA(row, k));
            for (int column = 0; column < n; ++column)
              store(shared, place(b, majorB, column, k), elementB(k, column));
          }
          Accumulators d(n);
          Wgmma wgmma;
          wgmma.n = n;
          wgmma.descriptorA = encodeDescriptor(a), wgmma.majorA = majorA;
          wgmma.descriptorB = encodeDescriptor(b), wgmma.majorB = majorB;
          for (int warp = 0; warp < 4; ++warp)
            wgmma.accumulators[warp] = d.warp(warp);
          ASSERT_TRUE(runWgmma(wgmma, shared).ok());
          for (int row = 0; row < 64; ++row)
            for (int column = 0; column < n; ++column) {
              float sum = 1;
              for (int k = 0; k < 16; ++k)
                sum += elementA(row, k) * elementB(k, column);
              ASSERT_EQ(d.at(row, column), sum) << row << ", " << column;
            }
        }
}

// The k step inside a swizzled row moves the start by 32 bytes; the phase stays the address's.
TEST(Wgmma, StepsAlongKInsideASwizzledRow) {
  std::vector<uint8_t> shared(32 * 1024);
  const MatrixDescriptor whole{0, 16, 1024, 128}; // 64 rows of 64 values
  for (int k = 0; k < 64; ++k)
    for (int row = 0; row < 64; ++row)
      store(shared, place(whole, Major::K, row, k), elementA(row, k));
  const MatrixDescriptor b{8192, 128, 128, 0}; // 8 columns: the identity's first eight of k
  for (int k = 0; k < 16; ++k)
    for (int column = 0; column < 8; ++column)
      store(shared, place(b, Major::K, column, k), k == column ? 1.0F : 0.0F);
  for (int step = 0; step < 4; ++step) {
    Accumulators d(8);
    Wgmma wgmma;
    wgmma.isAccumulating = false;
    wgmma.isNegatingA = step % 2 != 0;
    wgmma.isNegatingB = step >= 2;
    wgmma.descriptorA = encodeDescriptor(whole) + uint64_t(step) * 2;
    wgmma.descriptorB = encodeDescriptor(b);
    for (int warp = 0; warp < 4; ++warp)
      wgmma.accumulators[warp] = d.warp(warp);
    ASSERT_TRUE(runWgmma(wgmma, shared).ok());
    const float sign = wgmma.isNegatingA != wgmma.isNegatingB ? -1.0F : 1.0F;
    for (int row = 0; row < 64; ++row)
      for (int column = 0; column < 8; ++column)
        ASSERT_EQ(d.at(row, column), sign * elementA(row, step * 16 + column));
  }
}

TEST(Wgmma, AFromRegistersIsTheAccumulatorsLayout) {
  std::vector<uint8_t> shared(4096);
  const MatrixDescriptor b{0, 128, 128, 0};
  for (int k = 0; k < 16; ++k)
    for (int column = 0; column < 8; ++column)
      store(shared, place(b, Major::K, column, k), elementB(k, column));
  uint32_t registers[4][4][kLanes];
  Wgmma wgmma;
  wgmma.isAInRegisters = true;
  wgmma.descriptorB = encodeDescriptor(b);
  Accumulators d(8);
  for (int warp = 0; warp < 4; ++warp) {
    wgmma.accumulators[warp] = d.warp(warp);
    for (int i = 0; i < 4; ++i) {
      wgmma.registersA[warp][i] = registers[warp][i];
      for (int lane = 0; lane < kLanes; ++lane) {
        const int row = warp * 16 + lane / 4 + i % 2 * 8, k = lane % 4 * 2 + i / 2 * 8;
        registers[warp][i][lane] = toF16(elementA(row, k)) | uint32_t(toF16(elementA(row, k + 1))) << 16;
      }
    }
  }
  for (const auto rounding : {TensorCoreRounding::Fma, TensorCoreRounding::Ampere, TensorCoreRounding::Hopper}) {
    wgmma.rounding = rounding;
    std::fill(d.values.begin(), d.values.end(), 1.0F);
    ASSERT_TRUE(runWgmma(wgmma, shared).ok());
    for (int row = 0; row < 64; ++row)
      for (int column = 0; column < 8; ++column) {
        float sum = 1;
        for (int k = 0; k < 16; ++k)
          sum += elementA(row, k) * elementB(k, column);
        ASSERT_EQ(d.at(row, column), sum);
      }
  }
}

TEST(Wgmma, RefusesWhatLeavesSharedMemory) {
  const std::vector<uint8_t> shared(8192 + 1023);
  Accumulators d(8);
  Wgmma wgmma;
  wgmma.descriptorA = encodeDescriptor({0, 16, 1024, 128});
  wgmma.descriptorB = encodeDescriptor({8192, 16, 1024, 128});
  for (int warp = 0; warp < 4; ++warp)
    wgmma.accumulators[warp] = d.warp(warp);
  const attnc::Status status = runWgmma(wgmma, shared);
  // Row 7's pieces are exchanged with the end of its 128 bytes.
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("matrix B"), std::string::npos) << status.error().message;
  for (const float value : d.values)
    ASSERT_EQ(value, 1.0F);
  wgmma.n = 12;
  EXPECT_FALSE(runWgmma(wgmma, shared).ok());
}

TEST(Wgmma, PiecesOfAnOperandAreDistinct) {
  for (const uint32_t swizzle : {0U, 32U, 64U, 128U})
    for (const Major major : {Major::K, Major::MN}) {
      uint32_t addresses[128];
      operandPieces(tight(major, swizzle, 64, 2048), major, 64, addresses);
      EXPECT_EQ(std::set<uint32_t>(addresses, addresses + 128).size(), 128U);
    }
}

// Tensor maps keep what they were made from, refuse what the driver refuses, and move boxes
// between a tensor and swizzled shared memory, with zeros outside the tensor.
#include "runtime/emulator/TensorMap.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

using namespace attnc::emulator;

namespace {

// rows x columns of uint16, `pitch` bytes a row.
TensorMap map2d(const void *data, uint64_t columns, uint64_t rows, uint64_t pitch, uint32_t boxColumns,
                uint32_t boxRows, uint32_t swizzle) {
  TensorMap map;
  map.base = reinterpret_cast<uint64_t>(data);
  map.rank = 2;
  map.dims = {columns, rows};
  map.strides = {2, pitch};
  map.box = {boxColumns, boxRows};
  map.swizzle = swizzle;
  return map;
}

std::vector<uint16_t> counting(size_t count) {
  std::vector<uint16_t> values(count);
  std::iota(values.begin(), values.end(), uint16_t(1));
  return values;
}

uint16_t wordAt(const std::vector<uint8_t> &shared, uint32_t address) {
  uint16_t value;
  std::memcpy(&value, &shared[address], 2);
  return value;
}

// Sixteen-byte aligned storage for the tensors.
struct Tensor {
  std::vector<uint16_t> storage;
  uint16_t *data;
  explicit Tensor(size_t count) : storage(counting(count + 8)) {
    data = storage.data() + (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16 / 2;
    std::iota(data, data + count, uint16_t(1));
  }
};

} // namespace

TEST(TensorMap, RoundTrip) {
  TensorMap map;
  map.base = 0x123450;
  map.rank = 5;
  map.elementBytes = 4;
  map.dims = {uint64_t(1) << 32, 2, 3, 4, 5};
  map.strides = {4, 1024, (uint64_t(1) << 40) - 16, 0, 16};
  map.box = {8, 256, 1, 2, 3};
  map.swizzle = 32;
  const auto bytes = encodeTensorMap(map);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  const auto back = decodeTensorMap(bytes->data());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->base, map.base);
  EXPECT_EQ(back->rank, map.rank);
  EXPECT_EQ(back->elementBytes, map.elementBytes);
  EXPECT_EQ(back->dims, map.dims);
  EXPECT_EQ(back->strides, map.strides);
  EXPECT_EQ(back->box, map.box);
  EXPECT_EQ(back->swizzle, map.swizzle);
  EXPECT_EQ(back->boxBytes(), 32U * 256 * 6);
  const OpaqueTensorMap zeros{};
  EXPECT_FALSE(decodeTensorMap(zeros.data()).ok());
}

TEST(TensorMap, RefusesWhatTheDriverRefuses) {
  const TensorMap good = map2d(reinterpret_cast<void *>(0x1000), 100, 100, 208, 64, 8, 128);
  ASSERT_TRUE(encodeTensorMap(good).ok());
  const auto refuses = [&](auto &&change) {
    TensorMap map = good;
    change(map);
    return !encodeTensorMap(map).ok();
  };
  EXPECT_TRUE(refuses([](TensorMap &map) { map.base = 0x1008; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.rank = 0; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.rank = 6; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.elementBytes = 3; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.dims[1] = 0; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.strides[1] = 200; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.strides[1] = uint64_t(1) << 40; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.box[1] = 257; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.box[0] = 65; })); // 130 bytes
  EXPECT_TRUE(refuses([](TensorMap &map) { map.swizzle = 64; }));
  EXPECT_TRUE(refuses([](TensorMap &map) { map.swizzle = 16; }));
}

// Row r's 16-byte piece p stands at piece p ^ (r mod 8) with 128 bytes, at p ^ (r / 2 mod 4)
// with 64 and p ^ (r / 4 mod 2) with 32, where the box starts a pattern.
TEST(TensorMap, SwizzlesPermutePieces) {
  for (const uint32_t swizzle : {0U, 32U, 64U, 128U}) {
    const uint32_t rowBytes = swizzle == 0 ? 48 : swizzle, columns = rowBytes / 2, rows = 16;
    const Tensor tensor(size_t(columns) * rows);
    const TensorMap map = map2d(tensor.data, columns, rows, rowBytes, columns, rows, swizzle);
    std::vector<uint8_t> shared(8192, 0xEE);
    const int32_t origin[2] = {0, 0};
    ASSERT_TRUE(copyBoxToShared(map, origin, shared, 1024).ok());
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t column = 0; column < columns; ++column) {
        uint32_t piece = column / 8;
        if (swizzle != 0)
          piece ^= row / (128 / swizzle) % (swizzle / 16);
        ASSERT_EQ(wordAt(shared, 1024 + row * rowBytes + piece * 16 + column % 8 * 2), row * columns + column + 1);
      }
    EXPECT_EQ(shared[1023], 0xEE);
    EXPECT_EQ(shared[1024 + rowBytes * rows], 0xEE);
    // And back.
    Tensor copy(size_t(columns) * rows);
    std::fill_n(copy.data, columns * rows, 0);
    TensorMap back = map;
    back.base = reinterpret_cast<uint64_t>(copy.data);
    ASSERT_TRUE(copyBoxToGlobal(back, origin, shared, 1024).ok());
    EXPECT_TRUE(std::equal(copy.data, copy.data + columns * rows, tensor.data));
  }
}

TEST(TensorMap, OutsideIsZeroAndNotWritten) {
  // 5 x 20 elements of a wider buffer: the box hangs over every edge.
  constexpr uint32_t kPitch = 32;
  for (const int32_t x : {-30, -9, -3, 0, 5, 13, 25, 40})
    for (const int32_t y : {-4, -2, 0, 3, 6}) {
      Tensor tensor(8 * kPitch);
      const TensorMap map = map2d(tensor.data, 20, 5, kPitch * 2, 16, 4, 32);
      std::vector<uint8_t> shared(1024, 0xEE);
      const int32_t at[2] = {x, y};
      ASSERT_TRUE(copyBoxToShared(map, at, shared, 256).ok());
      for (int32_t row = 0; row < 4; ++row)
        for (int32_t column = 0; column < 16; ++column) {
          const bool isInside = x + column >= 0 && x + column < 20 && y + row >= 0 && y + row < 5;
          const uint32_t place = swizzled(256 + row * 32 + column * 2, 32);
          ASSERT_EQ(wordAt(shared, place), isInside ? tensor.data[(y + row) * int(kPitch) + x + column] : 0);
        }
      for (uint8_t &byte : shared)
        byte = 0;
      const std::vector<uint16_t> before(tensor.data, tensor.data + 8 * kPitch);
      ASSERT_TRUE(copyBoxToGlobal(map, at, shared, 256).ok());
      for (int32_t row = 0; row < 8; ++row)
        for (int32_t column = 0; column < int32_t(kPitch); ++column) {
          const bool isWritten = row < 5 && column < 20 && row >= y && row < y + 4 && column >= x && column < x + 16;
          const size_t index = size_t(row) * kPitch + column;
          ASSERT_EQ(tensor.data[index], isWritten ? 0 : before[index]);
        }
    }
}

// Rows of a box run through dimension 1 first, then 2, 3, 4.
TEST(TensorMap, FiveDimensions) {
  const Tensor tensor(8 * 2 * 3 * 2 * 2);
  TensorMap map;
  map.base = reinterpret_cast<uint64_t>(tensor.data);
  map.rank = 5;
  map.dims = {8, 2, 3, 2, 2};
  map.strides = {2, 16, 32, 96, 192};
  map.box = {8, 2, 2, 1, 2};
  std::vector<uint8_t> shared(256);
  const int32_t at[5] = {0, 0, 1, 1, 0};
  ASSERT_TRUE(copyBoxToShared(map, at, shared, 0).ok());
  uint32_t row = 0;
  for (int d4 = 0; d4 < 2; ++d4)
    for (int d2 = 1; d2 < 3; ++d2)
      for (int d1 = 0; d1 < 2; ++d1, ++row)
        ASSERT_EQ(wordAt(shared, row * 16), d1 * 8 + d2 * 16 + 48 + d4 * 96 + 1);
}

TEST(TensorMap, ChecksTheBox) {
  const Tensor tensor(64 * 8);
  const TensorMap map = map2d(tensor.data, 64, 8, 128, 64, 8, 128);
  std::vector<uint8_t> shared(2048);
  const int32_t at[3] = {0, 0, 0};
  EXPECT_TRUE(copyBoxToShared(map, std::span(at, 2), shared, 1024).ok());
  EXPECT_FALSE(copyBoxToShared(map, std::span(at, 3), shared, 1024).ok());
  EXPECT_FALSE(copyBoxToShared(map, std::span(at, 2), shared, 1152).ok());
  EXPECT_FALSE(copyBoxToShared(map, std::span(at, 2), shared, 64).ok());
  EXPECT_FALSE(copyBoxToGlobal(map, std::span(at, 2), shared, 4096).ok());
}

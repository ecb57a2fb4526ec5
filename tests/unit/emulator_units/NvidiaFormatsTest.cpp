// Conversions and 16-bit arithmetic agree bit for bit with the host code in NVIDIA's
// cuda_fp16.h, cuda_bf16.h and cuda_fp8.h: narrow values exhaustively, floats at random.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <gtest/gtest.h>

#include <random>

#include "runtime/emulator/Formats.h"

using namespace attnc::emulator;

namespace {

__half halfOf(uint32_t bits) { return __half(__half_raw{static_cast<unsigned short>(bits)}); }
uint32_t bitsOf(__half value) { return static_cast<__half_raw>(value).x; }
__nv_bfloat16 bfloatOf(uint32_t bits) { return __nv_bfloat16(__nv_bfloat16_raw{static_cast<unsigned short>(bits)}); }
uint32_t bitsOf(__nv_bfloat16 value) { return static_cast<__nv_bfloat16_raw>(value).x; }

uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }

// Random bit patterns, and floats within a few units of every rounding boundary of the
// 16-bit formats: 2^16 upper halves with lower halves about the middle and the ends.
template <typename Check> void forFloats(Check &&check) {
  std::mt19937 random(1);
  for (int i = 0; i < 2'000'000; ++i)
    check(std::bit_cast<float>(static_cast<uint32_t>(random())));
  for (uint32_t high = 0; high < 0x10000; ++high)
    for (uint32_t low : {0x0000U, 0x0001U, 0x0FFFU, 0x1000U, 0x1001U, 0x2000U, 0x3000U, 0x7FFFU, 0x8000U, 0x8001U,
                         0xEFFFU, 0xF000U, 0xF001U, 0xFFFFU})
      check(std::bit_cast<float>(high << 16 | low));
}

const std::pair<Rounding, int> kRoundings[] = {
    {Rounding::Nearest, 0}, {Rounding::Zero, 1}, {Rounding::Down, 2}, {Rounding::Up, 3}};

// EXPECT_EQ costs too much to be called tens of millions of times.
void expectSame(uint32_t ours, uint32_t theirs, uint32_t from) {
  if (ours != theirs)
    EXPECT_EQ(ours, theirs) << std::hex << "from " << from << ": ours " << ours << " theirs " << theirs;
}

} // namespace

TEST(NvidiaFormats, WidenedHalvesAgree) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    expectSame(bitsOf(widen(Format::F16, bits)), bitsOf(__half2float(halfOf(bits))), bits);
    expectSame(bitsOf(widen(Format::BF16, bits)), bitsOf(__bfloat162float(bfloatOf(bits))), bits);
  }
}

TEST(NvidiaFormats, WidenedFp8Agree) {
  for (uint32_t bits = 0; bits < 0x100; ++bits) {
    const auto storage = static_cast<__nv_fp8_storage_t>(bits);
    const __half four(__nv_cvt_fp8_to_halfraw(storage, __NV_E4M3)), five(__nv_cvt_fp8_to_halfraw(storage, __NV_E5M2));
    expectSame(narrow(Format::F16, widen(Format::E4M3, bits)), bitsOf(four), bits);
    expectSame(narrow(Format::F16, widen(Format::E5M2, bits)), bitsOf(five), bits);
  }
}

TEST(NvidiaFormats, NarrowedFloatsAgree) {
  forFloats([](float value) {
    const __half halves[] = {__float2half_rn(value), __float2half_rz(value), __float2half_rd(value),
                             __float2half_ru(value)};
    const __nv_bfloat16 bfloats[] = {__float2bfloat16_rn(value), __float2bfloat16_rz(value), __float2bfloat16_rd(value),
                                     __float2bfloat16_ru(value)};
    for (const auto &[rounding, index] : kRoundings) {
      expectSame(narrow(Format::F16, value, {.rounding = rounding}), bitsOf(halves[index]), bitsOf(value));
      expectSame(narrow(Format::BF16, value, {.rounding = rounding}), bitsOf(bfloats[index]), bitsOf(value));
    }
    expectSame(toF16(value), bitsOf(halves[0]), bitsOf(value));
    expectSame(toBF16(value), bitsOf(bfloats[0]), bitsOf(value));
  });
}

TEST(NvidiaFormats, NarrowedFp8Agree) {
  const auto check = [](double value, uint32_t from) {
    for (const bool isSaturating : {true, false}) {
      const Conversion conversion{.isSaturating = isSaturating};
      const auto mode = isSaturating ? __NV_SATFINITE : __NV_NOSAT;
      const uint32_t four = __nv_cvt_double_to_fp8(value, mode, __NV_E4M3);
      const uint32_t five = __nv_cvt_double_to_fp8(value, mode, __NV_E5M2);
      // NVIDIA's host code keeps a NaN's sign and payload, PTX does not.
      expectSame(narrow(Format::E4M3, value, conversion), std::isnan(value) ? 0x7F : four, from);
      expectSame(narrow(Format::E5M2, value, conversion), std::isnan(value) ? 0x7F : five, from);
    }
  };
  forFloats([&](float value) { check(value, bitsOf(value)); });
  for (uint32_t bits = 0; bits < 0x10000; ++bits)
    check(widen(Format::F16, bits), bits);
}

TEST(NvidiaFormats, NarrowedDoublesAgree) {
  std::mt19937_64 random(2);
  const auto check = [](double value) {
    const uint32_t from = bitsOf(static_cast<float>(value));
    expectSame(narrow(Format::F16, value), bitsOf(__double2half(value)), from);
    expectSame(narrow(Format::BF16, value), bitsOf(__double2bfloat16(value)), from);
  };
  // Exponents about a float's, and ties of a half disturbed in a double's last bit.
  for (int i = 0; i < 1'000'000; ++i) {
    const uint64_t bits = random();
    const uint64_t exponent = 1023 - 160 + bits % 300;
    check(std::bit_cast<double>((bits & 0x800FFFFFFFFFFFFFULL) | exponent << 52));
    const double half = widen(Format::F16, bits & 0x7BFF) + 0x1p-11 * widen(Format::F16, bits & 0x7C00);
    check(std::bit_cast<double>(std::bit_cast<uint64_t>(half) + bits % 3 - 1));
  }
}

TEST(NvidiaFormats, HalfArithmeticAgrees) {
  std::mt19937 random(3);
  for (int i = 0; i < 1'000'000; ++i) {
    const uint16_t a = random(), b = i % 2 != 0 ? random() : a ^ (random() & 0x8FFF);
    expectSame(addHalf(Format::F16, a, b), bitsOf(__hadd(halfOf(a), halfOf(b))), a << 16 | b);
    expectSame(mulHalf(Format::F16, a, b), bitsOf(__hmul(halfOf(a), halfOf(b))), a << 16 | b);
    expectSame(subHalf(Format::F16, a, b), bitsOf(__hsub(halfOf(a), halfOf(b))), a << 16 | b);
    expectSame(addHalf(Format::BF16, a, b), bitsOf(__hadd(bfloatOf(a), bfloatOf(b))), a << 16 | b);
    expectSame(mulHalf(Format::BF16, a, b), bitsOf(__hmul(bfloatOf(a), bfloatOf(b))), a << 16 | b);
    expectSame(minHalf(Format::F16, a, b), bitsOf(__hmin(halfOf(a), halfOf(b))), a << 16 | b);
    expectSame(maxHalf(Format::F16, a, b, true), bitsOf(__hmax_nan(halfOf(a), halfOf(b))), a << 16 | b);
    expectSame(maxHalf(Format::BF16, a, b), bitsOf(__hmax(bfloatOf(a), bfloatOf(b))), a << 16 | b);
  }
}

// Rules of cvt and of directed rounding, by values that can be checked by hand and against
// long double, whose 64-bit mantissa holds the exact results where it is used.
#include <gtest/gtest.h>

#include <cfenv>
#include <random>

#include "runtime/emulator/Formats.h"

using namespace attnc::emulator;

namespace {

uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }

constexpr float kInfinity = INFINITY;

} // namespace

TEST(Formats, EveryNarrowValueSurvivesWidening) {
  for (const auto &[format, count, infinity] :
       {std::tuple{Format::F16, 0x10000U, 0x7C00U}, std::tuple{Format::BF16, 0x10000U, 0x7F80U},
        std::tuple{Format::E4M3, 0x100U, 0x7EU}, std::tuple{Format::E5M2, 0x100U, 0x7CU}})
    for (uint32_t bits = 0; bits < count; ++bits) {
      if ((bits & (count / 2 - 1)) > infinity)
        continue; // NaN
      for (const Rounding rounding : {Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up})
        ASSERT_EQ(narrow(format, widen(format, bits), {.rounding = rounding}), bits);
    }
}

TEST(Formats, RoundingsOfATie) {
  // 1 + 2^-11 is halfway between f16's 0x3C00 and 0x3C01; 1 + 3 2^-11 between 0x3C01 and 0x3C02.
  EXPECT_EQ(narrow(Format::F16, 1 + 0x1p-11), 0x3C00U);
  EXPECT_EQ(narrow(Format::F16, 1 + 0x3p-11), 0x3C02U);
  EXPECT_EQ(narrow(Format::F16, 1 + 0x1p-11, {.rounding = Rounding::NearestAway}), 0x3C01U);
  EXPECT_EQ(narrow(Format::F16, 1 + 0x3p-11, {.rounding = Rounding::Zero}), 0x3C01U);
  EXPECT_EQ(narrow(Format::F16, -1 - 0x1p-30, {.rounding = Rounding::Down}), 0xBC01U);
  EXPECT_EQ(narrow(Format::F16, -1 - 0x1p-30, {.rounding = Rounding::Up}), 0xBC00U);
  EXPECT_EQ(narrow(Format::TF32, 1 + 0x1p-11, {.rounding = Rounding::NearestAway}), 0x3F802000U);
  EXPECT_EQ(narrow(Format::TF32, 1 + 0x1p-11), 0x3F800000U);
}

TEST(Formats, OverflowAndSaturation) {
  EXPECT_EQ(narrow(Format::F16, 65520), 0x7C00U);
  EXPECT_EQ(narrow(Format::F16, 65519.99), 0x7BFFU);
  EXPECT_EQ(narrow(Format::F16, 1e9, {.rounding = Rounding::Zero}), 0x7BFFU);
  EXPECT_EQ(narrow(Format::F16, -1e9, {.rounding = Rounding::Up}), 0xFBFFU);
  EXPECT_EQ(narrow(Format::F16, -1e9, {.rounding = Rounding::Down}), 0xFC00U);
  EXPECT_EQ(narrow(Format::F16, kInfinity, {.rounding = Rounding::Zero}), 0x7C00U);
  EXPECT_EQ(narrow(Format::F16, kInfinity, {.isSaturating = true}), 0x7BFFU);
  EXPECT_EQ(narrow(Format::BF16, -kInfinity, {.isSaturating = true}), 0xFF7FU);
  EXPECT_EQ(narrow(Format::E4M3, 464, {.isSaturating = true}), 0x7EU); // 448 is the largest
  EXPECT_EQ(narrow(Format::E4M3, -kInfinity, {.isSaturating = true}), 0xFEU);
  EXPECT_EQ(narrow(Format::E4M3, 465), 0x7FU); // no infinity: NaN
  EXPECT_EQ(narrow(Format::E5M2, 1e6, {.isSaturating = true}), 0x7BU);
  EXPECT_EQ(narrow(Format::E5M2, 1e6), 0x7CU);
}

TEST(Formats, ReluAndNan) {
  const Conversion relu{.isRelu = true};
  EXPECT_EQ(narrow(Format::F16, -1.5, relu), 0U);
  EXPECT_EQ(narrow(Format::F16, -0.0, relu), 0U);
  EXPECT_EQ(narrow(Format::BF16, -kInfinity, relu), 0U);
  EXPECT_EQ(narrow(Format::F16, 1.5, relu), 0x3E00U);
  for (const bool isRelu : {false, true}) {
    const Conversion conversion{.isSaturating = true, .isRelu = isRelu};
    EXPECT_EQ(narrow(Format::F16, -NAN, conversion), 0x7FFFU);
    EXPECT_EQ(narrow(Format::BF16, NAN, conversion), 0x7FFFU);
    EXPECT_EQ(narrow(Format::TF32, NAN, conversion), 0x7FFFFFFFU);
    EXPECT_EQ(narrow(Format::E4M3, NAN, conversion), 0x7FU);
    EXPECT_EQ(narrow(Format::E5M2, NAN, conversion), 0x7FU);
  }
  EXPECT_EQ(bitsOf(widen(Format::F16, 0xFC01)), 0x7FFFFFFFU);
  EXPECT_EQ(bitsOf(canonical(-NAN)), 0x7FFFFFFFU);
}

TEST(Formats, FlushKeepsTheSign) {
  EXPECT_EQ(bitsOf(flush(-0x1p-127F)), 0x80000000U);
  EXPECT_EQ(bitsOf(flush(0x1p-126F)), bitsOf(0x1p-126F));
  EXPECT_EQ(bitsOf(flush(kInfinity)), bitsOf(kInfinity));
}

// The processor's own directed roundings of float are the reference.
TEST(Formats, DirectedFloatArithmetic) {
  std::mt19937 random(4);
  const auto number = [&] { // exponents close enough for cancellation, now and then extreme
    const uint32_t bits = random(), mantissa = random() & 0x7FFFFF;
    const uint32_t exponent = bits % 64 == 0 ? bits >> 8 & 255 : 115 + (bits >> 8) % 28;
    return std::bit_cast<float>((bits & 0x80000000) | exponent << 23 | mantissa);
  };
  const std::pair<Rounding, int> roundings[] = {{Rounding::Nearest, FE_TONEAREST},
                                                {Rounding::Zero, FE_TOWARDZERO},
                                                {Rounding::Down, FE_DOWNWARD},
                                                {Rounding::Up, FE_UPWARD}};
  for (int i = 0; i < 300'000; ++i) {
    // volatile: the compiler must not move the operations over fesetround.
    volatile float a = number(), b = i % 16 == 0 ? -a : number(), c = i % 3 == 0 ? -float(a * b) : number();
    for (const auto &[rounding, mode] : roundings) {
      std::fesetround(mode);
      volatile float sum = a + b, product = a * b;
      volatile double wideA = a, wideB = b, wideProduct = wideA * wideB; // exact
      volatile float fused = std::fma(a, b, c), narrowed = float(wideProduct);
      std::fesetround(FE_TONEAREST);
      ASSERT_EQ(bitsOf(addF32(a, b, rounding)), bitsOf(canonical(sum))) << a << " + " << b << " mode " << mode;
      ASSERT_EQ(bitsOf(mulF32(a, b, rounding)), bitsOf(canonical(product))) << a << " * " << b << " mode " << mode;
      ASSERT_EQ(bitsOf(fmaF32(a, b, c, rounding)), bitsOf(canonical(fused)))
          << a << " * " << b << " + " << c << " mode " << mode;
      ASSERT_EQ(bitsOf(toF32(wideProduct, rounding)), bitsOf(canonical(narrowed)));
    }
  }
}

TEST(Formats, FusedHalvesRoundOnce) {
  // bf16: (1 + 2^-7)(1 + 2^-7) = 1 + 2^-6 + 2^-14; 2^-14 alone decides the tie that -2^-8
  // leaves at 1 + 2^-6 - 2^-8.
  EXPECT_EQ(fmaHalf(Format::BF16, 0x3F81, 0x3F81, 0xBB80), 0x3F82U);
  // f16: 1 * 1 + 2^-11 is a tie to even, 2^-24 more is not. 0x0001 is 2^-24.
  EXPECT_EQ(fmaHalf(Format::F16, 0x3C00, 0x3C00, 0x1000), 0x3C00U);
  EXPECT_EQ(fmaHalf(Format::F16, 0x0001, 0x0001, 0x3C00), 0x3C00U);
  std::mt19937 random(5);
  for (int i = 0; i < 500'000; ++i) {
    const uint16_t a = random(), b = random(), c = random();
    const float x = fromF16(a), y = fromF16(b), z = fromF16(c);
    const long double exact = static_cast<long double>(x) * y + z;
    if (!std::isfinite(exact) || exact == 0)
      continue;
    // 64 bits are not always exact either: skip where the addition lost anything.
    if (exact - z != static_cast<long double>(x) * y || exact - static_cast<long double>(x) * y != z)
      continue;
    const auto rounded = static_cast<double>(exact);
    if (static_cast<long double>(rounded) != exact)
      continue;
    ASSERT_EQ(fmaHalf(Format::F16, a, b, c), narrow(Format::F16, rounded));
  }
}

TEST(Formats, HalfModifiers) {
  EXPECT_EQ(addHalf(Format::F16, 0x0001, 0x3C00, {.isSaturating = true}), 0x3C00U); // 1 + 2^-24
  EXPECT_EQ(addHalf(Format::F16, 0x4000, 0x3C00, {.isSaturating = true}), 0x3C00U); // 3 -> 1
  EXPECT_EQ(addHalf(Format::F16, 0xC000, 0x3C00, {.isSaturating = true}), 0x0000U); // -1 -> 0
  EXPECT_EQ(addHalf(Format::F16, 0x7E00, 0x3C00, {.isSaturating = true}), 0x0000U); // NaN -> 0
  EXPECT_EQ(mulHalf(Format::F16, 0x0400, 0x3800, {.isFlushing = true}), 0x0000U);   // 2^-15
  EXPECT_EQ(mulHalf(Format::F16, 0x0400, 0x3800), 0x0200U);
  EXPECT_EQ(addHalf(Format::F16, 0x8001, 0x8000, {.isFlushing = true}), 0x8000U);
  EXPECT_EQ(fmaHalf(Format::F16, 0xBC00, 0x3C00, 0x0000, {.isRelu = true}), 0x0000U);
}

TEST(Formats, MinAndMax) {
  EXPECT_EQ(minHalf(Format::F16, 0x0000, 0x8000), 0x8000U);
  EXPECT_EQ(maxHalf(Format::F16, 0x8000, 0x0000), 0x0000U);
  EXPECT_EQ(minHalf(Format::F16, 0x7E00, 0x3C00), 0x3C00U);
  EXPECT_EQ(minHalf(Format::F16, 0x7E00, 0x3C00, true), 0x7FFFU);
  EXPECT_EQ(maxHalf(Format::BF16, 0xFFC0, 0x7FC0), 0x7FFFU);
  EXPECT_EQ(maxHalf(Format::BF16, 0xBF80, 0xC000), 0xBF80U); // -1, -2
}

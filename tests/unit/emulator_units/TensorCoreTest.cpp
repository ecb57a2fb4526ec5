// mma.sync: fragments stand where PTX's tables say, products equal a double's, the chain is
// ascending, and the two hardware models cut where they were measured to.
#include "runtime/emulator/TensorCore.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "runtime/emulator/Emulator.h"
#include "runtime/emulator/Formats.h"

using namespace attnc::emulator;

namespace {

constexpr TensorCoreRounding kAll[] = {TensorCoreRounding::Fma, TensorCoreRounding::Ampere, TensorCoreRounding::Hopper};

uint16_t half(HalfType type, float value) { return type == HalfType::F16 ? toF16(value) : toBF16(value); }
float widened(HalfType type, uint16_t bits) { return type == HalfType::F16 ? fromF16(bits) : fromBF16(bits); }

// A 16 x K by K x 8 product in registers, filled element by element from PTX's tables:
// groupID = lane / 4, threadID_in_group = lane % 4.
struct Fragments {
  HalfType type;
  int depth;
  uint32_t a[4][kLanes] = {}, b[2][kLanes] = {};
  float c[4][kLanes] = {}, d[4][kLanes] = {};

  static void put(uint32_t &word, int part, uint16_t bits) {
    word = (word & ~(0xFFFFU << (part * 16))) | uint32_t(bits) << (part * 16);
  }
  void setA(int row, int k, float value) {
    // a_i, i = 0..7: row = groupID + 8 (i / 2 odd), k = threadID 2 + i % 2 + 8 (i >= 4).
    const int i = k / 8 * 4 + row / 8 * 2 + k % 2;
    put(a[i / 2][row % 8 * 4 + k % 8 / 2], i % 2, half(type, value));
  }
  void setB(int k, int column, float value) { put(b[k / 8][column * 4 + k % 8 / 2], k % 2, half(type, value)); }
  float &at(float (&registers)[4][kLanes], int row, int column) {
    return registers[row / 8 * 2 + column % 2][row % 8 * 4 + column / 2];
  }
  void run(TensorCoreRounding rounding) {
    const uint32_t *pa[4] = {a[0], a[1], a[2], a[3]}, *pb[2] = {b[0], b[1]};
    const float *pc[4] = {c[0], c[1], c[2], c[3]};
    float *pd[4] = {d[0], d[1], d[2], d[3]};
    if (depth == 16)
      mmaM16N8K16(type, rounding, pa, pb, pc, pd);
    else
      mmaM16N8K8(type, rounding, pa, pb[0], pc, pd);
  }
};

// One output of a 1 x n product, the rest zeros.
float dot(HalfType type, TensorCoreRounding rounding, int depth, const std::vector<std::pair<float, float>> &products,
          float c) {
  Fragments fragments{type, depth};
  for (size_t k = 0; k < products.size(); ++k) {
    fragments.setA(3, static_cast<int>(k), products[k].first);
    fragments.setB(static_cast<int>(k), 5, products[k].second);
  }
  fragments.at(fragments.c, 3, 5) = c;
  fragments.run(rounding);
  return fragments.at(fragments.d, 3, 5);
}

} // namespace

// With the identity for one operand the result is the other, element by element.
TEST(TensorCore, IdentityShowsTheLayouts) {
  for (const HalfType type : {HalfType::F16, HalfType::BF16})
    for (const int depth : {8, 16})
      for (const TensorCoreRounding rounding : kAll) {
        Fragments left{type, depth}, right{type, depth};
        for (int k = 0; k < depth; ++k) {
          for (int row = 0; row < 16; ++row)
            left.setA(row, k, static_cast<float>(row * 16 + k)), right.setA(row, k, row == k ? 1.0F : 0.0F);
          for (int column = 0; column < 8; ++column)
            left.setB(k, column, k == column ? 1.0F : 0.0F), right.setB(k, column, static_cast<float>(k * 8 + column));
        }
        left.run(rounding), right.run(rounding);
        for (int row = 0; row < 16; ++row)
          for (int column = 0; column < 8; ++column) {
            ASSERT_EQ(left.at(left.d, row, column), row * 16 + column);
            ASSERT_EQ(right.at(right.d, row, column), row < depth ? row * 8 + column : 0);
          }
      }
}

TEST(TensorCore, AgreesWithDouble) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const HalfType type : {HalfType::F16, HalfType::BF16})
    for (const int depth : {8, 16})
      for (const TensorCoreRounding rounding : kAll) {
        Fragments fragments{type, depth};
        double a[16][16], b[16][8];
        for (int k = 0; k < depth; ++k) {
          for (int row = 0; row < 16; ++row) {
            const float value = normal(random);
            fragments.setA(row, k, value), a[row][k] = widened(type, half(type, value));
          }
          for (int column = 0; column < 8; ++column) {
            const float value = normal(random);
            fragments.setB(k, column, value), b[k][column] = widened(type, half(type, value));
          }
        }
        for (auto &lanes : fragments.c)
          for (float &lane : lanes)
            lane = normal(random);
        fragments.run(rounding);
        for (int row = 0; row < 16; ++row)
          for (int column = 0; column < 8; ++column) {
            const float start = fragments.at(fragments.c, row, column);
            double exact = start, size = std::fabs(start);
            float chain = start;
            for (int k = 0; k < depth; ++k) {
              exact += a[row][k] * b[k][column], size += std::fabs(a[row][k] * b[k][column]);
              chain = std::fma(float(a[row][k]), float(b[k][column]), chain);
            }
            const float result = fragments.at(fragments.d, row, column);
            ASSERT_NEAR(result, exact, size * 17 * 0x1p-24);
            if (rounding == TensorCoreRounding::Fma)
              ASSERT_EQ(result, chain);
          }
      }
}

TEST(TensorCore, AccumulatorMayBeTheResult) {
  Fragments fragments{HalfType::BF16, 16};
  fragments.setA(3, 2, 2), fragments.setB(2, 5, 3);
  fragments.at(fragments.c, 3, 5) = 1;
  const uint32_t *a[4] = {fragments.a[0], fragments.a[1], fragments.a[2], fragments.a[3]};
  const uint32_t *b[2] = {fragments.b[0], fragments.b[1]};
  float *c[4] = {fragments.c[0], fragments.c[1], fragments.c[2], fragments.c[3]};
  mmaM16N8K16(HalfType::BF16, TensorCoreRounding::Fma, a, b, c, c);
  EXPECT_EQ(fragments.at(fragments.c, 3, 5), 7);
}

// Ampere cuts each addend below 2^-24 of the largest, Hopper below 2^-25.
TEST(TensorCore, ModelsCutAddends) {
  const HalfType type = HalfType::BF16;
  const auto sum = [&](TensorCoreRounding rounding, float small) {
    return dot(type, rounding, 16, {{1, 1}, {small, 1}, {-1, 1}}, 0);
  };
  EXPECT_EQ(sum(TensorCoreRounding::Ampere, 0x1p-24F), 0x1p-24F);
  EXPECT_EQ(sum(TensorCoreRounding::Ampere, 0x1p-25F), 0);
  EXPECT_EQ(sum(TensorCoreRounding::Hopper, 0x1p-25F), 0x1p-25F);
  EXPECT_EQ(sum(TensorCoreRounding::Hopper, 0x1p-26F), 0);
  // Towards zero on both sides.
  EXPECT_EQ(sum(TensorCoreRounding::Hopper, -0x3p-26F), -0x1p-25F);
  // The product's exponent is the sum of the factors', its significand up to 4.
  EXPECT_EQ(dot(type, TensorCoreRounding::Hopper, 16, {{1.5, 1.5}, {0x1p-25F, 1}, {-1.5, 1.5}}, 0), 0x1p-25F);
}

// The result is cut to a float, not rounded: 1 + 2^-24 + 2^-25 is below 1 + 2^-23.
TEST(TensorCore, ModelsCutResults) {
  const std::vector<std::pair<float, float>> products = {{0x1p-24F, 1}, {0x1p-25F, 1}};
  EXPECT_EQ(dot(HalfType::BF16, TensorCoreRounding::Hopper, 16, products, 1), 1);
  EXPECT_EQ(dot(HalfType::BF16, TensorCoreRounding::Hopper, 16, products, -1), -(1 - 0x1p-23F));
  // The chain ties to even with 2^-24, then with 2^-25.
  EXPECT_EQ(dot(HalfType::BF16, TensorCoreRounding::Fma, 16, products, 1), 1);
}

// Ampere's k16 is two k8, so a sum of four ones at the far end of k is cut in between.
TEST(TensorCore, AmpereSplitsK) {
  std::vector<std::pair<float, float>> products(16, {0.0F, 0.0F});
  products[0] = {0x1p-24F, 1}, products[8] = {0x1p-24F, 1};
  // Each alone is cut with the first result; together they would reach 2^-23.
  EXPECT_EQ(dot(HalfType::BF16, TensorCoreRounding::Ampere, 16, products, 1), 1);
  EXPECT_EQ(dot(HalfType::BF16, TensorCoreRounding::Hopper, 16, products, 1), 1 + 0x1p-23F);
  products = {{0x1p-24F, 1}, {0x1p-24F, 1}};
  EXPECT_EQ(dot(HalfType::BF16, TensorCoreRounding::Ampere, 16, products, 1), 1 + 0x1p-23F);
  EXPECT_EQ(dot(HalfType::BF16, TensorCoreRounding::Ampere, 8, products, 1), 1 + 0x1p-23F);
}

// f16's subnormals keep the exponent -14 when addends are aligned: the product of 2^-24 and
// 1 stands at 2^-14 and pushes 2^-40 below its 25 bits, though 2^-24 itself would not.
TEST(TensorCore, SubnormalsStayUnnormalised) {
  EXPECT_EQ(dot(HalfType::F16, TensorCoreRounding::Hopper, 16, {{0x1p-24F, 1}}, 0x1p-40F), 0x1p-24F);
  EXPECT_EQ(dot(HalfType::BF16, TensorCoreRounding::Hopper, 16, {{0x1p-24F, 1}}, 0x1p-40F), 0x1p-24F + 0x1p-40F);
  EXPECT_EQ(dot(HalfType::F16, TensorCoreRounding::Fma, 16, {{0x1p-24F, 1}}, 0x1p-40F), 0x1p-24F + 0x1p-40F);
}

TEST(TensorCore, SpecialValues) {
  for (const TensorCoreRounding rounding : kAll) {
    EXPECT_EQ(dot(HalfType::F16, rounding, 16, {{INFINITY, 1}, {1, 1}}, 3), INFINITY);
    for (const float nan : {dot(HalfType::F16, rounding, 16, {{INFINITY, 0}}, 0),
                            dot(HalfType::F16, rounding, 16, {{INFINITY, 1}, {-INFINITY, 1}}, 0),
                            dot(HalfType::BF16, rounding, 16, {{-NAN, 1}}, 0)})
      EXPECT_EQ(std::bit_cast<uint32_t>(nan), 0x7FFFFFFFU);
    EXPECT_EQ(dot(HalfType::BF16, rounding, 16, {{0x1.FEp127F, 0x1.FEp127F}}, 0), INFINITY);
    EXPECT_EQ(dot(HalfType::F16, rounding, 8, {}, 0x1.234568p-3F), 0x1.234568p-3F); // zeros keep c
  }
}

// The elementary functions against double precision over their whole range: about a million
// bit patterns of every exponent, and the special values. The bounds are those stated in
// docs/language.md.
#include "tests/unit/codegen/MathObjects.h"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "runtime/ElfLoader.h"
#include "gtest/gtest.h"

namespace attnc::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> evaluate(const std::string &name, std::vector<float> x, std::vector<float> y = {}) {
  const size_t count = x.size();
  x.resize((count + 15) / 16 * 16, 1.0f);
  y.resize(x.size(), 1.0f);
  std::vector<float> out(x.size(), kNan);
  const std::string bytes = mathObject(name, cpu::hostIsa());
  EXPECT_FALSE(bytes.empty()) << name;
  auto object = ElfObject::load(bytes);
  EXPECT_TRUE(object.ok()) << object.error().message;
  const MathCall call{x.data(), y.data(), out.data(), static_cast<int64_t>(x.size())};
  (*object)->function<void (*)(const MathCall *)>("math")(&call);
  out.resize(count);
  return out;
}

// Every exponent and sign, mantissas in odd steps.
std::vector<float> everyMagnitude(float low, float high) {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 4099) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (value >= low && value <= high)
      values.push_back(value);
  }
  // Dense where the interesting part is.
  for (int i = 0; i <= 200000; ++i) {
    const float value =
        static_cast<float>(std::max(-100.0f, low) + (std::min(100.0f, high) - std::max(-100.0f, low)) * (i / 200000.0));
    if (value >= low && value <= high)
      values.push_back(value);
  }
  return values;
}

// Distance in units of the last place of the exact result; subnormals count in the smallest.
double ulps(float got, double exact) {
  if (std::isnan(exact))
    return std::isnan(got) ? 0 : kInf;
  const float nearest = static_cast<float>(exact);
  if (std::isinf(nearest) || std::isinf(got))
    return got == nearest ? 0 : kInf;
  int exponent = 0;
  std::frexp(exact, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent, -125) - 24);
  return std::fabs(got - exact) / unit;
}

struct Bound {
  std::string name;
  std::function<double(double)> exact;
  float low, high;
  double ulps;
};

void PrintTo(const Bound &bound, std::ostream *out) { *out << bound.name; }

class MathTest : public testing::TestWithParam<Bound> {};

TEST_P(MathTest, StaysWithinItsBound) {
  const Bound &bound = GetParam();
  const std::vector<float> x = everyMagnitude(bound.low, bound.high);
  const std::vector<float> got = evaluate(bound.name, x);
  double worst = 0;
  float where = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(got[i], bound.exact(x[i]));
    if (!(error <= worst)) {
      worst = error;
      where = x[i];
    }
  }
  RecordProperty("worst_ulps", std::to_string(worst));
  std::printf("%s: %zu values, largest error %.3f ulp at %.9g\n", bound.name.c_str(), x.size(), worst, where);
  EXPECT_LE(worst, bound.ulps) << "at " << where;
}

constexpr float kMax = std::numeric_limits<float>::max();
INSTANTIATE_TEST_SUITE_P(All, MathTest,
                         testing::Values(Bound{"exp", [](double x) { return std::exp(x); }, -kMax, kMax, 2},
                                         Bound{"exp2", [](double x) { return std::exp2(x); }, -kMax, kMax, 2},
                                         Bound{"log", [](double x) { return std::log(x); }, 0, kMax, 2},
                                         Bound{"log2", [](double x) { return std::log2(x); }, 0, kMax, 2},
                                         Bound{"tanh", [](double x) { return std::tanh(x); }, -kMax, kMax, 5},
                                         Bound{"erf", [](double x) { return std::erf(x); }, -kMax, kMax, 3},
                                         Bound{"sin", [](double x) { return std::sin(x); }, -1e6f, 1e6f, 1},
                                         Bound{"cos", [](double x) { return std::cos(x); }, -1e6f, 1e6f, 1}),
                         [](const testing::TestParamInfo<Bound> &info) { return info.param.name; });

TEST(MathSpecials, FollowTheLimits) {
  EXPECT_EQ(evaluate("exp", {-kInf, 0.0f, kInf}), (std::vector<float>{0, 1, kInf}));
  EXPECT_EQ(evaluate("exp2", {-kInf, 0.0f, kInf, 10.0f, -149.0f}),
            (std::vector<float>{0, 1, kInf, 1024, std::ldexp(1.0f, -149)}));
  EXPECT_EQ(evaluate("log", {0.0f, -0.0f, 1.0f, kInf}), (std::vector<float>{-kInf, -kInf, 0, kInf}));
  EXPECT_EQ(evaluate("log2", {0.0f, 1.0f, 1024.0f, kInf}), (std::vector<float>{-kInf, 0, 10, kInf}));
  EXPECT_EQ(evaluate("tanh", {-kInf, 0.0f, kInf}), (std::vector<float>{-1, 0, 1}));
  EXPECT_EQ(evaluate("erf", {-kInf, 0.0f, kInf}), (std::vector<float>{-1, 0, 1}));
  for (const char *name :
       {"exp", "exp2", "log", "log2", "tanh", "erf", "sin", "cos", "softmax_exp2_5", "softmax_exp2_3"})
    // Payloads too: the softmax relies on a NaN staying one.
    for (uint32_t bits : {0x7FC00000u, 0xFFC00000u, 0x7FFFFFFFu, 0x7FC00001u})
      EXPECT_TRUE(std::isnan(evaluate(name, {std::bit_cast<float>(bits)})[0])) << name << " " << std::hex << bits;
  for (const char *name : {"log", "log2"})
    EXPECT_TRUE(std::isnan(evaluate(name, {-1.0f})[0])) << name;
  for (const char *name : {"sin", "cos"})
    EXPECT_TRUE(std::isnan(evaluate(name, {kInf})[0])) << name;
}

// What the no-op of a masked tile rests on.
TEST(MathSpecials, SoftmaxExponentialIsExactAtZeroAndVanishes) {
  for (const char *name : {"softmax_exp2_5", "softmax_exp2_3"})
    EXPECT_EQ(evaluate(name, {0.0f, -0.0f, -kInf, -1000.0f, -127.0f}), (std::vector<float>{1, 1, 0, 0, 0})) << name;
}

TEST(MathSpecials, SoftmaxExponentialIsAccurate) {
  for (auto [name, bound] : {std::pair("softmax_exp2_5", 2e-7), std::pair("softmax_exp2_3", 1.1e-4)}) {
    std::vector<float> x;
    for (int i = 0; i <= 500000; ++i)
      x.push_back(-126.0f * static_cast<float>(i) / 500000.0f);
    const std::vector<float> got = evaluate(name, x);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_NEAR(got[i] / std::exp2(static_cast<double>(x[i])), 1.0, bound) << name << " at " << x[i];
  }
}

// pow follows C's special cases.
TEST(MathSpecials, PowerFollowsC) {
  const std::vector<float> values = {0.0f,  -0.0f, 0.5f,   -0.5f, 1.0f,   -1.0f, 1.5f,  -1.5f, 2.0f,        -2.0f, 3.0f,
                                     -3.0f, 7.25f, 1e-30f, 1e30f, -1e30f, kInf,  -kInf, kNan,  16777216.0f, 1e-40f};
  std::vector<float> x, y;
  for (float a : values)
    for (float b : values) {
      x.push_back(a);
      y.push_back(b);
    }
  const std::vector<float> got = evaluate("pow", x, y);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_LE(ulps(got[i], std::pow(double(x[i]), double(y[i]))), 1) << x[i] << " ** " << y[i] << " = " << got[i];
}

} // namespace
} // namespace attnc::test

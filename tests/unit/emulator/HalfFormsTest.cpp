// 16-bit floats, alone and in pairs, against compiler arithmetic on _Float16 and on floats; and
// special functions within the error that a device may have.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "runtime/emulator/Formats.h"
#include "tests/unit/emulator/PtxRunner.h"

namespace attnc::emulator {

namespace {

constexpr uint32_t kThreads = 128;

// Pairs of normal numbers in both operands; %r1, %r2, %r3 are read, %r4 is the result.
struct Operands {
  uint32_t a, b, c;
};

void check(const std::string &instruction, Format format, const std::function<uint32_t(const Operands &)> &expected) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 8);
  std::vector<Operands> operands(kThreads);
  const auto pair = [&] { return narrow(format, normal(random)) << 16 | narrow(format, normal(random)); };
  for (Operands &one : operands)
    one = {pair(), pair(), pair()};
  operands[3].a = operands[3].b = 0x80000000;
  KernelRun kernel;
  kernel.ptx = kernelOf("mul.wide.u32 %d4, %r0, 12; add.u64 %d3, %d1, %d4; mul.wide.u32 %d4, %r0, 4;"
                        "add.u64 %d2, %d0, %d4; ld.global.u32 %r1, [%d3]; ld.global.u32 %r2, [%d3+4];"
                        "ld.global.u32 %r3, [%d3+8]; cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2;"
                        "cvt.u16.u32 %h3, %r3; mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.u32 %r4, 0; mov.u16 %h4, 0;\n" +
                            instruction + "\n st.global.u32 [%d2], %r4;",
                        "sm_90");
  expectAssembles(kernel.ptx, "sm_90");
  kernel.block = {kThreads, 1, 1};
  kernel.in.resize(kThreads * 12);
  std::memcpy(kernel.in.data(), operands.data(), kernel.in.size());
  kernel.out.resize(kThreads * 4);
  ASSERT_EQ(kernel().texts(), "") << instruction;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    uint32_t actual = 0;
    std::memcpy(&actual, kernel.out.data() + 4 * thread, 4);
    const Operands &one = operands[thread];
    ASSERT_EQ(actual, expected(one)) << instruction << std::hex << " " << one.a << " " << one.b << " " << one.c;
  }
}

_Float16 half(uint32_t bits) { return std::bit_cast<_Float16>(uint16_t(bits)); }
uint32_t bitsOf(_Float16 value) { return std::bit_cast<uint16_t>(value); }
float brain(uint32_t bits) { return std::bit_cast<float>(bits << 16); }

// f on both halves of the operands.
template <typename F> auto onPairs(F f) {
  return [f](const Operands &o) {
    return (f(o.a >> 16, o.b >> 16, o.c >> 16) << 16) | (f(o.a & 0xffff, o.b & 0xffff, o.c & 0xffff) & 0xffff);
  };
}

} // namespace

TEST(HalfForms, F16) {
  const auto add = [](uint32_t a, uint32_t b, uint32_t) { return bitsOf(half(a) + half(b)); };
  const auto product = [](uint32_t a, uint32_t b, uint32_t) { return bitsOf(half(a) * half(b)); };
  // Exact in double precision, and rounded once.
  const auto fma = [](uint32_t a, uint32_t b, uint32_t c) {
    return bitsOf(_Float16(double(half(a)) * double(half(b)) + double(half(c))));
  };
  check("add.rn.f16x2 %r4, %r1, %r2;", Format::F16, onPairs(add));
  check("mul.rn.f16x2 %r4, %r1, %r2;", Format::F16, onPairs(product));
  check("fma.rn.f16x2 %r4, %r1, %r2, %r3;", Format::F16, onPairs(fma));
  check("add.f16 %h4, %h1, %h2; cvt.u32.u16 %r4, %h4;", Format::F16,
        [&](const Operands &o) { return add(o.a, o.b, 0); });
  check("max.f16x2 %r4, %r1, %r2;", Format::F16,
        onPairs([](uint32_t a, uint32_t b, uint32_t) { return half(a) > half(b) ? a & 0xffff : b & 0xffff; }));
  check("neg.f16x2 %r4, %r1;", Format::F16, [](const Operands &o) { return o.a ^ 0x80008000; });
  check("setp.lt.f16 %p4, %h1, %h2; selp.u32 %r4, 1, 0, %p4;", Format::F16,
        [](const Operands &o) { return half(o.a) < half(o.b); });
  check("cvt.f32.f16 %f4, %h1; mov.b32 %r4, %f4;", Format::F16,
        [](const Operands &o) { return std::bit_cast<uint32_t>(float(half(o.a))); });
}

TEST(HalfForms, BF16) {
  const auto rounded = [](double value) { return narrow(Format::BF16, value); };
  check("fma.rn.bf16x2 %r4, %r1, %r2, %r3;", Format::BF16, onPairs([&](uint32_t a, uint32_t b, uint32_t c) {
          return rounded(double(brain(a)) * double(brain(b)) + double(brain(c)));
        }));
  check("add.rn.bf16x2 %r4, %r1, %r2;", Format::BF16,
        onPairs([&](uint32_t a, uint32_t b, uint32_t) { return rounded(double(brain(a)) + double(brain(b))); }));
  check("min.bf16x2 %r4, %r1, %r2;", Format::BF16,
        onPairs([](uint32_t a, uint32_t b, uint32_t) { return brain(a) < brain(b) ? a : b; }));
  check("cvt.rn.bf16x2.f32 %r4, %f1, %f2;", Format::BF16, [&](const Operands &o) {
    return rounded(std::bit_cast<float>(o.a)) << 16 | rounded(std::bit_cast<float>(o.b));
  });
  check("cvt.f32.bf16 %f4, %h1; mov.b32 %r4, %f4;", Format::BF16, [](const Operands &o) { return o.a << 16; });
}

TEST(HalfForms, NarrowFormats) {
  check("cvt.rn.satfinite.e4m3x2.f32 %h4, %f1, %f2; cvt.u32.u16 %r4, %h4;", Format::F16, [](const Operands &o) {
    const Conversion conversion = {.isSaturating = true};
    return narrow(Format::E4M3, std::bit_cast<float>(o.a), conversion) << 8 |
           narrow(Format::E4M3, std::bit_cast<float>(o.b), conversion);
  });
  check("cvt.rn.f16x2.e5m2x2 %r4, %h1;", Format::F16, [](const Operands &o) {
    return narrow(Format::F16, widen(Format::E5M2, o.a >> 8 & 255)) << 16 |
           narrow(Format::F16, widen(Format::E5M2, o.a & 255));
  });
  check("cvt.rna.tf32.f32 %r4, %f1;", Format::F16, [](const Operands &o) {
    const uint32_t nearest = (o.a + 0x1000) & ~0x1fffU; // ties away from zero are upwards in the bits
    return nearest;
  });
}

TEST(HalfForms, SpecialFunctions) {
  struct Row {
    const char *instruction;
    double (*function)(double);
    double tolerance;
  };
  const Row rows[] = {
      {"ex2.approx.ftz.f32", [](double x) { return std::exp2(x); }, 3e-7},
      {"lg2.approx.f32", [](double x) { return std::log2(x); }, 3e-7},
      {"rcp.approx.ftz.f32", [](double x) { return 1 / x; }, 2e-7},
      {"rsqrt.approx.f32", [](double x) { return 1 / std::sqrt(x); }, 3e-7},
      {"sqrt.approx.f32", [](double x) { return std::sqrt(x); }, 2e-7},
      {"sin.approx.f32", [](double x) { return std::sin(x); }, 1e-6},
      {"cos.approx.f32", [](double x) { return std::cos(x); }, 1e-6},
      {"tanh.approx.f32", [](double x) { return std::tanh(x); }, 6e-4},
  };
  for (const Row &row : rows) {
    KernelRun kernel;
    kernel.ptx = kernelOf("mul.wide.u32 %d4, %r0, 4; add.u64 %d3, %d1, %d4; add.u64 %d2, %d0, %d4;"
                          "ld.global.f32 %f1, [%d3];\n" +
                          std::string(row.instruction) + " %f2, %f1;\n st.global.f32 [%d2], %f2;");
    expectAssembles(kernel.ptx);
    std::vector<float> in(32), out(32);
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = 0.07F + 0.31F * float(i);
    kernel.in.resize(128);
    std::memcpy(kernel.in.data(), in.data(), 128);
    kernel.out.resize(128);
    ASSERT_EQ(kernel().texts(), "");
    std::memcpy(out.data(), kernel.out.data(), 128);
    for (size_t i = 0; i < in.size(); ++i) {
      const double expected = row.function(in[i]);
      EXPECT_NEAR(out[i], expected, row.tolerance * std::max(1.0, std::fabs(expected))) << row.instruction << in[i];
    }
  }
}

} // namespace attnc::emulator

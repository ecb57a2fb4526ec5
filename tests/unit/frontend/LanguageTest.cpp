// The rules of docs/language.md that concern values; each test carries its rule's label.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/frontend/Evaluator.h"

namespace attnc::test {
namespace {

constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
constexpr int32_t kMax = std::numeric_limits<int32_t>::max();

// i32 values through f32 lose bits, so integer results are compared inside the language.
bool holds(const std::string &condition, const Point &point = {}, const Inputs &inputs = {}) {
  Program program = variantFrom("variant v { mask_mod = " + condition + "; }");
  return maskAt(program, inputs, point);
}

std::string text(int32_t value) { return "(" + std::to_string(value) + ")"; }

// The same expression on literals (folded) and on q_idx, kv_idx (evaluated).
void expectBoth(const std::string &op, int32_t a, int32_t b, int32_t expected) {
  EXPECT_TRUE(holds(text(a) + op + text(b) + " == " + text(expected))) << a << op << b;
  EXPECT_TRUE(holds("q_idx" + op + "kv_idx == " + text(expected), {0, 0, a, b})) << a << op << b;
}

int32_t floorDivide(int64_t a, int64_t b) {
  return b == 0 ? 0 : static_cast<int32_t>(std::floor(static_cast<long double>(a) / b));
}

TEST(Language, div_c1_FloorsAndIsTotal) {
  for (auto [a, b, quotient] : {std::array{7, 2, 3},
                                {-7, 2, -4},
                                {7, -2, -4},
                                {-7, -2, 3},
                                {5, 0, 0},
                                {-5, 0, 0},
                                {kMin, -1, kMin},
                                {0, -3, 0}})
    expectBoth(" // ", a, b, quotient);
}

TEST(Language, mod_c1_HasTheSignOfTheDivisorAndIsTotal) {
  for (auto [a, b, rest] :
       {std::array{7, 3, 1}, {-7, 3, 2}, {7, -3, -2}, {-7, -3, -1}, {5, 0, 0}, {kMin, -1, 0}, {6, -3, 0}})
    expectBoth(" % ", a, b, rest);
}

TEST(Language, div_c1_mod_c1_RandomAgainstLongDivision) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Program quotient = variantFrom("variant v { mask_mod = q_idx // kv_idx == b; }");
  Program rest = variantFrom("variant v { mask_mod = q_idx % kv_idx == b; }");
  for (int i = 0; i < 2000; ++i) {
    int32_t a = static_cast<int32_t>(random()), b = static_cast<int32_t>(random());
    if (i % 2)
      b %= 100;
    if (a == kMin && b == -1)
      continue;
    int32_t q = floorDivide(a, b);
    EXPECT_TRUE(maskAt(quotient, {}, {q, 0, a, b})) << a << " // " << b;
    int32_t r = b == 0 ? 0 : static_cast<int32_t>(a - int64_t(q) * b);
    EXPECT_TRUE(maskAt(rest, {}, {r, 0, a, b})) << a << " % " << b;
  }
}

TEST(Language, div_c2_SlashGivesF32) {
  EXPECT_EQ(valueOf("7 / 2"), 3.5f);
  EXPECT_EQ(valueOf("q_idx / kv_idx", {0, 0, 1, 3}), 1.f / 3.f);
  EXPECT_EQ(valueOf("1 / 0"), INFINITY);
  EXPECT_TRUE(std::isnan(valueOf("q_idx / kv_idx", {0, 0, 0, 0})));
}

TEST(Language, add_c1_WrapsAround) {
  expectBoth(" + ", kMax, 1, kMin);
  expectBoth(" - ", kMin, 1, kMax);
  expectBoth(" * ", 65536, 65536, 0);
  EXPECT_TRUE(holds("-q_idx == q_idx", {0, 0, kMin, 0}));
  EXPECT_TRUE(holds("abs(q_idx) == q_idx", {0, 0, kMin, 0}));
}

TEST(Language, shift_c1_TakesTheAmountModulo32) {
  expectBoth(" << ", 1, 33, 2);
  expectBoth(" << ", 3, -1, kMin);
  expectBoth(" >> ", -8, 1, -4);
  expectBoth(" >> ", -8, 33, -4);
}

TEST(Language, bits_c1_OnI32AndBool) {
  expectBoth(" & ", 12, 10, 8);
  expectBoth(" | ", 12, 10, 14);
  expectBoth(" ^ ", 12, 10, 6);
  EXPECT_TRUE(holds("(q_idx > 0) ^ (kv_idx > 0)", {0, 0, 1, 0}));
  EXPECT_FALSE(holds("(q_idx > 0) & (kv_idx > 0)", {0, 0, 1, 0}));
  EXPECT_TRUE(holds("(q_idx > 0) == (kv_idx > 0)", {0, 0, 1, 1}));
}

TEST(Language, pow_c1_IntegersByMultiplication) {
  expectBoth(" ** 3 + 0 * ", -5, 0, -125);
  EXPECT_TRUE(holds("q_idx ** 0 == 1", {0, 0, 0, 0}));
  EXPECT_TRUE(holds("2 ** 31 == -2147483648"));
  EXPECT_TRUE(holds("2 ** 32 == 0"));
  EXPECT_EQ(valueOf("f32(q_idx) ** -1", {0, 0, 4, 0}), 0.25f);
  EXPECT_EQ(valueOf("pow(2.0, 0.5)"), std::sqrt(2.f));
}

TEST(Language, widen_c1_I32MeetsF32) {
  EXPECT_EQ(valueOf("q_idx + 0.5", {0, 0, 3, 0}), 3.5f);
  EXPECT_EQ(valueOf("if q_idx > 0 then 1 else 0.5", {0, 0, 3, 0}), 1.f);
  EXPECT_EQ(valueOf("f32(16777217)"), 16777216.f);
  EXPECT_TRUE(holds("q_idx == 3.0", {0, 0, 3, 0}));
}

TEST(Language, cast_c1_SaturatesAndNanIsZero) {
  EXPECT_TRUE(holds("i32(-1.9) == -1 and i32(1.9) == 1"));
  EXPECT_TRUE(holds("i32(1e20) == 2147483647 and i32(-inf) == -2147483648"));
  EXPECT_TRUE(holds("i32(inf - inf) == 0"));
  EXPECT_EQ(valueOf("f32(q_idx > 0) + i32(kv_idx > 0)", {0, 0, 1, 1}), 2.f);
  EXPECT_TRUE(holds("bool(q_idx) and not bool(kv_idx)", {0, 0, -7, 0}));
}

TEST(Language, compare_c1_Chains) {
  EXPECT_TRUE(holds("0 <= q_idx < 5", {0, 0, 4, 0}));
  EXPECT_FALSE(holds("0 <= q_idx < 5", {0, 0, 5, 0}));
  EXPECT_FALSE(holds("0 <= q_idx < 5", {0, 0, -1, 0}));
  EXPECT_TRUE(holds("1 < 2 > 0 == 0 != 1"));
}

TEST(Language, compare_c2_NanIsFalseExceptNotEqual) {
  Program compare = variantFrom("variant v { score_mod = f32(score == score) + 2 * f32(score != score)"
                                " + 4 * f32(score < 1.0) + 8 * f32(score >= 1.0); }");
  EXPECT_EQ(scoreAt(compare, {}, {0, 0, 0, 0, NAN}), 2.f);
  EXPECT_EQ(scoreAt(compare, {}, {0, 0, 0, 0, 0.f}), 5.f);
}

TEST(Language, min_c1_NanIsKept) {
  EXPECT_TRUE(std::isnan(valueOf("min(score, 1.0)", {0, 0, 0, 0, NAN})));
  EXPECT_TRUE(std::isnan(valueOf("max(1.0, score, 2.0)", {0, 0, 0, 0, NAN})));
  EXPECT_TRUE(std::isnan(valueOf("clamp(score, 0.0, 1.0)", {0, 0, 0, 0, NAN})));
  EXPECT_EQ(valueOf("min(3, q_idx, 2)", {0, 0, 7, 0}), 2.f);
  EXPECT_EQ(valueOf("clamp(q_idx, 5, 3)", {0, 0, 9, 0}), 3.f);
  EXPECT_EQ(valueOf("relu(-3.0) + relu(2)"), 2.f);
}

TEST(Language, builtin_c1_AreTheMathematicalFunctions) {
  EXPECT_FLOAT_EQ(valueOf("sigmoid(0.5)"), 1.f / (1.f + std::exp(-0.5f)));
  EXPECT_FLOAT_EQ(valueOf("exp(1) + exp2(3) + log(2.0) + log2(8.0)"), std::exp(1.f) + 8 + std::log(2.f) + 3);
  EXPECT_FLOAT_EQ(valueOf("tanh(0.5) + sin(0.5) + cos(0.5) + erf(0.5)"),
                  std::tanh(.5f) + std::sin(.5f) + std::cos(.5f) + std::erf(.5f));
  EXPECT_EQ(valueOf("floor(-1.5) + ceil(-1.5)"), -3.f);
  EXPECT_EQ(valueOf("round(0.5) + round(1.5) + round(2.5)"), 4.f);
  EXPECT_EQ(valueOf("sqrt(16) + rsqrt(4.0) + abs(-2)"), 6.5f);
}

TEST(Language, load_c2_ClampsEachIndex) {
  Program program = variantFrom("variant v { tensor t: f32[?, ?]; score_mod = t[q_idx, kv_idx]; }");
  Inputs in;
  in.tensors["t"] = HostTensor::floats({2, 3}, {0, 1, 2, 10, 11, 12});
  EXPECT_EQ(scoreAt(program, in, {0, 0, 1, 1}), 11.f);
  EXPECT_EQ(scoreAt(program, in, {0, 0, -5, 7}), 2.f);
  EXPECT_EQ(scoreAt(program, in, {0, 0, kMax, kMin}), 10.f);
}

// Both arms are evaluated; nothing in the arm that is not taken can hurt.
TEST(Language, if_c1_UntakenArmsAreHarmless) {
  Program program = variantFrom("variant v { tensor t: f32[4];"
                                "score_mod = if kv_idx != 0 then t[q_idx // kv_idx] else -inf; }");
  Inputs in;
  in.tensors["t"] = HostTensor::floats({4}, {1, 2, 3, 4});
  EXPECT_EQ(scoreAt(program, in, {0, 0, 6, 3}), 3.f);
  EXPECT_EQ(scoreAt(program, in, {0, 0, 6, 0}), -INFINITY);
}

TEST(Language, if_c1_ConstantsChooseTheirArm) {
  Program program = variantFrom("const n = 3; fn f(x: i32) -> i32 {"
                                "  if n > 2 { return x; } else { for i in 0 .. x { } return 0; } }"
                                "variant v { mask_mod = f(q_idx) == 1; }");
  EXPECT_EQ(print(program), print(variantFrom("variant v { mask_mod = q_idx == 1; }")));
}

TEST(Language, return_c3_EarlyReturnsAndVars) {
  Program program = variantFrom(R"(
    fn f(x: i32, y: i32) -> i32 {
      var r = 0;
      if x > 5 { if y > 5 { return 1; } r = 10; } else if y == 0 { return 2; } else { r = r + 20; }
      for i in 0 .. 4 { if x == i { return 100 + i; } r = r + i; }
      return r;
    }
    variant v { score_mod = f32(f(q_idx, kv_idx)); })");
  auto f = [](int x, int y) {
    int r = 0;
    if (x > 5) {
      if (y > 5)
        return 1;
      r = 10;
    } else if (y == 0) {
      return 2;
    } else {
      r = r + 20;
    }
    for (int i = 0; i < 4; ++i) {
      if (x == i)
        return 100 + i;
      r = r + i;
    }
    return r;
  };
  for (int x = -1; x < 9; ++x)
    for (int y = -1; y < 9; ++y)
      EXPECT_EQ(scoreAt(program, {}, {0, 0, x, y}), static_cast<float>(f(x, y))) << x << " " << y;
}

TEST(Language, for_c1_RunsUpwardOrNotAtAll) {
  Program program = variantFrom("fn f() -> i32 { var s = 0; for i in 1 .. 5 { s = s * 10 + i; }"
                                "for i in 5 .. 1 { s = 0; } return s; }"
                                "variant v { mask_mod = f() == 1234 and q_idx == 0; }");
  EXPECT_TRUE(maskAt(program, {}, {}));
}

TEST(Language, logic_c1_IsPlainLogic) {
  for (int q : {0, 1})
    for (int kv : {0, 1}) {
      EXPECT_EQ(holds("q_idx == 1 and not (kv_idx == 1) or kv_idx == 1 and q_idx == 0", {0, 0, q, kv}), q != kv);
      EXPECT_EQ(holds("select(q_idx == 1, kv_idx == 1, kv_idx == 0)", {0, 0, q, kv}), q == kv);
    }
}

TEST(Language, reindex_c1_TakesTheValuesBeforeIt) {
  Program swapped = variantFrom("mask_mod m = q_idx > kv_idx;"
                                "variant v { mask_mod = m @ (q_idx = kv_idx, kv_idx = q_idx); }");
  EXPECT_TRUE(maskAt(swapped, {}, {0, 0, 1, 2}));
  EXPECT_FALSE(maskAt(swapped, {}, {0, 0, 2, 1}));
  Program score = variantFrom("score_mod twice = score * 2.0; variant v {"
                              "score_mod = twice @ (score = score + 1.0) + score; }");
  EXPECT_EQ(scoreAt(score, {}, {0, 0, 0, 0, 3.f}), 11.f);
}

TEST(Language, pipe_c1_FeedsTheScore) {
  Program program = variantFrom("score_mod inc = score + 1.0; score_mod twice = score * 2.0;"
                                "variant v { score_mod = score |> inc |> twice |> score - kv_idx; }");
  EXPECT_EQ(scoreAt(program, {}, {0, 0, 0, 5, 3.f}), 3.f);
}

TEST(Language, apply_c1_ANameAppliesToTheCurrentIndices) {
  Program program = variantFrom("mask_mod m = q_idx == 1; mask_mod n = m and kv_idx == 2;"
                                "variant v { mask_mod = n; }");
  EXPECT_TRUE(maskAt(program, {}, {0, 0, 1, 2}));
  EXPECT_FALSE(maskAt(program, {}, {0, 0, 2, 2}));
}

// const_c1: folding computes what running computes.
TEST(Language, const_c1_FoldingIsRunning) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const char *forms[] = {"A + C",
                         "A * C",
                         "A // C",
                         "A % C",
                         "A << C",
                         "A >> C",
                         "min(A, C)",
                         "clamp(A, C, 3)",
                         "A ^ C",
                         "i32(A / C)",
                         "i32(sqrt(f32(A))) + C"};
  for (int i = 0; i < 110; ++i) {
    int32_t a = static_cast<int32_t>(random()), c = static_cast<int32_t>(random()) >> (i % 32);
    std::string folded = forms[i % 11], run = folded;
    for (size_t at; (at = folded.find('A')) != std::string::npos;)
      folded.replace(at, 1, text(a));
    for (size_t at; (at = folded.find('C')) != std::string::npos;)
      folded.replace(at, 1, text(c));
    for (size_t at; (at = run.find('A')) != std::string::npos;)
      run.replace(at, 1, "q_idx");
    for (size_t at; (at = run.find('C')) != std::string::npos;)
      run.replace(at, 1, "kv_idx");
    EXPECT_TRUE(holds(folded + " == " + run, {0, 0, a, c})) << folded;
  }
}

TEST(Language, field_c2_ScaleIsAConstant) {
  Program program = variantFrom("const n = 64; variant v { scale = 1 / sqrt(n); }");
  EXPECT_EQ(program.scale, 0.125f);
  EXPECT_FALSE(variantFrom("variant v { }").scale);
}

TEST(Language, field_c3_TrivialModsAreNone) {
  Program program = variantFrom("variant v { mask_mod = 1 < 2; score_mod = score; sink = 0; }");
  EXPECT_FALSE(program.maskMod);
  EXPECT_FALSE(program.scoreMod);
  ASSERT_TRUE(program.sink);
  EXPECT_EQ(evaluate(program, *program.sink, {}, {}), 0u);
}

TEST(Language, param_c1_DefaultsAndTypes) {
  Program program = variantFrom("variant v { param a: i32 = 3 + 4; param c: f32 = 2; param d: bool;"
                                "score_mod = score * c + a + f32(d); }");
  ASSERT_EQ(program.params.size(), 3u);
  EXPECT_EQ(program.params[0].defaultBits, 7u);
  EXPECT_EQ(program.params[1].defaultBits, std::bit_cast<uint32_t>(2.f));
  EXPECT_FALSE(program.params[2].defaultBits);
  EXPECT_EQ(program.params[2].type, ScalarType::Bool);
}

TEST(Language, tensor_c1_AxesAndFacts) {
  Program program = variantFrom("const n = 16; variant v { tensor t: i32[Q, ?, n, 3] sorted;"
                                "tensor u: f32[Hkv, KV] grad;"
                                "score_mod = score + u[h, kv_idx] + t[0, 0, 0, 0]; }");
  ASSERT_EQ(program.captures.size(), 2u);
  const Capture &t = program.captures[0];
  ASSERT_EQ(t.dims.size(), 4u);
  EXPECT_EQ(t.dims[0].kind, CaptureDim::Named);
  EXPECT_EQ(t.dims[0].named, DimKind::Q);
  EXPECT_EQ(t.dims[1].kind, CaptureDim::Any);
  EXPECT_EQ(t.dims[2].size, 16);
  EXPECT_TRUE(t.isSorted);
  EXPECT_TRUE(program.captures[1].wantsGradient);
}

TEST(Language, capture_c1_ModuleTensorsReachTheVariantsThatUseThem) {
  frontend::Module module =
      frontend::loadText("tensor slopes: f32[H]; param gain: f32 = 1.0;"
                         "score_mod biased = score + gain * slopes[h];"
                         "variant a { score_mod = biased; } variant plain { mask_mod = q_idx >= kv_idx; }",
                         "t.attn");
  ASSERT_TRUE(module.ok()) << module.rendered;
  ASSERT_EQ(module.variants[0].captures.size(), 1u);
  EXPECT_EQ(module.variants[0].params.size(), 1u);
  EXPECT_TRUE(module.variants[1].captures.empty());
}

TEST(Language, call_c4_TensorsPassThroughFunctions) {
  Program program = variantFrom("fn inner(t: f32[?], i: i32) -> f32 = t[i];"
                                "fn outer(u: f32[?], i: i32) -> f32 = inner(u, i + 1);"
                                "variant v { tensor w: f32[KV]; score_mod = outer(w, kv_idx); }");
  Inputs in;
  in.tensors["w"] = HostTensor::floats({4}, {1, 2, 3, 4});
  EXPECT_EQ(scoreAt(program, in, {0, 0, 0, 2}), 4.f);
}

} // namespace
} // namespace attnc::test

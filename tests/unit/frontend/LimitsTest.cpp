// Whatever is written, the front end answers in bounded time and stack.
#include <gtest/gtest.h>

#include "tests/unit/frontend/Evaluator.h"

namespace attnc::test {
namespace {

using frontend::loadText;
using frontend::Module;

std::string repeated(const std::string &text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i)
    out += text;
  return out;
}

void expectError(const std::string &text, const std::string &message) {
  Module module = loadText(text, "t.attn", "/nonexistent");
  EXPECT_FALSE(module.ok());
  EXPECT_NE(module.rendered.find(message), std::string::npos) << module.rendered.substr(0, 2000);
}

TEST(Limits, nesting_c1_DeepInputIsAnError) {
  const int n = 40000;
  for (const char *open : {"(", "-", "not ", "if true then ", "t[", "f(", "1 ** "})
    expectError("const a = " + repeated(open, n) + "1", "nested deeper than 200 levels");
  expectError("fn f() " + repeated("{ if true ", n), "nested deeper than 200 levels");
  expectError("fn f() { if true { } " + repeated("else if true { } ", n), "nested deeper");
  expectError("variant v { mask_mod = true" + repeated(" @ (q_idx = 1)", n) + "; }",
              "longer than 500 operators in a row");
}

TEST(Limits, nesting_c1_LongChainsAreAnError) {
  EXPECT_TRUE(loadText("const a = 1" + repeated(" + 1", 400) + ";", "t.attn").ok());
  expectError("const a = 1" + repeated(" + 1", 600) + ";", "longer than 500 operators in a row");
}

TEST(Limits, nesting_c2_DeepCallsAreAnError) {
  std::string text = "fn f_0(x: i32) -> i32 = x;\n";
  for (int i = 1; i < 3000; ++i)
    text += "fn f_" + std::to_string(i) + "(x: i32) -> i32 = f_" + std::to_string(i - 1) + "(x);\n";
  expectError(text + "variant v { mask_mod = f_2999(q_idx) == 0; }", "nest deeper than 1000 levels");
  EXPECT_TRUE(loadText(text + "variant v { mask_mod = f_300(q_idx) == 0; }", "t.attn").ok());
}

TEST(Limits, size_c1_ExponentialExpansionIsAnError) {
  std::string text = "fn f_0(x: i32) -> i32 = x * 3 + 1;\n";
  for (int i = 1; i < 60; ++i) {
    std::string below = "f_" + std::to_string(i - 1);
    text += "fn f_" + std::to_string(i) + "(x: i32) -> i32 = " + below + "(x + 1) * " + below + "(x * x);\n";
  }
  expectError(text + "variant v { mask_mod = f_59(q_idx) == 0; }", "variant 'v' expands to more");
  expectError(text + "const c = f_59(1);", "a constant expands to more");
}

// Work without instructions is bounded too.
TEST(Limits, size_c1_EmptyLoopsAreBounded) {
  std::string loops = "for i in 0 .. 1000 { for j in 0 .. 1000 { for l in 0 .. 1000 { } } }";
  expectError("mask_mod m { " + loops + " return true; } variant v { mask_mod = m; }", "variant 'v' expands to more");
  std::string many = "mask_mod m { " + loops + " return true; }";
  for (int i = 0; i < 100; ++i)
    many += "variant v" + std::to_string(i) + " { mask_mod = m; }";
  expectError(many, "expands to more");
}

// An early return does not double what follows it.
TEST(Limits, return_c3_EarlyReturnsStayLinear) {
  std::string body;
  for (int i = 0; i < 300; ++i)
    body += "if q_idx * " + std::to_string(i + 2) + " == kv_idx { return kv_idx > " + std::to_string(i) + "; }\n";
  Program program = variantFrom("mask_mod m {\n" + body + "return false; }\nvariant v { mask_mod = m; }");
  ASSERT_TRUE(program.maskMod);
  EXPECT_LT(program.maskMod->body.size(), 300u * 8);
}

} // namespace
} // namespace attnc::test

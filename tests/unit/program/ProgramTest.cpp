// Programs as data: print and parse are inverse, folding computes what evaluation does, and
// no text crashes the reader.
#include "ir/Program.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/support/RandomVariant.h"
#include "gtest/gtest.h"

namespace attnc {
namespace {

unsigned seed() { return static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed()); }

TEST(ProgramText, PrintAndParseAreInverse) {
  for (unsigned i = 0; i < 300; ++i) {
    const auto made = test::randomVariant(seed() + i, {.hasMask = true, .hasScore = true});
    const std::string text = print(*made.program);
    const ParsedProgram parsed = parseProgram(text);
    ASSERT_TRUE(parsed.program) << parsed.failure.message << "\n" << text;
    EXPECT_EQ(print(*parsed.program), text);
  }
}

TEST(ProgramText, EveryFloatReadsBackExactly) {
  std::mt19937 random(seed());
  std::vector<uint32_t> patterns = {0, 0x80000000, 1, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0x00800000};
  for (int i = 0; i < 2000; ++i)
    patterns.push_back(random());
  for (uint32_t bits : patterns) {
    Program program;
    program.name = "constant";
    FunctionBuilder builder(program);
    const ValueId sum = builder.create(
        Opcode::AddF, {builder.argument(ArgumentKind::Score), builder.constFloat(std::bit_cast<float>(bits))});
    program.scoreMod = builder.finish(sum);
    const ParsedProgram parsed = parseProgram(print(program));
    ASSERT_TRUE(parsed.program) << parsed.failure.message;
    bool found = false;
    for (const Instruction &instruction : parsed.program->scoreMod->body)
      found |= instruction.op == Opcode::Constant && instruction.immediate == bits;
    EXPECT_TRUE(found) << std::hex << bits;
  }
}

TEST(ProgramText, LocationsSurvive) {
  Program program;
  program.name = "located";
  program.files = {"my \"file\".attn"};
  FunctionBuilder builder(program);
  const ValueId keep = builder.compare(IntPredicate::sge, builder.argument(ArgumentKind::QueryIndex),
                                       builder.argument(ArgumentKind::KvIndex), {0, 12, 7});
  program.maskMod = builder.finish(keep);
  const std::string text = print(program, PrintLocations::Yes);
  const ParsedProgram parsed = parseProgram(text);
  ASSERT_TRUE(parsed.program) << parsed.failure.message;
  EXPECT_EQ(print(*parsed.program, PrintLocations::Yes), text);
  EXPECT_EQ(parsed.program->maskMod->body.back().location.line, 12u);
}

TEST(ProgramText, ReadsWhatMlirPrints) {
  const ParsedProgram parsed = parseProgram(R"(module {
  // a comment
  attn.variant @v {
    attn.scalar @cap : f32 = 5.000000e+01 : f32
    attn.score_mod (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
      %c5_i32 = arith.constant 5 : i32
      %cst = arith.constant 0xFF800000 : f32
      %true = arith.constant true
      %0 = arith.cmpi slt, %q_idx, %c5_i32 : i32
      %1 = arith.xori %0, %true : i1
      %2 = arith.select %1, %score, %cst : f32
      attn.yield %2 : f32
    }
  }
}
)");
  ASSERT_TRUE(parsed.program) << parsed.failure.message;
  EXPECT_EQ(parsed.program->params[0].defaultBits, std::bit_cast<uint32_t>(50.0f));
}

TEST(ProgramText, WrongTextNamesTheLine) {
  const std::pair<const char *, const char *> cases[] = {
      {"attn.variant @v {\n  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {\n    %0 = arith.frob %b, %h "
       ": i32",
       "line 3: unknown operation 'arith.frob'"},
      {"attn.variant @v {\n  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {\n    %0 = arith.addi %b, %x "
       ": i32",
       "line 3: value %x is not defined"},
      {"attn.variant @v {\n  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {\n    attn.yield %b : i32\n  "
       "}",
       "expected a result of type i1"},
      {"attn.variant @v {\n  attn.frob\n}", "line 2: unknown declaration 'attn.frob'"},
      {"", "expected 'attn.variant'"}};
  for (const auto &[text, message] : cases) {
    const ParsedProgram parsed = parseProgram(text);
    ASSERT_FALSE(parsed.program) << text;
    EXPECT_NE(parsed.failure.message.find(message), std::string::npos) << parsed.failure.message;
  }
}

TEST(ProgramText, DamagedTextNeverCrashes) {
  std::mt19937 random(seed());
  const std::string whole = print(*test::randomVariant(5, {.hasMask = true, .hasScore = true}).program);
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole.substr(0, random() % (whole.size() + 1));
    for (unsigned flips = random() % 4; flips > 0 && !text.empty(); --flips)
      text[random() % text.size()] = static_cast<char>(random());
    const ParsedProgram parsed = parseProgram(text);
    EXPECT_NE(parsed.program.has_value(), !parsed.failure.message.empty());
  }
}

//===----------------------------------------------------------------------===//
// Building and evaluating
//===----------------------------------------------------------------------===//

TEST(FunctionBuilder, EqualInstructionsAreOne) {
  Program program;
  FunctionBuilder builder(program);
  const ValueId q = builder.argument(ArgumentKind::QueryIndex), k = builder.argument(ArgumentKind::KvIndex);
  EXPECT_EQ(builder.create(Opcode::SubI, {q, k}), builder.create(Opcode::SubI, {q, k}));
  EXPECT_NE(builder.create(Opcode::SubI, {q, k}), builder.create(Opcode::SubI, {k, q}));
}

uint32_t evaluate(Opcode op, std::vector<uint32_t> operands, ScalarType type = ScalarType::I32) {
  Instruction instruction{op, type, 0, 0, std::vector<ValueId>(operands.size()), {}};
  return *evaluateBits(instruction, operands.data());
}

// div_c1: floor division and modulo are total.
TEST(Evaluate, IntegerRules) {
  auto u = [](int64_t value) { return static_cast<uint32_t>(value); };
  constexpr int64_t least = std::numeric_limits<int32_t>::min();
  for (auto [a, b, quotient, rest] : {std::array<int64_t, 4>{7, 2, 3, 1},
                                      {-7, 2, -4, 1},
                                      {7, -2, -4, -1},
                                      {-7, -2, 3, -1},
                                      {5, 0, 0, 0},
                                      {least, -1, least, 0},
                                      {least, 1, least, 0},
                                      {0, -3, 0, 0}}) {
    EXPECT_EQ(evaluate(Opcode::FloorDiv, {u(a), u(b)}), u(quotient)) << a << " // " << b;
    EXPECT_EQ(evaluate(Opcode::FloorMod, {u(a), u(b)}), u(rest)) << a << " % " << b;
  }
  EXPECT_EQ(evaluate(Opcode::ShlI, {1, 33}), 2u);
  EXPECT_EQ(evaluate(Opcode::ShrSI, {u(-8), 34}), u(-2));
  EXPECT_EQ(evaluate(Opcode::AbsI, {u(least)}), u(least));
  EXPECT_EQ(evaluate(Opcode::AddI, {u(INT32_MAX), 1}), u(least));
}

TEST(Evaluate, FloatRules) {
  auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  auto isNan = [](uint32_t value) { return std::isnan(std::bit_cast<float>(value)); };
  EXPECT_TRUE(isNan(evaluate(Opcode::MinF, {bits(nan), bits(1)}, ScalarType::F32)));
  EXPECT_TRUE(isNan(evaluate(Opcode::MaxF, {bits(1), bits(nan)}, ScalarType::F32)));
  EXPECT_TRUE(isNan(evaluate(Opcode::Clamp, {bits(nan), bits(0), bits(1)}, ScalarType::F32)));
  EXPECT_EQ(evaluate(Opcode::FloatToInt, {bits(nan)}), 0u);
  EXPECT_EQ(evaluate(Opcode::FloatToInt, {bits(inf)}), static_cast<uint32_t>(INT32_MAX));
  EXPECT_EQ(evaluate(Opcode::FloatToInt, {bits(-3e9f)}), static_cast<uint32_t>(INT32_MIN));
  EXPECT_EQ(evaluate(Opcode::FloatToInt, {bits(-2.9f)}), static_cast<uint32_t>(-2));
  EXPECT_EQ(evaluate(Opcode::RoundEven, {bits(2.5f)}, ScalarType::F32), bits(2));
}

} // namespace
} // namespace attnc

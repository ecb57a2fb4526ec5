// The text of a variant is what kernels are cached by: it must not depend on addresses,
// and every variant must survive printing and parsing.
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/frontend/Evaluator.h"

namespace attnc::test {
namespace {

std::string printed(const frontend::Module &module) {
  std::string out;
  for (const Program &program : module.variants)
    out += print(program, PrintLocations::Yes);
  return out;
}

TEST(Std, LoadsWithoutADiagnostic) {
  frontend::Module module = frontend::loadFile("std");
  EXPECT_EQ(module.rendered, "");
  EXPECT_GE(module.variants.size(), 40u);
  std::set<std::string> names;
  for (const Program &program : module.variants)
    EXPECT_TRUE(names.insert(program.name).second) << "two variants " << program.name;
}

TEST(Std, VariantsReadBackAsPrinted) {
  for (const Program &program : frontend::loadFile("std").variants) {
    for (PrintLocations locations : {PrintLocations::No, PrintLocations::Yes}) {
      std::string text = print(program, locations);
      ParsedProgram parsed = parseProgram(text);
      ASSERT_TRUE(parsed.program) << parsed.failure.message << "\n" << text;
      EXPECT_EQ(print(*parsed.program, locations), text);
    }
  }
}

TEST(Lowering, IsTheSameEveryTime) {
  const char *text = "mask_mod m { var a = 1; var c = 2; var d = 3; var e = 4;"
                     "if q_idx > kv_idx { a = q_idx; c = kv_idx; d = b; e = h; }"
                     "else { e = a; d = c * 2; }"
                     "return a + c * 2 + d * 3 + e > 5; } variant v { mask_mod = m; }";
  std::string first = printed(frontend::loadText(text, "t.attn"));
  std::vector<std::string> clutter; // moves what is allocated next
  for (int i = 0; i < 20; ++i) {
    clutter.emplace_back(1000 + 37 * i, 'x');
    EXPECT_EQ(printed(frontend::loadText(text, "t.attn")), first);
  }
}

TEST(Lowering, CarriesTheUsersLocations) {
  Program program = variantFrom("from std.masks import sliding_window;\n"
                                "variant v {\n"
                                "  mask_mod = sliding_window(7)\n"
                                "    and q_idx * kv_idx > 5;\n"
                                "}\n");
  ASSERT_TRUE(program.maskMod);
  bool inStd = false, inUser = false;
  for (const Instruction &instruction : program.maskMod->body) {
    if (instruction.op == Opcode::Argument || instruction.op == Opcode::Constant)
      continue;
    ASSERT_GT(instruction.location.line, 0u) << opcodeText(instruction.op);
    std::string file = program.files.at(instruction.location.file);
    if (instruction.op == Opcode::MulI) {
      EXPECT_EQ(file, "test.attn");
      EXPECT_EQ(instruction.location.line, 4u);
      EXPECT_EQ(instruction.location.column, 15u);
      inUser = true;
    }
    inStd |= file == "std/masks.attn";
  }
  EXPECT_TRUE(inStd && inUser);
}

} // namespace
} // namespace attnc::test

// Wrong programs are tests: each file of errors/ holds a program and, behind it, the
// diagnostics it must give, one a line: `#! line:col: severity: message` and `#!   hint: ...`.
// Notes that point into other files are left out.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "frontend/Frontend.h"

namespace attnc::frontend {
namespace {

struct Expectation {
  std::string program, diagnostics;
};

Expectation readExpectation(const std::filesystem::path &path) {
  std::ifstream in(path);
  std::string line;
  Expectation out;
  while (std::getline(in, line))
    (line.starts_with("#!") ? out.diagnostics : out.program) += line + "\n";
  return out;
}

std::string foundIn(const Module &module, const std::string &name) {
  static const char *const severities[] = {"error", "warning", "note"};
  std::string out;
  for (const Diagnostic &d : module.diagnostics) {
    if (d.file != name)
      continue;
    out += "#! " + std::to_string(d.line) + ":" + std::to_string(d.column) + ": " + severities[d.severity] + ": " +
           d.message + "\n";
    if (!d.hint.empty())
      out += "#!   hint: " + d.hint + "\n";
  }
  return out;
}

std::vector<std::filesystem::path> programs() {
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(ERRORS_FOLDER))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class WrongProgram : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(WrongProgram, GivesItsDiagnostics) {
  Expectation test = readExpectation(GetParam());
  std::string name = GetParam().filename().string();
  Module module = loadText(test.program, name, "/nonexistent");
  EXPECT_EQ(foundIn(module, name), test.diagnostics) << module.rendered;
  EXPECT_NE(test.diagnostics, "") << "the file says nothing about what must be found";
}

// Every error says what to do, in the house style.
TEST_P(WrongProgram, HasHintsAndStyle) {
  std::string program = readExpectation(GetParam()).program;
  for (const Diagnostic &d : loadText(program, "t.attn", "/nonexistent").diagnostics) {
    if (d.severity == Diagnostic::Error)
      EXPECT_FALSE(d.hint.empty()) << d.message;
    EXPECT_FALSE(d.message.ends_with('.')) << d.message;
    EXPECT_FALSE(std::isupper(static_cast<unsigned char>(d.message.front()))) << d.message;
    EXPECT_GE(d.line, 1u) << d.message;
    EXPECT_GE(d.column, 1u) << d.message;
  }
}

INSTANTIATE_TEST_SUITE_P(Errors, WrongProgram, testing::ValuesIn(programs()),
                         [](const auto &info) { return info.param.stem().string(); });

TEST(Rendering, ShowsLineCaretAndHint) {
  Module module = loadText("from std import causal;\nvariant v { mask_mod = causl; }\n", "a.attn");
  EXPECT_FALSE(module.ok());
  EXPECT_TRUE(module.variants.empty());
  EXPECT_EQ(module.rendered, "a.attn:2:24: error: 'causl' is not defined\n"
                             "    variant v { mask_mod = causl; }\n"
                             "                           ^~~~~\n"
                             "    hint: did you mean 'causal'?\n");
}

TEST(Rendering, KeepsTheCaretUnderTabsAndInLongLines) {
  Module tabs = loadText("\t\tvariant v { mask_mod = x9; }", "a.attn");
  EXPECT_NE(tabs.rendered.find("      variant v { mask_mod = x9; }\n"
                               "                             ^~\n"),
            std::string::npos)
      << tabs.rendered;
  std::string padding(5000, ' ');
  Module longLine = loadText("variant v {" + padding + "mask_mod = x9;" + padding + "}", "a.attn");
  EXPECT_LT(longLine.rendered.size(), 500u);
  EXPECT_NE(longLine.rendered.find("x9"), std::string::npos);
}

TEST(Rendering, CountsErrorsNoFurtherThanAPage) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "const c" + std::to_string(i) + " = $;\n";
  Module module = loadText(text, "a.attn");
  EXPECT_LE(module.diagnostics.size(), 50u);
  EXPECT_NE(module.rendered.find("too many errors"), std::string::npos);
}

TEST(Loading, SaysWhatIsWrongWithAFile) {
  Module missing = loadFile("/nonexistent/x.attn");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.diagnostics[0].message, "cannot read the file: no such file");
  EXPECT_FALSE(missing.diagnostics[0].hint.empty());
  EXPECT_EQ(loadFile("/").diagnostics.at(0).message, "cannot read the file: not a regular file");
  EXPECT_FALSE(loadText(std::string(2 << 20, ' '), "big.attn").ok());
  EXPECT_TRUE(loadText("", "empty.attn").ok());
}

} // namespace
} // namespace attnc::frontend

// Modules: where imports are found, what they bring, cycles.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "frontend/Frontend.h"

namespace attnc::frontend {
namespace {

class Import : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("attnc_import_" + std::to_string(getpid()) + "_" +
                                                       testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder / "lib");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const std::string &name, const std::string &text) { std::ofstream(folder / name) << text; }
  Module load(const std::string &text) {
    write("main.attn", text);
    return loadFile((folder / "main.attn").string());
  }
  static std::string firstError(const Module &module) {
    return module.diagnostics.empty() ? "" : module.diagnostics[0].message;
  }

  std::filesystem::path folder;
};

TEST_F(Import, import_c2_FindsFilesNextToTheImporter) {
  write("lib/a.attn", "import b2; mask_mod near = b2_mask and kv_idx > 0;");
  write("lib/b2.attn", "mask_mod b2_mask = q_idx > kv_idx; variant not_mine { }");
  Module module = load("from lib.a import near; variant v { mask_mod = near; }");
  ASSERT_TRUE(module.ok()) << module.rendered;
  ASSERT_EQ(module.variants.size(), 1u);
  EXPECT_EQ(module.variants[0].name, "v");
}

TEST_F(Import, import_c2_TextsResolveAgainstTheirFolder) {
  write("a.attn", "const n = 4;");
  const char *text = "from a import n; variant v { mask_mod = q_idx < n; }";
  EXPECT_TRUE(loadText(text, "anything", folder.string()).ok());
  EXPECT_TRUE(loadText(text, (folder / "virtual.attn").string()).ok());
  EXPECT_FALSE(loadText(text, "anything", (folder / "lib").string()).ok());
}

TEST_F(Import, import_c2_CyclesAreErrors) {
  write("a.attn", "import b2; const x = 1;");
  write("b2.attn", "import c2; const y = 1;");
  write("c2.attn", "import a; const z = 1;");
  EXPECT_EQ(firstError(load("import a;")), "module 'a' imports itself");
  EXPECT_EQ(firstError(load("import main;")), "module 'main' imports itself");
}

TEST_F(Import, import_c1_StdIsAllOfItsFiles) {
  Module module = load("import std; variant v { mask_mod = causal and natten1d(3);"
                       "score_mod = softcap(5.0); }");
  EXPECT_TRUE(module.ok()) << module.rendered;
}

TEST_F(Import, import_c3_OwnNamesWinAndClashesMustBeNamed) {
  write("a.attn", "mask_mod m = q_idx > 0; mask_mod only_a = true;");
  write("b2.attn", "mask_mod m = q_idx < 0;");
  EXPECT_TRUE(load("import a; import b2; variant v { mask_mod = only_a; }").ok());
  EXPECT_EQ(firstError(load("import a; import b2; variant v { mask_mod = m; }")),
            "'m' comes from two imported modules");
  EXPECT_TRUE(load("import a; import b2; from a import m; variant v { mask_mod = m; }").ok());
  EXPECT_TRUE(load("import a; import b2; mask_mod m = true; variant v { mask_mod = m; }").ok());
}

TEST_F(Import, import_c4_ImportsAreNotPassedOn) {
  write("a.attn", "from std.masks import causal; mask_mod mine = causal;");
  EXPECT_TRUE(load("from a import mine; variant v { mask_mod = mine; }").ok());
  EXPECT_EQ(firstError(load("from a import causal;")), "'causal' is not in module 'a'");
}

TEST_F(Import, ErrorsNameTheImportedFile) {
  write("a.attn", "mask_mod m = q_idx;\n");
  Module module = load("from a import m; variant v { mask_mod = m; }");
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.diagnostics[0].file, (folder / "a.attn").string());
  EXPECT_EQ(module.diagnostics[0].line, 1u);
}

} // namespace
} // namespace attnc::frontend

// A context over the fake compiler, with a cache folder of its own and its log kept.
#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "attnc/Context.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attnc {

inline constexpr const char *kCausalIr = R"(attn.variant @causal {
  attn.scalar @is_causal : i1 = true
  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    %0 = arith.cmpi sge, %q_idx, %kv_idx : i32
    attn.yield %0 : i1
  }
}
)";

inline Variant causalVariant(const std::string &name = "causal") {
  std::string text = kCausalIr;
  text.replace(text.find("causal"), 6, name);
  auto variant = Variant::fromIr(text);
  EXPECT_TRUE(variant.ok()) << variant.error().message;
  return *variant;
}

inline CompileOptions fakeOptions(int splitSize = 1024) {
  CompileOptions options;
  options.headDim = 8;
  options.valueDim = 4;
  options.splitSize = splitSize;
  return options;
}

inline int fakeCompileCount() {
  void *library = dlopen(FAKE_COMPILER, RTLD_NOW | RTLD_LOCAL);
  EXPECT_TRUE(library) << dlerror();
  return reinterpret_cast<int (*)()>(dlsym(library, "fake_compile_count"))();
}

class CacheFixture : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/attnc_cache_XXXXXX";
    ASSERT_TRUE(mkdtemp(name));
    root = name;
    options.cacheDir = root + "/cache";
    options.compilerPath = FAKE_COMPILER;
    options.log = [this](const std::string &line) {
      std::lock_guard lock(mutex);
      log.push_back(line);
    };
  }
  void TearDown() override {
    std::filesystem::permissions(root, std::filesystem::perms::owner_all);
    std::filesystem::remove_all(root);
  }

  Context context() {
    auto made = Context::create(options);
    EXPECT_TRUE(made.ok());
    return *made;
  }
  // Compiles in a new context, as a new process would.
  CompileInfo compile(const Variant &variant = causalVariant(), int splitSize = 1024) {
    auto kernel = context().compile(variant, fakeOptions(splitSize));
    EXPECT_TRUE(kernel.ok()) << (kernel ? "" : kernel.error().message);
    return kernel ? kernel->info() : CompileInfo{};
  }
  static bool isCompiled(const CompileInfo &info) { return !info.fromDisk && !info.fromMemory; }

  std::vector<std::filesystem::path> files(const char *extension) const {
    std::vector<std::filesystem::path> found;
    if (std::filesystem::exists(options.cacheDir))
      for (const auto &entry : std::filesystem::directory_iterator(options.cacheDir))
        if (entry.path().extension() == extension)
          found.push_back(entry.path());
    return found;
  }
  std::string logText() {
    std::lock_guard lock(mutex);
    std::string text;
    for (const std::string &line : log)
      text += line + "\n";
    return text;
  }

  std::string root;
  ContextOptions options;
  std::mutex mutex;
  std::vector<std::string> log;
};

} // namespace attnc

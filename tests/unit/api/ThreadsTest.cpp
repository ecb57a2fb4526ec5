// Many threads compile and run different kernels through one context at once.
#include <thread>

#include "tests/unit/api/ApiFixture.h"

using namespace attnc;
using namespace attnc::test;

namespace {
class Threads : public ApiTest {};
} // namespace

TEST_F(Threads, ThreadsCompileAndRunAtOnce) {
  const Sizes sizes = {1, 2, 1, 70, 150, 80, 16, 16};
  const char *names[] = {"causal", "alibi_causal", "softcap", "sliding_window"};
  std::string expected[4];
  for (int i = 0; i < 4; ++i) {
    const Variant variant = stdVariant(names[i]);
    Call call(variant, DType::F32, sizes, 40 + i);
    ASSERT_TRUE(compile(variant, compileOptions(DType::F32, sizes)).run(call.arguments()).ok());
    expected[i] = call.bits();
  }
  ContextOptions options;
  options.cacheDir = "none";
  options.compilerPath = compilerPath();
  options.executor = makeThreadPool(3);
  const Context fresh = *Context::create(options);
  std::atomic<int> equal = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int j = 0; j < 8; ++j) {
        const int i = (t + j) % 4;
        const Variant variant = stdVariant(names[i]);
        auto kernel = fresh.compile(variant, compileOptions(DType::F32, sizes));
        Call call(variant, DType::F32, sizes, 40 + i);
        equal += kernel.ok() && kernel->run(call.arguments()).ok() && call.bits() == expected[i];
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(equal, 64);
}

// The caller's floating-point state neither changes results nor is changed.
TEST_F(Threads, ThreadsFloatEnvironment) {
#if defined(__x86_64__)
  const Sizes sizes = {1, 1, 1, 5, 40, 35, 16, 16};
  const Variant variant = stdVariant("causal");
  for (DType dtype : {DType::F32, DType::BF16}) {
    const Kernel kernel = compile(variant, compileOptions(dtype, sizes));
    Call call(variant, dtype, sizes, 2);
    ASSERT_TRUE(kernel.run(call.arguments()).ok());
    const std::string expected = call.bits();
    const unsigned saved = __builtin_ia32_stmxcsr();
    const unsigned odd = 0x1f80 | 0x8040 | 0x6000; // flush, round toward zero
    __builtin_ia32_ldmxcsr(odd);
    const bool isOk = kernel.run(call.arguments()).ok();
    const unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(saved);
    EXPECT_TRUE(isOk);
    EXPECT_EQ(after & 0xffc0, odd & 0xffc0);
    EXPECT_EQ(call.bits() == expected, true);
  }
#endif
}

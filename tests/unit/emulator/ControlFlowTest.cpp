// Branches, diverged lanes, calls, loops, and that schedules do not change a correct kernel.
#include <gtest/gtest.h>

#include "tests/unit/emulator/PtxRunner.h"

namespace attnc::emulator {

namespace {

// Runs `body`, which leaves a value in %r4, for each thread; the values.
std::vector<uint32_t> valuesOf(std::string_view body, uint32_t threads = 32, Options options = {}) {
  KernelRun kernel;
  kernel.ptx = kernelOf(std::string(body) + "\n mul.wide.u32 %d20, %r0, 4; add.u64 %d20, %d0, %d20;"
                                            "st.global.u32 [%d20], %r4;");
  expectAssembles(kernel.ptx);
  kernel.block = {threads, 1, 1};
  kernel.out.resize(threads * 4);
  kernel.in.resize(64);
  kernel.options = options;
  EXPECT_EQ(kernel().texts(), "");
  std::vector<uint32_t> values(threads);
  std::memcpy(values.data(), kernel.out.data(), kernel.out.size());
  return values;
}

} // namespace

TEST(ControlFlow, LanesIterateTheirOwnNumberOfTimes) {
  const auto values = valuesOf(R"(
  mov.u32 %r4, 0;
  mov.u32 %r5, 0;
LOOP:
  setp.ge.u32 %p1, %r5, %r0;
  @%p1 bra DONE;
  add.u32 %r4, %r4, %r5;
  add.u32 %r5, %r5, 1;
  bra.uni LOOP;
DONE:
  )");
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(values[lane], lane * (lane - 1) / 2);
}

TEST(ControlFlow, PathsJoinAgain) {
  // After the join all lanes take part in the vote.
  const auto values = valuesOf(R"(
  and.b32 %r5, %r0, 3;
  setp.eq.u32 %p1, %r5, 0;
  setp.eq.u32 %p2, %r5, 1;
  mov.u32 %r6, 7;
  @%p1 bra A;
  @%p2 bra B;
  mov.u32 %r6, 1;
  bra J;
A: mov.u32 %r6, 2;
  bra J;
B: mov.u32 %r6, 3;
J:
  setp.eq.u32 %p3, %r6, 3;
  vote.sync.ballot.b32 %r7, %p3, 0xffffffff;
  popc.b32 %r8, %r7;
  add.u32 %r4, %r6, %r8;
  )");
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(values[lane], 8 + (lane % 4 == 0 ? 2U : lane % 4 == 1 ? 3U : 1U));
}

TEST(ControlFlow, IndexedBranch) {
  const auto values = valuesOf(R"(
  rem.u32 %r5, %r0, 3;
  TABLE: .branchtargets L0, L1, L2;
  brx.idx %r5, TABLE;
L0: mov.u32 %r4, 10;
  bra DONE;
L1: mov.u32 %r4, 11;
  bra DONE;
L2: mov.u32 %r4, 12;
DONE:
  )");
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(values[lane], 10 + lane % 3);
}

TEST(ControlFlow, ScopesHideNames) {
  const auto values = valuesOf(R"(
  mov.u32 %r4, 5;
  {
    .reg .b32 t;
    mov.u32 t, 3;
    { .reg .b32 t; mov.u32 t, 100; }
    add.u32 %r4, %r4, t;
  }
  )");
  EXPECT_EQ(values[7], 8U);
}

TEST(ControlFlow, DeviceFunctionsAreCalledByDivergedLanes) {
  std::string ptx = kernelOf(R"(
  setp.lt.u32 %p1, %r0, 10;
  mov.u32 %r4, 0;
  @%p1 bra SKIP;
  {
    .param .b32 p0;
    .param .align 8 .b8 p1[16];
    .param .b32 r;
    st.param.b32 [p0], %r0;
    mov.u32 %r5, 100;
    st.param.b32 [p1+8], %r5;
    call.uni (r), weigh, (p0, p1);
    ld.param.b32 %r4, [r];
  }
SKIP:
  mul.wide.u32 %d20, %r0, 4; add.u64 %d20, %d0, %d20; st.global.u32 [%d20], %r4;
  )");
  const std::string function = R"(
.func (.param .b32 result) weigh(.param .b32 x, .param .align 8 .b8 s[16])
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  ld.param.u32 %r1, [x];
  ld.param.u32 %r2, [s+8];
  and.b32 %r3, %r1, 1;
  setp.eq.u32 %p1, %r3, 0;
  @%p1 bra EVEN;
  add.u32 %r2, %r2, %r1;
  st.param.b32 [result], %r2;
  ret;
EVEN:
  st.param.b32 [result], %r1;
  ret;
}
)";
  ptx.insert(ptx.find(".visible"), function);
  expectAssembles(ptx);
  KernelRun kernel;
  kernel.ptx = ptx;
  kernel.out.resize(128);
  kernel.in.resize(64);
  EXPECT_EQ(kernel().texts(), "");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t value = 0;
    std::memcpy(&value, kernel.out.data() + 4 * lane, 4);
    EXPECT_EQ(value, lane < 10 ? 0U : lane % 2 == 0 ? lane : 100 + lane);
  }
}

TEST(ControlFlow, SchedulesDoNotChangeACorrectKernel) {
  // A running sum over warps through shared memory, a barrier between each two.
  const char *kBody = R"(
  mov.u32 %r10, sm;
  shl.b32 %r11, %r0, 2;
  add.u32 %r12, %r10, %r11;
  st.shared.u32 [%r12], %r0;
  mov.u32 %r13, 1;
LOOP:
  bar.sync 0;
  setp.ge.u32 %p1, %r0, %r13;
  mov.u32 %r14, 0;
  shl.b32 %r15, %r13, 2;
  sub.u32 %r16, %r12, %r15;
  @%p1 ld.shared.u32 %r14, [%r16];
  ld.shared.u32 %r4, [%r12];
  add.u32 %r4, %r4, %r14;
  bar.sync 0;
  st.shared.u32 [%r12], %r4;
  shl.b32 %r13, %r13, 1;
  setp.lt.u32 %p2, %r13, 256;
  @%p2 bra LOOP;
  )";
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Options options;
    options.seed = seed;
    const auto values = valuesOf(kBody, 256, options);
    for (uint32_t thread = 0; thread < 256; ++thread)
      ASSERT_EQ(values[thread], thread * (thread + 1) / 2) << "seed " << seed;
  }
}

TEST(ControlFlow, BarriersOfPartsAndReductions) {
  // Producer and consumer by arrive and sync; then a count over the CTA.
  const auto values = valuesOf(R"(
  setp.lt.u32 %p1, %r0, 32;
  mov.u32 %r5, sm;
  mov.u32 %r6, 42;
  @%p1 bra PRODUCE;
  bar.sync 1, 64;
  ld.shared.u32 %r4, [sm];
  bra DONE;
PRODUCE:
  setp.eq.u32 %p2, %r0, 0;
  @%p2 st.shared.u32 [sm], %r6;
  bar.arrive 1, 64;
  mov.u32 %r4, 7;
DONE:
  setp.eq.u32 %p3, %r4, 42;
  bar.red.popc.u32 %r7, 0, %p3;
  add.u32 %r4, %r4, %r7;
  )",
                               64);
  EXPECT_EQ(values[0], 7 + 32U);
  EXPECT_EQ(values[63], 42 + 32U);
}

TEST(ControlFlow, UnknownFormsNameTheirLine) {
  const auto messageOf = [](std::string_view body) {
    const Result<Module> module = Module::parse(kernelOf(body));
    EXPECT_FALSE(module);
    return module ? std::string() : module.error().message;
  };
  EXPECT_NE(messageOf("frobnicate.u32 %r4, %r5;").find("PTX line 16: cannot emulate 'frobnicate.u32 %r4, %r5;'"),
            std::string::npos);
  EXPECT_NE(messageOf("add.sat.u32 %r4, %r5, %r6;").find("only .s32 saturates"), std::string::npos);
  EXPECT_NE(messageOf("add.wobbly.u32 %r4, %r5, %r6;").find("'.wobbly' is not known"), std::string::npos);
  EXPECT_NE(messageOf("add.u32 %r4, %r5, %d1;").find("has 64 bits"), std::string::npos);
  EXPECT_NE(messageOf("add.u32 %r4, %r5, %q1;").find("'%q1' is not known"), std::string::npos);
  EXPECT_NE(messageOf("bra NOWHERE;").find("there is no label 'NOWHERE'"), std::string::npos);
  EXPECT_NE(messageOf("ld.param.u64 %d4, [in+4];").find("beyond the parameters"), std::string::npos);
  EXPECT_FALSE(Module::parse(".visible .entry k( {"));
  EXPECT_FALSE(Module::parse("garbage"));
  // Cut anywhere, the text must give an error or a module, never a crash.
  const std::string whole =
      kernelOf("{ .reg .b32 t; mov.u32 t, 3; @%p1 bra L; ld.global.v2.u32 {%r1, %r2}, [%d1+8]; L: }");
  for (size_t size = 0; size < whole.size(); ++size)
    static_cast<void>(Module::parse(std::string_view(whole).substr(0, size)));
}

TEST(ControlFlow, RecursionIsRefused) {
  std::string ptx = kernelOf("call.uni f;");
  ptx.insert(ptx.find(".visible"), ".func f() { call.uni f; ret; }\n");
  const Result<Module> module = Module::parse(ptx);
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().message.find("recursively"), std::string::npos);
}

TEST(ControlFlow, LaunchesAreChecked) {
  const Result<Module> module = Module::parse(kernelOf(""));
  ASSERT_TRUE(module);
  EXPECT_EQ(module->kernels(), std::vector<std::string>{"k"});
  Launch launch;
  launch.kernel = "k";
  EXPECT_FALSE(run(*module, launch, {})); // no arguments
  launch.arguments = {argument(uint64_t(0)), argument(uint32_t(0))};
  EXPECT_FALSE(run(*module, launch, {})); // of another size
  launch.arguments[1] = argument(uint64_t(0));
  EXPECT_TRUE(run(*module, launch, {}));
  launch.block = {1024, 2, 1};
  EXPECT_FALSE(run(*module, launch, {}));
  launch.block = {0, 1, 1};
  EXPECT_FALSE(run(*module, launch, {}));
  launch.block = {1, 1, 1};
  launch.kernel = "l";
  EXPECT_FALSE(run(*module, launch, {}));
}

TEST(ControlFlow, FindingsNameTheSourceLine) {
  std::string ptx = kernelOf("\t.loc 3 77 5\n ld.global.u32 %r4, [%d1+9999996];");
  ptx += ".file 3 \"kernels/made.cu\"\n";
  KernelRun kernel;
  kernel.ptx = ptx;
  kernel.out.resize(64);
  kernel.in.resize(64);
  const RunResult result = kernel();
  ASSERT_EQ(result.report.findings.size(), 1U) << result.texts();
  EXPECT_EQ(result.report.findings[0].source.file, "kernels/made.cu");
  EXPECT_EQ(result.report.findings[0].source.line, 77);
  EXPECT_EQ(result.report.findings[0].text().substr(0, 34), "kernels/made.cu:77: out of bounds:");
}

} // namespace attnc::emulator

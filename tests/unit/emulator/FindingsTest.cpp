// Each kind of finding provoked by the smallest kernel that does wrong, beside a twin that does
// right and must stay clean.
#include <gtest/gtest.h>

#include "tests/unit/emulator/CudaFile.h"
#include "tests/unit/emulator/PtxRunner.h"

namespace attnc::emulator {

namespace {

// The address of this thread's word in shared memory, %r10, and of its neighbour's in the next
// warp, %r11, for 64 threads.
constexpr const char *kSharedAddresses = R"(
  mov.u32 %r1, sm;
  shl.b32 %r2, %r0, 2;
  add.u32 %r10, %r1, %r2;
  xor.b32 %r3, %r2, 128;
  add.u32 %r11, %r1, %r3;
)";

std::string withShared(std::string_view body) { return std::string(kSharedAddresses) + std::string(body); }

void expectOnly(const RunResult &result, FindingKind kind) {
  EXPECT_EQ(result.error, "");
  EXPECT_TRUE(result.has(kind)) << result.texts();
  for (const Finding &finding : result.report.findings)
    EXPECT_EQ(finding.kind, kind) << finding.text();
}

// Clean twins must be so under every schedule. The first result with a finding, or the last.
RunResult runEverySchedule(std::string_view body, uint32_t threads = 32, const Options &options = {},
                           uint32_t ctas = 1) {
  RunResult result;
  for (Options each : allSchedules()) {
    each.check = options.check;
    each.residentCtas = options.residentCtas == 1 ? each.residentCtas : options.residentCtas;
    result = runBody(body, threads, each, ctas);
    if (!result.texts().empty())
      return result;
  }
  return result;
}

void expectClean(const RunResult &result) { EXPECT_EQ(result.texts(), ""); }

} // namespace

TEST(Findings, OutOfBounds) {
  const RunResult result = runBody("ld.global.u32 %r4, [%d1+16384];\n st.global.u32 [%d0], %r4;");
  expectOnly(result, FindingKind::OutOfBounds);
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_NE(result.report.findings[0].message.find("0 bytes past the end of 'in'"), std::string::npos);
  EXPECT_EQ(result.report.findings[0].ptxLine, 16);
  expectOnly(runBody("st.shared.u32 [sm+4096], %r0;"), FindingKind::OutOfBounds);
  expectOnly(runBody("mov.u64 %d5, 8; ld.u32 %r4, [%d5];"), FindingKind::OutOfBounds);
  expectClean(runEverySchedule("ld.global.u32 %r4, [%d1+16380];"));
}

TEST(Findings, FaultyLoadsGiveZeroAndTheRunGoesOn) {
  KernelRun kernel;
  kernel.ptx = kernelOf("ld.global.u32 %r4, [%d1+64]; add.u32 %r4, %r4, 5; st.global.u32 [%d0], %r4;");
  kernel.in.assign(64, 0xff);
  kernel.out.assign(64, 0);
  EXPECT_TRUE(kernel().has(FindingKind::OutOfBounds));
  EXPECT_EQ(kernel.out[0], 5);
}

TEST(Findings, Misaligned) {
  expectOnly(runBody("ld.global.u32 %r4, [%d1+2];"), FindingKind::Misaligned);
  expectOnly(runBody("st.shared.v2.u32 [sm+4], {%r0, %r0};"), FindingKind::Misaligned);
  expectClean(runEverySchedule("ld.global.u16 %h4, [%d1+2];"));
}

TEST(Findings, ReadOnlyWrite) {
  expectOnly(runBody("mov.u32 %r4, 1; st.global.u32 [%d1], %r4;"), FindingKind::ReadOnlyWrite);
  expectClean(runEverySchedule("mov.u32 %r4, 1; st.global.u32 [%d0], %r4;"));
}

TEST(Findings, UninitialisedShared) {
  expectOnly(runBody(withShared("ld.shared.u32 %r4, [%r10];")), FindingKind::UninitialisedShared);
  expectOnly(runBody(withShared("st.shared.u16 [%r10], %h1; ld.shared.u32 %r4, [%r10];").insert(0, "mov.u16 %h1, 1;")),
             FindingKind::UninitialisedShared);
  expectClean(runEverySchedule(withShared("st.shared.u32 [%r10], %r0; ld.shared.u32 %r4, [%r10];")));
}

TEST(Findings, UninitialisedRegister) {
  expectOnly(runBody("add.u32 %r4, %r5, 1;"), FindingKind::UninitialisedRegister);
  // Written on one path alone.
  const char *kBranch = R"(
  setp.lt.u32 %p1, %r0, 16;
  @%p1 bra L;
  mov.u32 %r5, 7;
L:
  )";
  expectOnly(runBody(std::string(kBranch) + "add.u32 %r4, %r5, 1;"), FindingKind::UninitialisedRegister);
  expectClean(runEverySchedule(std::string(kBranch) + "@!%p1 add.u32 %r4, %r5, 1;"));
  // A move hands an undefined value on; only its use is wrong.
  expectClean(runEverySchedule("mov.u32 %r4, %r5;"));
  expectOnly(runBody("mov.u32 %r4, %r5; st.global.u32 [%d0], %r4;"), FindingKind::UninitialisedRegister);
}

TEST(Findings, SharedRace) {
  // A read of what the other warp wrote, with and without the barrier.
  const std::string write = "st.shared.u32 [%r10], %r0;", read = "ld.shared.u32 %r4, [%r11];";
  expectOnly(runBody(withShared(write + "bar.sync 0;" + read + write), 64), FindingKind::SharedRace);
  expectClean(runEverySchedule(withShared(write + "bar.sync 0;" + read + "bar.sync 0;" + write), 64));
  EXPECT_TRUE(runBody(withShared(write + read), 64).has(FindingKind::SharedRace));
  // Two warps that write halves of one word do not meet.
  expectClean(runEverySchedule(R"(
  shr.u32 %r4, %r0, 5;
  mad.lo.u32 %r5, %r4, 2, 0;
  mov.u32 %r6, sm;
  add.u32 %r6, %r6, %r5;
  and.b32 %r7, %r0, 31;
  setp.eq.u32 %p1, %r7, 0;
  mov.u16 %h1, 3;
  @%p1 st.shared.u16 [%r6], %h1;
  )",
                               64));
}

TEST(Findings, LaneRace) {
  const std::string exchange = R"(
  st.shared.u32 [%r10], %r0;
  %SYNC%
  xor.b32 %r12, %r10, 4;
  ld.shared.u32 %r4, [%r12];
  )";
  const auto with = [&](const std::string &sync) {
    std::string body = withShared(exchange);
    return body.replace(body.find("%SYNC%"), 6, sync);
  };
  expectOnly(runBody(with("")), FindingKind::LaneRace);
  expectClean(runEverySchedule(with("bar.warp.sync 0xffffffff;")));
  // All lanes write the same flag: harmless.
  expectClean(runEverySchedule("mov.u32 %r4, 1; st.shared.u32 [sm], %r4;"));
}

TEST(Findings, GlobalRace) {
  expectOnly(runBody("st.global.u32 [%d0], %r0;"), FindingKind::GlobalRace);
  expectClean(runEverySchedule("mul.wide.u32 %d2, %r0, 4; add.u64 %d3, %d0, %d2; st.global.u32 [%d3], %r0;"));
}

TEST(Findings, WriteConflict) {
  const std::string body = "setp.eq.u32 %p1, %r0, 0; mov.u32 %r4, %ctaid.x; mul.wide.u32 %d2, %r4, %STRIDE%;"
                           "add.u64 %d3, %d0, %d2; @%p1 st.global.u16 [%d3], %h1;";
  const auto withStride = [&](const std::string &stride) {
    std::string text = "mov.u16 %h1, 5;" + body;
    return text.replace(text.find("%STRIDE%"), 8, stride);
  };
  expectOnly(runBody(withStride("0"), 32, {}, 3), FindingKind::WriteConflict);
  expectClean(runEverySchedule(withStride("2"), 32, {}, 3));
}

TEST(Findings, FloatAtomic) {
  expectOnly(runBody("mov.f32 %f1, 0f3F800000; red.global.add.f32 [%d0], %f1;"), FindingKind::FloatAtomic);
  expectClean(runEverySchedule("mov.u32 %r4, 1; red.global.add.u32 [%d0], %r4;"));
}

TEST(Findings, AsyncNotAwaited) {
  const std::string copy = withShared(R"(
  mul.wide.u32 %d2, %r0, 4;
  add.u64 %d3, %d1, %d2;
  st.shared.u32 [%r10], %r0;
  cp.async.ca.shared.global [%r10], [%d3], 4;
  cp.async.commit_group;
  %WAIT%
  ld.shared.u32 %r4, [%r10];
  cp.async.wait_all;
  )");
  const auto with = [&](const std::string &wait) {
    std::string body = copy;
    return body.replace(body.find("%WAIT%"), 6, wait);
  };
  for (AsyncPolicy policy : {AsyncPolicy::Latest, AsyncPolicy::Eager, AsyncPolicy::Random}) {
    Options options;
    options.async = policy;
    const RunResult result = runBody(with(""), 32, options);
    EXPECT_TRUE(result.has(FindingKind::AsyncNotAwaited) || result.has(FindingKind::SharedRace)) << result.texts();
    expectClean(runEverySchedule(with("cp.async.wait_group 0;"), 32, options));
  }
}

TEST(Findings, BarrierDivergence) {
  // The second warp arrives in two parts, so that the second part then waits for ever.
  EXPECT_TRUE(runBody("setp.lt.u32 %p1, %r0, 40; @%p1 bra L; bar.sync 1, 64; bra M; L: bar.sync 1, 64; M:", 64)
                  .has(FindingKind::BarrierDivergence));
  // Lanes that have ended do not count.
  expectClean(runEverySchedule("setp.ge.u32 %p1, %r0, 40; @%p1 exit; bar.sync 0;", 64));
}

TEST(Findings, BarrierMisuse) {
  EXPECT_TRUE(runBody("mov.u32 %r4, 16; bar.sync %r4;").has(FindingKind::BarrierMisuse));
  EXPECT_TRUE(runBody("mov.u32 %r4, 48; bar.sync 1, %r4;", 64).has(FindingKind::BarrierMisuse));
  expectClean(runEverySchedule("mov.u32 %r4, 15; bar.sync %r4, 64;", 64));
}

TEST(Findings, PartialWarp) {
  const std::string half = "setp.lt.u32 %p1, %r0, 16; @%p1 ";
  expectOnly(runBody(half + "shfl.sync.bfly.b32 %r4, %r0, 1, 31, 0xffffffff;"), FindingKind::PartialWarp);
  expectClean(runEverySchedule(half + "shfl.sync.bfly.b32 %r4, %r0, 1, 31, 0xffff;"));
  expectOnly(runBody(half + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [sm];"), FindingKind::PartialWarp);
}

TEST(Findings, Deadlock) {
  // The second warp never arrives.
  expectOnly(runBody("setp.lt.u32 %p1, %r0, 32; @!%p1 bra L; bar.sync 1, 64; L:", 64), FindingKind::Deadlock);
  // A spin on memory that nobody writes.
  const RunResult spin = runBody("L: ld.volatile.global.u32 %r4, [%d0]; setp.eq.u32 %p1, %r4, 0; @%p1 bra L;");
  expectOnly(spin, FindingKind::Deadlock);
  // An endless loop that makes progress of a kind ends at the limit.
  Options options;
  options.maxInstructions = 100000;
  expectOnly(runBody("mov.u32 %r4, 0; L: add.u32 %r4, %r4, 1; bra L;", 32, options), FindingKind::Deadlock);
}

TEST(Findings, SpinsAcrossCtasNeedResidency) {
  // CTA 0 waits for CTA 1's flag.
  const char *kBody = R"(
  mov.u32 %r4, %ctaid.x;
  setp.eq.u32 %p1, %r4, 1;
  mov.u32 %r5, 1;
  @%p1 bra SET;
L:
  ld.acquire.gpu.global.u32 %r6, [%d0];
  setp.eq.u32 %p2, %r6, 0;
  @%p2 bra L;
  bra DONE;
SET:
  st.release.gpu.global.u32 [%d0], %r5;
DONE:
  )";
  Options all;
  all.residentCtas = 0;
  expectClean(runEverySchedule(kBody, 32, all, 2));
  expectOnly(runBody(kBody, 32, {}, 2), FindingKind::Deadlock);
}

TEST(Findings, Trap) { expectOnly(runBody("setp.eq.u32 %p1, %r0, 5; @%p1 trap;"), FindingKind::Trap); }

TEST(Findings, NothingIsCheckedWithoutTheChecksButTheBounds) {
  Options options;
  options.check = false;
  expectClean(runEverySchedule(withShared("ld.shared.u32 %r4, [%r11]; add.u32 %r4, %r5, 1;"), 64, options));
  expectOnly(runBody("ld.global.u32 %r4, [%d1+16384];", 32, options), FindingKind::OutOfBounds);
}

TEST(Findings, OneForAnInstructionAndAKind) {
  EXPECT_EQ(runBody("ld.global.u32 %r4, [%d1+16384];", 128, {}, 4).report.findings.size(), 1U);
}

} // namespace attnc::emulator

// What sm_90a adds can be done wrong in ways of its own: each beside a twin that does right and
// stays clean, all of them under every schedule.
#include <gtest/gtest.h>

#include "tests/unit/emulator/CudaFile.h"
#include "tests/unit/emulator/PtxRunner.h"

namespace attnc::emulator {

namespace {

RunResult runOnHopper(const std::string &body, uint32_t threads, const Options &options) {
  KernelRun kernel;
  kernel.ptx = kernelOf(body, "sm_90a");
  expectAssembles(kernel.ptx, "sm_90a");
  kernel.out.assign(16384, 0);
  kernel.in.assign(16384, 0);
  kernel.block = {threads, 1, 1};
  kernel.options = options;
  return kernel();
}

void expectClean(const std::string &body, uint32_t threads) {
  for (const Options &options : allSchedules())
    ASSERT_EQ(runOnHopper(body, threads, options).texts(), "") << body;
}

void expectSeen(const std::string &body, uint32_t threads, std::initializer_list<FindingKind> kinds) {
  for (const Options &options : allSchedules()) {
    const RunResult result = runOnHopper(body, threads, options);
    ASSERT_EQ(result.error, "");
    bool isSeen = false;
    for (FindingKind kind : kinds)
      isSeen |= result.has(kind);
    ASSERT_TRUE(isSeen) << body << "\npolicy " << int(options.async) << " seed " << options.seed << "\n"
                        << result.texts();
  }
}

// The first warpgroup of three gives registers back and the others take them.
std::string exchange(const std::string &decrease, const std::string &increase) {
  return "setp.lt.u32 %p1, %r0, 128; @%p1 bra GIVE; setmaxnreg.inc.sync.aligned.u32 " + increase +
         "; bra DONE; GIVE: setmaxnreg.dec.sync.aligned.u32 " + decrease + "; DONE:";
}

// A product with A in registers 4 to 7 and B of eight columns in shared memory. `before` stands
// in front of it and `after` behind; then the accumulators are stored.
std::string product(const std::string &before, const std::string &after) {
  return R"(
  shl.b32 %r1, %r0, 2;
  mov.u32 %r2, sm;
  add.u32 %r3, %r1, %r2;
  st.shared.u32 [%r3], 0;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  shr.u32 %r8, %r2, 4;
  cvt.u64.u32 %d5, %r8;
  or.b64 %d5, %d5, 0x1000080000;
  setp.ne.u32 %p2, %r2, 0xffffffff;
  cvt.rn.f32.u32 %f0, %r0;
  cvt.rn.f32.u32 %f1, %r0;
  cvt.rn.f32.u32 %f2, %r0;
  cvt.rn.f32.u32 %f3, %r0;
  shl.b32 %r4, %r0, 1;
  shl.b32 %r5, %r0, 1;
  shl.b32 %r6, %r0, 1;
  shl.b32 %r7, %r0, 1;
)" + before +
         R"(
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, {%r4, %r5, %r6, %r7}, %d5, %p2, 1, 1, 0;
)" + after +
         R"(
  mul.wide.u32 %d6, %r0, 16;
  add.u64 %d7, %d0, %d6;
  st.global.v4.f32 [%d7], {%f0, %f1, %f2, %f3};
)";
}

constexpr const char *kFence = "wgmma.fence.sync.aligned;";
constexpr const char *kFinish = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";

// One thread fetches 256 bytes; all wait for them and read.
std::string fetch(const std::string &announce, const std::string &copy, const std::string &wait) {
  return R"(
  setp.eq.u32 %p1, %r0, 0;
  mov.u32 %r1, sm;
  add.u32 %r2, %r1, 1024;
  @!%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r2], 1;
READY:
  bar.sync 0;
  @!%p1 bra WAIT;
)" + announce +
         copy + "\nWAIT:\n" + wait + R"(
  @!%p2 bra WAIT;
  shl.b32 %r3, %r0, 2;
  add.u32 %r4, %r1, %r3;
  ld.shared.u32 %r5, [%r4];
)";
}

constexpr const char *kAnnounce = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 256;";
constexpr const char *kCopy =
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1], 256, [%r2];";
constexpr const char *kWait = "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;";

using enum FindingKind;

} // namespace

TEST(HopperFindings, RegistersComeFromAPool) {
  // 384 threads start with 168 registers: three times 168 is 40 and twice 232.
  expectClean(exchange("40", "232"), 384);
  expectSeen(exchange("40", "240"), 384, {Deadlock});
  expectSeen("setmaxnreg.dec.sync.aligned.u32 176;", 384, {BarrierMisuse});
  expectSeen("setp.lt.u32 %p1, %r0, 16; @%p1 setmaxnreg.dec.sync.aligned.u32 40;", 128, {PartialWarp});
  // Three warps of four.
  expectSeen("setp.lt.u32 %p1, %r0, 96; @!%p1 bra L; setmaxnreg.dec.sync.aligned.u32 40; L:", 128, {Deadlock});
}

TEST(HopperFindings, ProductsNeedFenceCommitAndWait) {
  expectClean(product(kFence, kFinish), 128);
  expectSeen(product("", kFinish), 128, {MissingFence});
  expectSeen(product(std::string(kFence) + "add.f32 %f1, %f1, %f1;", kFinish), 128, {MissingFence});
  expectSeen(product(std::string(kFence) + "shl.b32 %r5, %r5, 1;", kFinish), 128, {MissingFence});
  expectSeen(product(kFence, ""), 128, {AsyncNotAwaited});
  expectSeen(product(kFence, "wgmma.commit_group.sync.aligned;"), 128, {AsyncNotAwaited});
  expectSeen(product(kFence, "wgmma.wait_group.sync.aligned 0;"), 128, {AsyncNotAwaited});
  expectSeen(product(kFence, "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;"), 128,
             {AsyncNotAwaited});
}

TEST(HopperFindings, OperandsMayNotChangeUnderAProduct) {
  const std::string change = "shl.b32 %r5, %r0, 2;";
  expectSeen(product(kFence, change + kFinish), 128, {AsyncNotAwaited});
  expectClean(product(kFence, kFinish + change), 128);
  // Moves hand on what is wrong with a register.
  expectSeen(product(kFence, "mov.f32 %f8, %f1; add.f32 %f9, %f8, %f8;" + std::string(kFinish)), 128,
             {AsyncNotAwaited});
  expectSeen(product(std::string(kFence) + "shl.b32 %r9, %r0, 2; mov.b32 %r5, %r9;", kFinish), 128, {MissingFence});
  expectClean(product("shl.b32 %r9, %r0, 2;" + std::string(kFence) + "mov.b32 %r5, %r9;", kFinish), 128);
}

TEST(HopperFindings, BulkCopiesNeedTheirBarrier) {
  expectClean(fetch(kAnnounce, kCopy, kWait), 64);
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 _, [%r2];";
  expectSeen(fetch(arrive, kCopy, kWait), 64, {UninitialisedShared, SharedRace});
  expectSeen(fetch("", kCopy, kWait), 64, {Deadlock});
  expectSeen(fetch(kAnnounce, "", kWait), 64, {Deadlock});
  // The wrong parity ends the wait too early, or never.
  expectSeen(fetch(kAnnounce, kCopy, "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 1;"), 64,
             {UninitialisedShared, SharedRace, Deadlock});
  expectSeen(fetch(kAnnounce, kCopy, "setp.eq.u32 %p2, %r1, %r1;"), 64, {UninitialisedShared, SharedRace});
  expectSeen(fetch(std::string(kAnnounce) + arrive, kCopy, kWait), 64, {BarrierMisuse});
}

TEST(HopperFindings, BulkCopiesAreAligned) {
  const std::string crooked = "add.u32 %r6, %r1, 8; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ";
  expectSeen(fetch(kAnnounce, crooked + "[%r6], [%d1], 256, [%r2];", kWait), 64, {Misaligned});
  const std::string source = "add.u64 %d2, %d1, 8; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ";
  expectSeen(fetch(kAnnounce, source + "[%r1], [%d2], 256, [%r2];", kWait), 64, {Misaligned});
}

} // namespace attnc::emulator

// Loads, stores and copies of every state space, atomics, matrices, and lanes that exchange
// values. Expected values follow PTX's tables, written out here.
#include <gtest/gtest.h>

#include "tests/unit/emulator/PtxRunner.h"

namespace attnc::emulator {

namespace {

// Runs `body` with %d2 = out + 8 * tid and %d3 = in + 16 * tid; `in` is 0, 1, 2, .. in bytes.
struct Bench {
  std::vector<uint8_t> out;

  uint32_t word(size_t index) const {
    uint32_t value = 0;
    std::memcpy(&value, out.data() + 4 * index, 4);
    return value;
  }
  uint64_t doubleWord(size_t index) const { return word(2 * index) | uint64_t(word(2 * index + 1)) << 32; }
};

Bench bench(std::string_view body, uint32_t threads = 32, std::string_view target = "sm_80", Options options = {}) {
  KernelRun kernel;
  kernel.ptx = kernelOf("mul.wide.u32 %d4, %r0, 8; add.u64 %d2, %d0, %d4; mul.wide.u32 %d4, %r0, 16;"
                        "add.u64 %d3, %d1, %d4; mov.u32 %r9, sm;\n" +
                            std::string(body),
                        target);
  expectAssembles(kernel.ptx, target);
  kernel.block = {threads, 1, 1};
  kernel.out.resize(threads * 8);
  kernel.in.resize(4096);
  for (size_t i = 0; i < kernel.in.size(); ++i)
    kernel.in[i] = uint8_t(i);
  kernel.options = options;
  EXPECT_EQ(kernel().texts(), "") << body;
  return {kernel.out};
}

} // namespace

TEST(Memory, WidthsAndSigns) {
  const Bench b = bench(R"(
  ld.global.s8 %r1, [%d3+200];
  ld.global.u8 %r2, [%d3+200];
  ld.global.nc.L2::128B.v2.u16 {%h1, %h2}, [%d3+4];
  ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%d3];
  add.u32 %r7, %r1, %r2;
  cvt.u32.u16 %r8, %h2;
  add.u32 %r7, %r7, %r8;
  add.u32 %r7, %r7, %r6;
  st.global.u32 [%d2], %r7;
  ld.global.s8 %h3, [%d3+200];
  st.global.u16 [%d2+4], %h3;
  )");
  EXPECT_EQ(b.word(0), uint32_t(int8_t(200)) + 200 + 0x0706 + 0x0f0e0d0c);
  EXPECT_EQ(b.word(1), uint16_t(int8_t(200)));
}

TEST(Memory, GenericAddressesReachAllSpaces) {
  const Bench b = bench(R"(
  .local .align 8 .b8 frame[64];
  mov.u64 %d10, frame;
  cvta.local.u64 %d10, %d10;
  mov.u64 %d11, sm;
  cvta.shared.u64 %d11, %d11;
  mul.wide.u32 %d12, %r0, 4;
  add.u64 %d11, %d11, %d12;
  st.u32 [%d10+8], %r0;
  st.u32 [%d11], %r0;
  ld.u32 %r1, [%d10+8];
  ld.local.u32 %r2, [frame+8];
  add.u32 %r3, %r9, 0;
  cvta.to.shared.u64 %d13, %d11;
  ld.shared.u32 %r4, [%d13];
  add.u32 %r1, %r1, %r2;
  add.u32 %r1, %r1, %r4;
  st.u32 [%d2], %r1;
  isspacep.shared %p1, %d11;
  isspacep.local %p2, %d10;
  isspacep.shared %p3, %d2;
  selp.u32 %r5, 1, 0, %p1;
  @%p2 add.u32 %r5, %r5, 2;
  @%p3 add.u32 %r5, %r5, 4;
  st.global.u32 [%d2+4], %r5;
  )");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(b.word(2 * lane), 3 * lane);
    EXPECT_EQ(b.word(2 * lane + 1), 3U);
  }
}

TEST(Memory, ModuleVariablesStartAnew) {
  KernelRun kernel;
  kernel.ptx = kernelOf(R"(
  mov.u64 %d2, counter;
  mov.u32 %r1, 1;
  atom.global.add.u32 %r2, [%d2], %r1;
  ld.const.f32 %f1, [weights+4];
  mov.b32 %r3, %f1;
  setp.eq.u32 %p1, %r2, 36;
  @%p1 st.global.u32 [%d0], %r3;
  )");
  kernel.ptx.insert(kernel.ptx.find(".visible"), ".global .align 4 .u32 counter = 5;\n"
                                                 ".const .align 4 .f32 weights[3] = {1.5, 0f40200000, 3.5};\n");
  expectAssembles(kernel.ptx);
  kernel.out.resize(64);
  kernel.in.resize(64);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(kernel().texts(), "");
    float value = 0;
    std::memcpy(&value, kernel.out.data(), 4);
    EXPECT_EQ(value, 2.5F);
  }
}

TEST(Memory, Atomics) {
  const Bench b = bench(R"(
  setp.eq.u32 %p1, %r0, 0;
  mov.u32 %r1, 10;
  @%p1 st.shared.v2.u32 [sm], {%r1, %r1};
  @%p1 st.shared.v2.u32 [sm+8], {%r1, %r1};
  bar.sync 0;
  atom.shared.add.u32 %r2, [sm], 3;
  atom.shared.max.s32 %r3, [sm+4], %r0;
  atom.shared.inc.u32 %r4, [sm+8], 12;
  atom.shared.cas.b32 %r5, [sm+12], 10, %r0;
  bar.sync 0;
  ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [sm];
  shl.b32 %r11, %r11, 8;
  shl.b32 %r12, %r12, 16;
  shl.b32 %r13, %r13, 24;
  add.u32 %r10, %r10, %r11;
  add.u32 %r10, %r10, %r12;
  add.u32 %r10, %r10, %r13;
  st.global.v2.u32 [%d2], {%r10, %r2};
  )");
  // 32 increments from 10 with 12 as the last value: 13 values a round.
  EXPECT_EQ(b.word(0), (10 + 96) + (31 << 8) + ((10 + 32) % 13 << 16) + (0 << 24));
  EXPECT_EQ(b.word(2 * 31 + 1), 10U + 31 * 3);
}

TEST(Memory, ShufflesVotesAndReductions) {
  const Bench b = bench(R"(
  shfl.sync.up.b32 %r1|%p1, %r0, 3, 0, 0xffffffff;
  shfl.sync.down.b32 %r2|%p2, %r0, 4, 0x181f, 0xffffffff;
  shfl.sync.idx.b32 %r3, %r0, 5, 0x181f, 0xffffffff;
  shfl.sync.bfly.b32 %r4, %r0, 16, 31, 0xffffffff;
  selp.u32 %r5, 1, 0, %p1;
  selp.u32 %r6, 1, 0, %p2;
  shl.b32 %r2, %r2, 8; shl.b32 %r3, %r3, 16; shl.b32 %r4, %r4, 24;
  or.b32 %r1, %r1, %r2; or.b32 %r1, %r1, %r3; or.b32 %r1, %r1, %r4;
  and.b32 %r7, %r0, 7;
  match.any.sync.b32 %r8, %r7, 0xffffffff;
  redux.sync.add.u32 %r10, %r0, 0xffffffff;
  setp.gt.u32 %p3, %r0, 29;
  vote.sync.any.pred %p4, %p3, 0xffffffff;
  vote.sync.all.pred %p5, !%p3, 0xffffffff;
  selp.u32 %r11, 64, 0, %p4;
  selp.u32 %r12, 128, 0, %p5;
  popc.b32 %r8, %r8;
  add.u32 %r5, %r5, %r11; add.u32 %r5, %r5, %r12;
  mad.lo.u32 %r5, %r6, 2, %r5;
  mad.lo.u32 %r5, %r8, 256, %r5;
  mad.lo.u32 %r5, %r10, 65536, %r5;
  st.global.v2.u32 [%d2], {%r1, %r5};
  )");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t up = lane >= 3 ? lane - 3 : lane, down = lane % 8 + 4 < 8 ? lane + 4 : lane;
    EXPECT_EQ(b.word(2 * lane), up | down << 8 | (lane / 8 * 8 + 5) << 16 | (lane ^ 16) << 24);
    EXPECT_EQ(b.word(2 * lane + 1), (lane >= 3 ? 1U : 0U) + (lane % 8 < 4 ? 2U : 0U) + 64 + 4 * 256 + 496 * 65536);
  }
}

TEST(Memory, MatricesRoundTrip) {
  // Four 8x8 matrices to registers, plain and transposed; movmatrix undoes the transposition.
  const Bench b = bench(R"(
  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d3];
  mad.lo.u32 %r10, %r0, 16, %r9;
  st.shared.v4.u32 [%r10], {%r1, %r2, %r3, %r4};
  bar.warp.sync 0xffffffff;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r11, %r12, %r13, %r14}, [%r10];
  ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r15, %r16}, [%r10];
  movmatrix.sync.aligned.m8n8.trans.b16 %r17, %r16;
  sub.u32 %r17, %r17, %r12;
  add.u32 %r13, %r13, %r17;
  st.global.v2.u32 [%d2], {%r13, %r15};
  )");
  const auto element = [](int matrix, int row, int column) {
    const uint32_t at = uint32_t(128 * matrix + 16 * row + 2 * column);
    return (at & 255) | ((at + 1) & 255) << 8;
  };
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(b.word(2 * lane), element(2, lane / 4, lane % 4 * 2) | element(2, lane / 4, lane % 4 * 2 + 1) << 16);
    EXPECT_EQ(b.word(2 * lane + 1), element(0, lane % 4 * 2, lane / 4) | element(0, lane % 4 * 2 + 1, lane / 4) << 16);
  }
}

TEST(Memory, MultiplyByTheIdentity) {
  // A is in's small integers in f16 made from lane and register, B the identity: D = A.
  const Bench b = bench(R"(
  cvt.rn.f32.u32 %f1, %r0;
  add.f32 %f2, %f1, 0f42800000;
  cvt.rn.f16x2.f32 %r1, %f2, %f1;
  shr.u32 %r2, %r0, 2;
  and.b32 %r3, %r0, 3;
  shl.b32 %r4, %r3, 1;
  sub.u32 %r5, %r2, %r4;
  mov.u32 %r6, 0;
  setp.eq.u32 %p1, %r5, 0;
  @%p1 mov.u32 %r6, 0x3c00;
  setp.eq.u32 %p2, %r5, 1;
  @%p2 mov.u32 %r6, 0x3c000000;
  mov.f32 %f0, 0f00000000;
  mov.u32 %r7, 0;
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f3, %f4, %f5, %f6}, {%r1, %r7, %r7, %r7}, {%r6, %r7}, {%f0, %f0, %f0, %f0};
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f3, %f4, %f7, %f8}, {%r1, %r7}, {%r6}, {%f3, %f4, %f0, %f0};
  cvt.rzi.u32.f32 %r10, %f3;
  cvt.rzi.u32.f32 %r11, %f4;
  st.global.v2.u32 [%d2], {%r10, %r11};
  )");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(b.word(2 * lane), 2 * lane);
    EXPECT_EQ(b.word(2 * lane + 1), 2 * (lane + 64));
  }
}

TEST(Memory, AsynchronousCopiesFillWithZeros) {
  for (AsyncPolicy policy : {AsyncPolicy::Latest, AsyncPolicy::Eager, AsyncPolicy::Random}) {
    Options options;
    options.async = policy;
    const Bench b = bench(R"(
  mad.lo.u32 %r10, %r0, 16, %r9;
  rem.u32 %r11, %r0, 17;
  cp.async.cg.shared.global [%r10], [%d3], 16, %r11;
  cp.async.commit_group;
  cp.async.wait_group 0;
  ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r10];
  st.global.v2.u32 [%d2], {%r1, %r4};
  )",
                          32, "sm_80", options);
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t byte = 0; byte < 8; ++byte) {
        const uint32_t at = byte < 4 ? byte : byte + 8;
        EXPECT_EQ(b.out[8 * lane + byte], at < lane % 17 ? uint8_t(16 * lane + at) : 0);
      }
  }
}

TEST(Memory, MbarriersOrderWarps) {
  // The second warp waits for the first one's value, twice, with alternating parity.
  const Bench b = bench(R"(
  setp.eq.u32 %p1, %r0, 0;
  @!%p1 bra READY;
  mbarrier.init.shared::cta.b64 [sm], 32;
  mbarrier.init.shared::cta.b64 [sm+8], 32;
READY:
  bar.sync 0;
  mov.u32 %r1, 0;
  mov.u32 %r2, 0;
  and.b32 %r3, %r0, 31;
  mad.lo.u32 %r4, %r3, 4, %r9;
  setp.lt.u32 %p2, %r0, 32;
LOOP:
  and.b32 %r5, %r1, 1;
  @!%p2 bra CONSUME;
  add.u32 %r6, %r3, %r1;
  st.shared.u32 [%r4+64], %r6;
  mbarrier.arrive.shared::cta.b64 %d10, [sm];
EMPTY:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [sm+8], %r5;
  @!%p3 bra EMPTY;
  bra NEXT;
CONSUME:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [sm], %r5;
  @!%p3 bra CONSUME;
  ld.shared.u32 %r6, [%r4+64];
  mad.lo.u32 %r2, %r2, 100, %r6;
  mbarrier.arrive.shared::cta.b64 _, [sm+8];
NEXT:
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p4, %r1, 3;
  @%p4 bra LOOP;
  st.global.v2.u32 [%d2], {%r2, %r1};
  )",
                        64, "sm_90");
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(b.word(2 * (32 + lane)), (lane * 100 + lane + 1) * 100 + lane + 2);
}

TEST(Memory, BulkCopiesCountDownTheirBarrier) {
  for (AsyncPolicy policy : {AsyncPolicy::Latest, AsyncPolicy::Eager, AsyncPolicy::Random}) {
    Options options;
    options.async = policy;
    const Bench b = bench(R"(
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [sm], 1;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [sm], 256;
  add.u32 %r1, %r9, 128;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1], 256, [%r9];
READY:
  bar.sync 0;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [sm], 0;
  @!%p2 bra WAIT;
  mad.lo.u32 %r2, %r0, 8, %r9;
  ld.shared.v2.u32 {%r3, %r4}, [%r2+128];
  st.global.v2.u32 [%d2], {%r3, %r4};
  )",
                          32, "sm_90", options);
    for (size_t byte = 0; byte < 256; ++byte)
      ASSERT_EQ(b.out[byte], uint8_t(byte));
  }
}

} // namespace attnc::emulator

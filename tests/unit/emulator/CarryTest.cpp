// Chains of carries against whole numbers of 64 and 128 bits, bit masks against their definition,
// and collectives that the parts of a warp enter with masks of their own.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/emulator/PtxRunner.h"

namespace attnc::emulator {

namespace {

using u64 = uint64_t;
using wide = unsigned __int128;

struct Row {
  u64 a[2], b[2];
};

wide whole(const u64 (&parts)[2]) { return wide(parts[1]) << 64 | parts[0]; }

std::vector<Row> rows() {
  std::mt19937_64 random(9);
  std::vector<Row> all(32);
  for (Row &row : all)
    for (u64 *part : {&row.a[0], &row.a[1], &row.b[0], &row.b[1]})
      *part = random() % 4 == 0 ? ~0ULL : random() % 3 == 0 ? 0 : random() >> (random() % 64);
  return all;
}

// Runs `body`, which finds a row's a in %d1 and %d2 and its b in %d3 and %d4, and in %r registers
// the halves of %d1 and %d3 (r1, r2; r3, r4). It leaves its results in %d5 and %d6.
void check(std::string_view body, const std::function<wide(const Row &)> &expected) {
  const std::vector<Row> all = rows();
  KernelRun kernel;
  kernel.ptx = kernelOf(R"(
  mul.wide.u32 %d10, %r0, 32;
  add.u64 %d11, %d1, %d10;
  ld.global.v2.u64 {%d1, %d2}, [%d11];
  ld.global.v2.u64 {%d3, %d4}, [%d11+16];
  mov.b64 {%r1, %r2}, %d1;
  mov.b64 {%r3, %r4}, %d3;
  mov.b64 %d6, 0;
)" + std::string(body) + R"(
  mul.wide.u32 %d10, %r0, 16;
  add.u64 %d11, %d0, %d10;
  st.global.v2.u64 [%d11], {%d5, %d6};
)");
  expectAssembles(kernel.ptx);
  kernel.in.resize(all.size() * sizeof(Row));
  std::memcpy(kernel.in.data(), all.data(), kernel.in.size());
  kernel.out.resize(all.size() * 16);
  ASSERT_EQ(kernel().texts(), "");
  for (size_t i = 0; i < all.size(); ++i) {
    u64 actual[2];
    std::memcpy(actual, kernel.out.data() + 16 * i, 16);
    EXPECT_TRUE(whole(actual) == expected(all[i])) << body << " row " << i;
  }
}

// What 32 threads leave in a word each.
std::vector<uint32_t> wordsOf(std::string_view body) {
  KernelRun kernel;
  kernel.ptx = kernelOf(std::string(body) + "mul.wide.u32 %d10, %r0, 4; add.u64 %d11, %d0, %d10;"
                                            "st.global.u32 [%d11], %r20;");
  expectAssembles(kernel.ptx);
  kernel.in.resize(64);
  kernel.out.resize(128);
  EXPECT_EQ(kernel().texts(), "");
  std::vector<uint32_t> words(32);
  std::memcpy(words.data(), kernel.out.data(), 128);
  return words;
}

} // namespace

TEST(Carries, Add) {
  check("add.cc.u64 %d5, %d1, %d3; addc.u64 %d6, %d2, %d4;", [](const Row &r) { return whole(r.a) + whole(r.b); });
  check("add.cc.s32 %r5, %r1, %r3; addc.cc.s32 %r6, %r2, %r4; addc.u32 %r7, 0, 0; mov.b64 %d5, {%r5, %r6};"
        "cvt.u64.u32 %d6, %r7;",
        [](const Row &r) { return wide(r.a[0]) + r.b[0]; });
}

TEST(Carries, Subtract) {
  check("sub.cc.u64 %d5, %d1, %d3; subc.u64 %d6, %d2, %d4;", [](const Row &r) { return whole(r.a) - whole(r.b); });
  check("sub.cc.u32 %r5, %r1, %r3; subc.cc.u32 %r6, %r2, %r4; mov.b64 %d5, {%r5, %r6}; subc.u32 %r7, 0, 0;"
        "cvt.s64.s32 %d6, %r7;",
        [](const Row &r) { return wide(r.a[0]) - r.b[0]; });
  // Read by addc the bit is set where nothing was borrowed.
  check("sub.cc.u64 %d5, %d1, %d3; addc.u64 %d6, 0, 0;",
        [](const Row &r) { return wide(r.a[0] >= r.b[0] ? 1 : 0) << 64 | (r.a[0] - r.b[0]); });
}

TEST(Carries, MultiplyAdd) {
  check("mad.lo.cc.u64 %d5, %d1, %d3, %d2; madc.hi.u64 %d6, %d1, %d3, %d4;",
        [](const Row &r) { return wide(r.a[0]) * r.b[0] + r.a[1] + (wide(r.b[1]) << 64); });
  check("mad.lo.cc.u64 %d5, %d1, %d3, %d2; madc.hi.s64 %d6, %d1, %d3, %d4;", [](const Row &r) {
    return wide(static_cast<__int128>(int64_t(r.a[0])) * int64_t(r.b[0])) + r.a[1] + (wide(r.b[1]) << 64);
  });
  check("mad.lo.cc.u32 %r5, %r1, %r3, %r2; madc.hi.cc.u32 %r6, %r1, %r3, %r4; addc.u32 %r7, 0, 0;"
        "mov.b64 %d5, {%r5, %r6}; cvt.u64.u32 %d6, %r7;",
        [](const Row &r) {
          return wide(u64(uint32_t(r.a[0])) * uint32_t(r.b[0])) + (r.a[0] >> 32) + (r.b[0] >> 32 << 32);
        });
}

TEST(Carries, OfEachLane) {
  // Even lanes carry; odd ones, which skip the addition, keep what they had.
  const auto words = wordsOf(R"(
  and.b32 %r1, %r0, 1;
  setp.eq.u32 %p1, %r1, 0;
  add.cc.u32 %r2, %r0, 0;
  @%p1 add.cc.u32 %r2, %r0, 0xffffffff;
  addc.u32 %r20, %r0, 0;
)");
  for (uint32_t lane = 0; lane < 32; ++lane) // lane 0 adds all ones to 0
    EXPECT_EQ(words[lane], lane + (lane % 2 == 0 && lane != 0 ? 1 : 0));
}

TEST(Carries, MasksOfBits) {
  const auto clamped = wordsOf("mul.lo.u32 %r1, %r0, 2; mov.u32 %r2, 7; bmsk.clamp.b32 %r20, %r1, %r2;");
  const auto wrapped = wordsOf("mul.lo.u32 %r1, %r0, 2; mov.u32 %r2, 39; bmsk.wrap.b32 %r20, %r1, %r2;");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(clamped[lane], uint32_t(lane < 16 ? 0x7fULL << (2 * lane) : 0));
    EXPECT_EQ(wrapped[lane], uint32_t(0x7fULL << (2 * lane % 32)));
  }
}

TEST(MemberMasks, PartsOfAWarpMayNameThemselves) {
  // Four groups of eight lanes in one instruction.
  const std::string groups = "shr.u32 %r1, %r0, 3; shl.b32 %r2, %r1, 3; mov.u32 %r3, 0xff; shl.b32 %r4, %r3, %r2;";
  const auto sums = wordsOf(groups + "redux.sync.add.u32 %r20, %r0, %r4;");
  const auto ballots = wordsOf(groups + "and.b32 %r5, %r0, 1; setp.eq.u32 %p1, %r5, 0;"
                                        "vote.sync.ballot.b32 %r20, %p1, %r4;");
  const auto same = wordsOf(groups + "and.b32 %r5, %r0, 3; match.any.sync.b32 %r20, %r5, %r4;");
  const auto shuffled = wordsOf(groups + "shfl.sync.down.b32 %r20, %r0, 1, 0x181f, %r4;");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t first = lane & ~7U;
    EXPECT_EQ(sums[lane], 8 * first + 28);
    EXPECT_EQ(ballots[lane], 0x55U << first);
    EXPECT_EQ(same[lane], 0x11U << (lane & 3) << first);
    EXPECT_EQ(shuffled[lane], (lane & 7) == 7 ? lane : lane + 1);
  }
}

TEST(MemberMasks, EachLaneMustBeNamedByItsOwn) {
  // The upper half names the lower; the lower names all, of whom half take another mask.
  const char *kLower = "mov.u32 %r4, 0xffff; shfl.sync.bfly.b32 %r5, %r0, 1, 31, %r4;";
  EXPECT_TRUE(runBody(kLower).has(FindingKind::PartialWarp));
  const char *kMixed = "setp.lt.u32 %p1, %r0, 16; selp.b32 %r4, 0xffffffff, 0xffff0000, %p1;"
                       "shfl.sync.bfly.b32 %r5, %r0, 1, 31, %r4;";
  EXPECT_TRUE(runBody(kMixed).has(FindingKind::PartialWarp));
  // A source outside the mask.
  const char *kOutside = "setp.lt.u32 %p1, %r0, 16; selp.b32 %r4, 0xffff, 0xffff0000, %p1;"
                         "shfl.sync.bfly.b32 %r5, %r0, 16, 31, %r4;";
  EXPECT_TRUE(runBody(kOutside).has(FindingKind::PartialWarp));
}

TEST(Assembler, JudgesEveryProgram) {
  if (!hasAssembler())
    GTEST_SKIP() << "ptxas is not installed: the PTX texts of these tests were run, but not assembled";
  expectAssembles(kernelOf("add.cc.u32 %r1, %r0, 1;"));
}

} // namespace attnc::emulator

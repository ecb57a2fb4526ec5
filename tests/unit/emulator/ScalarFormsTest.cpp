// Every scalar form on edge cases and random operands, against values computed another way:
// integers in 128 bits, floats in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "tests/unit/emulator/PtxRunner.h"

namespace attnc::emulator {

namespace {

using u32 = uint32_t;
using u64 = uint64_t;
using s32 = int32_t;
using s64 = int64_t;
using wide = __int128;

constexpr u32 kThreads = 256;

// The instruction reads a, b, c from registers 1, 2, 3 of its class and writes register 4; the
// result's class says which: r, d, h, f, g or p.
struct Form {
  std::string ptx;
  char result;
  std::function<u64(u64 a, u64 b, u64 c)> expected;
};

float asF32(u64 bits) { return std::bit_cast<float>(u32(bits)); }
u64 bitsOf(float value) { return value != value ? 0x7fffffffU : std::bit_cast<u32>(value); }
u64 bitsOf(double value) { return std::bit_cast<u64>(value); }

std::vector<u64> operands(bool areFloats) {
  std::vector<u64> values;
  std::mt19937_64 random(7);
  if (areFloats) {
    for (float f :
         {0.0F,   -0.0F, 1.0F, -1.0F,         1.5F,           -2.5F,         0.5F,     1e-40F,    -1e-40F, 3e38F,
          -3e38F, 1e30F, 7.0F, 2147483648.0F, -2147483904.0F, 4294967296.0F, INFINITY, -INFINITY, NAN,     16777217.0F})
      values.push_back(std::bit_cast<u32>(f));
    std::normal_distribution<float> normal(0, 100);
    while (values.size() < kThreads * 3)
      values.push_back(std::bit_cast<u32>(normal(random)));
  } else {
    for (u64 v : {0ULL, 1ULL, ~0ULL, 0x7fffffffULL, 0x80000000ULL, 0xffffffffULL, 0x7fffffffffffffffULL,
                  0x8000000000000000ULL, 31ULL, 32ULL, 33ULL, 0x7fffULL, 0x8000ULL, 0xffffULL, 255ULL})
      values.push_back(v);
    while (values.size() < kThreads * 3)
      values.push_back(random() >> (random() % 64));
  }
  std::shuffle(values.begin(), values.end(), random);
  return values;
}

void check(const std::vector<Form> &forms, bool areFloats = false, std::string_view target = "sm_80") {
  const std::vector<u64> values = operands(areFloats);
  std::string body = R"(
  mul.wide.u32 %d10, %r0, 24;
  add.u64 %d11, %d1, %d10;
  ld.global.u64 %d1, [%d11];
  ld.global.u64 %d2, [%d11+8];
  ld.global.u64 %d3, [%d11+16];
  cvt.u32.u64 %r1, %d1;  cvt.u32.u64 %r2, %d2;  cvt.u32.u64 %r3, %d3;
  cvt.u16.u64 %h1, %d1;  cvt.u16.u64 %h2, %d2;  cvt.u16.u64 %h3, %d3;
  mov.b32 %f1, %r1;  mov.b32 %f2, %r2;  mov.b32 %f3, %r3;
  cvt.f64.f32 %g1, %f1;  cvt.f64.f32 %g2, %f2;  cvt.f64.f32 %g3, %f3;
  setp.ne.s32 %p1, %r1, 0;  setp.lt.s32 %p2, %r2, 0;
  mul.wide.u32 %d10, %r0, 8;
  add.u64 %d12, %d0, %d10;
)";
  for (size_t k = 0; k < forms.size(); ++k) {
    body += "  " + forms[k].ptx + "\n";
    switch (forms[k].result) {
    case 'r':
      body += "  cvt.u64.u32 %d13, %r4;\n";
      break;
    case 'h':
      body += "  cvt.u64.u16 %d13, %h4;\n";
      break;
    case 'f':
      body += "  mov.b32 %r4, %f4;  cvt.u64.u32 %d13, %r4;\n";
      break;
    case 'g':
      body += "  mov.b64 %d13, %g4;\n";
      break;
    case 'p':
      body += "  selp.u64 %d13, 1, 0, %p4;\n";
      break;
    default:
      body += "  mov.b64 %d13, %d4;\n";
    }
    body += "  st.global.u64 [%d12+" + std::to_string(k * kThreads * 8) + "], %d13;\n";
  }
  KernelRun kernel;
  kernel.ptx = kernelOf(body, target);
  expectAssembles(kernel.ptx, target);
  kernel.block = {kThreads, 1, 1};
  kernel.in.resize(values.size() * 8);
  std::memcpy(kernel.in.data(), values.data(), kernel.in.size());
  kernel.out.resize(forms.size() * kThreads * 8);
  const RunResult result = kernel();
  ASSERT_EQ(result.texts(), "");
  for (size_t k = 0; k < forms.size(); ++k)
    for (size_t thread = 0; thread < kThreads; ++thread) {
      u64 actual = 0;
      std::memcpy(&actual, kernel.out.data() + (k * kThreads + thread) * 8, 8);
      const u64 a = values[3 * thread], b = values[3 * thread + 1], c = values[3 * thread + 2];
      const u64 expected = forms[k].expected(a, b, c);
      ASSERT_EQ(actual, expected) << forms[k].ptx << std::hex << " a=" << a << " b=" << b << " c=" << c;
    }
}

} // namespace

TEST(ScalarForms, IntegerArithmetic) {
  check({
      {"add.s32 %r4, %r1, %r2;", 'r', [](u64 a, u64 b, u64) { return u32(wide(a) + wide(b)); }},
      {"sub.u32 %r4, %r1, %r2;", 'r', [](u64 a, u64 b, u64) { return u32(wide(a) - wide(b)); }},
      {"add.sat.s32 %r4, %r1, %r2;", 'r',
       [](u64 a, u64 b, u64) { return u32(std::clamp<s64>(s64(s32(a)) + s32(b), INT32_MIN, INT32_MAX)); }},
      {"add.s64 %d4, %d1, %d2;", 'd', [](u64 a, u64 b, u64) { return u64(wide(a) + wide(b)); }},
      {"sub.s64 %d4, %d1, %d2;", 'd', [](u64 a, u64 b, u64) { return u64(wide(a) - wide(b)); }},
      {"add.s16 %h4, %h1, %h2;", 'h', [](u64 a, u64 b, u64) { return uint16_t(a + b); }},
      {"mul.lo.s32 %r4, %r1, %r2;", 'r', [](u64 a, u64 b, u64) { return u32(wide(u32(a)) * u32(b)); }},
      {"mul.hi.s32 %r4, %r1, %r2;", 'r', [](u64 a, u64 b, u64) { return u32(wide(s32(a)) * s32(b) >> 32); }},
      {"mul.hi.u32 %r4, %r1, %r2;", 'r', [](u64 a, u64 b, u64) { return u32(wide(u32(a)) * u32(b) >> 32); }},
      {"mul.wide.s32 %d4, %r1, %r2;", 'd', [](u64 a, u64 b, u64) { return u64(wide(s32(a)) * s32(b)); }},
      {"mul.wide.u32 %d4, %r1, %r2;", 'd', [](u64 a, u64 b, u64) { return u64(wide(u32(a)) * u32(b)); }},
      {"mul.wide.s16 %r4, %h1, %h2;", 'r', [](u64 a, u64 b, u64) { return u32(s64(int16_t(a)) * int16_t(b)); }},
      {"mul.wide.u16 %r4, %h1, %h2;", 'r', [](u64 a, u64 b, u64) { return u32(s64(uint16_t(a)) * uint16_t(b)); }},
      {"mul.lo.s64 %d4, %d1, %d2;", 'd', [](u64 a, u64 b, u64) { return u64((unsigned __int128)(a)*b); }},
      {"mul.hi.s64 %d4, %d1, %d2;", 'd', [](u64 a, u64 b, u64) { return u64(wide(s64(a)) * s64(b) >> 64); }},
      {"mul.hi.u64 %d4, %d1, %d2;", 'd', [](u64 a, u64 b, u64) { return u64((unsigned __int128)(a)*b >> 64); }},
      {"mad.lo.s32 %r4, %r1, %r2, %r3;", 'r', [](u64 a, u64 b, u64 c) { return u32(wide(u32(a)) * u32(b) + u32(c)); }},
      {"mad.hi.u32 %r4, %r1, %r2, %r3;", 'r',
       [](u64 a, u64 b, u64 c) { return u32((wide(u32(a)) * u32(b) >> 32) + u32(c)); }},
      {"mad.wide.u32 %d4, %r1, %r2, %d3;", 'd',
       [](u64 a, u64 b, u64 c) { return u64(wide(u32(a)) * u32(b) + wide(c)); }},
      {"mad.wide.s32 %d4, %r1, %r2, %d3;", 'd',
       [](u64 a, u64 b, u64 c) { return u64(wide(s32(a)) * s32(b) + wide(c)); }},
      {"mad.lo.s64 %d4, %d1, %d2, %d3;", 'd', [](u64 a, u64 b, u64 c) { return u64((unsigned __int128)(a)*b + c); }},
      {"div.s32 %r4, %r1, %r2;", 'r', [](u64 a, u64 b, u64) { return s32(b) == 0 ? ~0U : u32(wide(s32(a)) / s32(b)); }},
      {"div.u32 %r4, %r1, %r2;", 'r', [](u64 a, u64 b, u64) { return u32(b) == 0 ? ~0U : u32(a) / u32(b); }},
      {"rem.s32 %r4, %r1, %r2;", 'r',
       [](u64 a, u64 b, u64) { return s32(b) == 0 ? u32(a) : u32(wide(s32(a)) % s32(b)); }},
      {"rem.u64 %d4, %d1, %d2;", 'd', [](u64 a, u64 b, u64) { return b == 0 ? a : a % b; }},
      {"div.s64 %d4, %d1, %d2;", 'd',
       [](u64 a, u64 b, u64) { return b == 0 ? ~0ULL : u64(wide(s64(a)) / wide(s64(b))); }},
      {"min.s32 %r4, %r1, %r2;", 'r', [](u64 a, u64 b, u64) { return u32(std::min(s32(a), s32(b))); }},
      {"max.u32 %r4, %r1, %r2;", 'r', [](u64 a, u64 b, u64) { return std::max(u32(a), u32(b)); }},
      {"min.s64 %d4, %d1, %d2;", 'd', [](u64 a, u64 b, u64) { return u64(std::min(s64(a), s64(b))); }},
      {"max.u16 %h4, %h1, %h2;", 'h', [](u64 a, u64 b, u64) { return std::max(uint16_t(a), uint16_t(b)); }},
      {"neg.s32 %r4, %r1;", 'r', [](u64 a, u64, u64) { return u32(-wide(a)); }},
      {"abs.s32 %r4, %r1;", 'r', [](u64 a, u64, u64) { return u32(s32(a) < 0 ? -wide(s32(a)) : wide(s32(a))); }},
      {"sad.u32 %r4, %r1, %r2, %r3;", 'r',
       [](u64 a, u64 b, u64 c) { return u32(wide(c) + (u32(a) < u32(b) ? u32(b) - u32(a) : u32(a) - u32(b))); }},
      {"mul24.lo.u32 %r4, %r1, %r2;", 'r', [](u64 a, u64 b, u64) { return u32((a & 0xffffff) * (b & 0xffffff)); }},
  });
}

TEST(ScalarForms, Bits) {
  const auto extract = [](u64 a, u64 b, u64 c, int width, bool isSigned) {
    // PTX's own definition, bit by bit.
    const u32 position = b & 255, length = c & 255;
    const u64 sign = isSigned && length > 0 ? a >> std::min<u32>(position + length - 1, u32(width) - 1) & 1 : 0;
    u64 result = 0;
    for (u32 i = 0; i < u32(width); ++i)
      result |= (i < length && position + i < u32(width) ? a >> (position + i) & 1 : sign) << i;
    return result;
  };
  check({
      {"and.b32 %r4, %r1, %r2;", 'r', [](u64 a, u64 b, u64) { return u32(a & b); }},
      {"or.b64 %d4, %d1, %d2;", 'd', [](u64 a, u64 b, u64) { return a | b; }},
      {"xor.b16 %h4, %h1, %h2;", 'h', [](u64 a, u64 b, u64) { return uint16_t(a ^ b); }},
      {"not.b32 %r4, %r1;", 'r', [](u64 a, u64, u64) { return u32(~a); }},
      {"cnot.b32 %r4, %r1;", 'r', [](u64 a, u64, u64) { return u32(u32(a) == 0); }},
      {"and.pred %p4, %p1, %p2;", 'p', [](u64 a, u64 b, u64) { return u32(a) != 0 && s32(b) < 0; }},
      {"xor.pred %p4, %p1, %p2;", 'p', [](u64 a, u64 b, u64) { return (u32(a) != 0) != (s32(b) < 0); }},
      {"not.pred %p4, %p1;", 'p', [](u64 a, u64, u64) { return u32(a) == 0; }},
      {"shl.b32 %r4, %r1, %r2;", 'r', [](u64 a, u64 b, u64) { return u32(b) > 31 ? 0 : u32(a) << u32(b); }},
      {"shr.u32 %r4, %r1, %r2;", 'r', [](u64 a, u64 b, u64) { return u32(b) > 31 ? 0 : u32(a) >> u32(b); }},
      {"shr.s32 %r4, %r1, %r2;", 'r', [](u64 a, u64 b, u64) { return u32(s32(a) >> std::min(u32(b), 31U)); }},
      {"shr.s64 %d4, %d1, %r2;", 'd', [](u64 a, u64 b, u64) { return u64(s64(a) >> std::min(u32(b), 63U)); }},
      {"shl.b64 %d4, %d1, %r2;", 'd', [](u64 a, u64 b, u64) { return u32(b) > 63 ? 0 : a << u32(b); }},
      {"shr.s16 %h4, %h1, %r2;", 'h', [](u64 a, u64 b, u64) { return uint16_t(int16_t(a) >> std::min(u32(b), 15U)); }},
      {"shf.l.wrap.b32 %r4, %r1, %r2, %r3;", 'r',
       [](u64 a, u64 b, u64 c) { return u32((u64(u32(b)) << 32 | u32(a)) << (c & 31) >> 32); }},
      {"shf.r.clamp.b32 %r4, %r1, %r2, %r3;", 'r',
       [](u64 a, u64 b, u64 c) { return u32((u64(u32(b)) << 32 | u32(a)) >> std::min<u32>(u32(c), 32)); }},
      {"lop3.b32 %r4, %r1, %r2, %r3, 0x96;", 'r', [](u64 a, u64 b, u64 c) { return u32(a ^ b ^ c); }},
      {"lop3.b32 %r4, %r1, %r2, %r3, 0xca;", 'r', [](u64 a, u64 b, u64 c) { return u32((a & b) | (~a & c)); }},
      {"bfe.u32 %r4, %r1, %r2, %r3;", 'r', [&](u64 a, u64 b, u64 c) { return extract(u32(a), b, c, 32, false); }},
      {"bfe.s32 %r4, %r1, %r2, %r3;", 'r', [&](u64 a, u64 b, u64 c) { return extract(u32(a), b, c, 32, true); }},
      {"bfe.s64 %d4, %d1, %r2, %r3;", 'd', [&](u64 a, u64 b, u64 c) { return extract(a, b, c, 64, true); }},
      {"bfi.b32 %r4, %r1, %r2, %r3, 7;", 'r',
       [](u64 a, u64 b, u64 c) {
         u32 result = u32(b);
         for (u32 i = 0; i < 7 && (c & 255) + i < 32; ++i) {
           const u32 at = u32(c & 255) + i;
           result = (result & ~(1U << at)) | u32(a >> i & 1) << at;
         }
         return result;
       }},
      {"bfind.u32 %r4, %r1;", 'r', [](u64 a, u64, u64) { return u32(a) == 0 ? ~0U : u32(31 - __builtin_clz(u32(a))); }},
      {"bfind.s32 %r4, %r1;", 'r',
       [](u64 a, u64, u64) {
         const u32 bits = s32(a) < 0 ? ~u32(a) : u32(a);
         return bits == 0 ? ~0U : u32(31 - __builtin_clz(bits));
       }},
      {"popc.b32 %r4, %r1;", 'r', [](u64 a, u64, u64) { return u32(__builtin_popcount(u32(a))); }},
      {"popc.b64 %r4, %d1;", 'r', [](u64 a, u64, u64) { return u32(__builtin_popcountll(a)); }},
      {"clz.b32 %r4, %r1;", 'r', [](u64 a, u64, u64) { return u32(a) == 0 ? 32 : u32(__builtin_clz(u32(a))); }},
      {"clz.b64 %r4, %d1;", 'r', [](u64 a, u64, u64) { return a == 0 ? 64 : u32(__builtin_clzll(a)); }},
      {"brev.b32 %r4, %r1;", 'r',
       [](u64 a, u64, u64) {
         u32 result = 0;
         for (int i = 0; i < 32; ++i)
           result |= u32(a >> i & 1) << (31 - i);
         return result;
       }},
      {"prmt.b32 %r4, %r1, %r2, 0x7604;", 'r',
       [](u64 a, u64 b, u64) {
         return u32(b & 0xff) | u32(a & 0xff) << 8 | u32(b >> 16 & 0xff) << 16 | u32(b >> 24 & 0xff) << 24;
       }},
      {"prmt.b32 %r4, %r1, %r2, 0x88BB;", 'r',
       [](u64 a, u64, u64) {
         const u32 low = (a & 0x80) != 0 ? 0xff : 0, high = (a & 0x80000000) != 0 ? 0xff : 0;
         return high | high << 8 | low << 16 | low << 24;
       }},
  });
}

TEST(ScalarForms, CompareAndSelect) {
  check({
      {"setp.lt.s32 %p4, %r1, %r2;", 'p', [](u64 a, u64 b, u64) { return s32(a) < s32(b); }},
      {"setp.lo.u32 %p4, %r1, %r2;", 'p', [](u64 a, u64 b, u64) { return u32(a) < u32(b); }},
      {"setp.hs.u64 %p4, %d1, %d2;", 'p', [](u64 a, u64 b, u64) { return a >= b; }},
      {"setp.ne.b32 %p4, %r1, %r2;", 'p', [](u64 a, u64 b, u64) { return u32(a) != u32(b); }},
      {"setp.gt.s16 %p4, %h1, %h2;", 'p', [](u64 a, u64 b, u64) { return int16_t(a) > int16_t(b); }},
      {"setp.le.and.s32 %p4, %r1, %r2, %p1;", 'p', [](u64 a, u64 b, u64) { return s32(a) <= s32(b) && u32(a) != 0; }},
      {"setp.ge.or.u32 %p4, %r1, %r2, !%p1;", 'p', [](u64 a, u64 b, u64) { return u32(a) >= u32(b) || u32(a) == 0; }},
      {"setp.eq.xor.s64 %p4|%p5, %d1, %d2, %p1;", 'p', [](u64 a, u64 b, u64) { return (a == b) != (u32(a) != 0); }},
      {"setp.eq.s32 %p5|%p4, %r1, %r2;", 'p', [](u64 a, u64 b, u64) { return u32(a) != u32(b); }},
      {"set.lt.u32.s32 %r4, %r1, %r2;", 'r', [](u64 a, u64 b, u64) { return s32(a) < s32(b) ? ~0U : 0U; }},
      {"selp.b32 %r4, %r2, %r3, %p1;", 'r', [](u64 a, u64 b, u64 c) { return u32(u32(a) != 0 ? b : c); }},
      {"selp.b64 %d4, %d2, 5, %p1;", 'd', [](u64 a, u64 b, u64) { return u32(a) != 0 ? b : 5; }},
      {"slct.u32.s32 %r4, %r2, %r3, %r1;", 'r', [](u64 a, u64 b, u64 c) { return u32(s32(a) >= 0 ? b : c); }},
      {"@%p1 mov.u32 %r4, %r2;\n @!%p1 mov.u32 %r4, %r3;", 'r',
       [](u64 a, u64 b, u64 c) { return u32(u32(a) != 0 ? b : c); }},
  });
}

TEST(ScalarForms, IntegerConversions) {
  check({
      {"cvt.s64.s32 %d4, %r1;", 'd', [](u64 a, u64, u64) { return u64(s64(s32(a))); }},
      {"cvt.u64.u32 %d4, %r1;", 'd', [](u64 a, u64, u64) { return u64(u32(a)); }},
      {"cvt.u32.u64 %r4, %d1;", 'r', [](u64 a, u64, u64) { return u32(a); }},
      {"cvt.s32.s16 %r4, %h1;", 'r', [](u64 a, u64, u64) { return u32(s32(int16_t(a))); }},
      {"cvt.s32.s8 %r4, %r1;", 'r', [](u64 a, u64, u64) { return u32(s32(int8_t(a))); }},
      {"cvt.u32.u8 %r4, %r1;", 'r', [](u64 a, u64, u64) { return u32(uint8_t(a)); }},
      {"cvt.s16.s8 %h4, %h1;", 'h', [](u64 a, u64, u64) { return uint16_t(int8_t(a)); }},
      {"cvt.sat.u8.s32 %r4, %r1;", 'r', [](u64 a, u64, u64) { return u32(std::clamp(s32(a), 0, 255)); }},
      {"cvt.sat.s16.s32 %h4, %r1;", 'h', [](u64 a, u64, u64) { return uint16_t(std::clamp(s32(a), -32768, 32767)); }},
      {"cvt.sat.u32.s64 %r4, %d1;", 'r', [](u64 a, u64, u64) { return u32(std::clamp<s64>(s64(a), 0, 0xffffffffLL)); }},
      {"cvt.rn.f32.s32 %f4, %r1;", 'f', [](u64 a, u64, u64) { return bitsOf(float(s32(a))); }},
      {"cvt.rn.f32.u32 %f4, %r1;", 'f', [](u64 a, u64, u64) { return bitsOf(float(u32(a))); }},
      {"cvt.rn.f32.u64 %f4, %d1;", 'f', [](u64 a, u64, u64) { return bitsOf(float(a)); }},
      {"cvt.rn.f32.s64 %f4, %d1;", 'f', [](u64 a, u64, u64) { return bitsOf(float(s64(a))); }},
      {"cvt.rz.f32.u64 %f4, %d1;", 'f',
       [](u64 a, u64, u64) {
         float value = float(a);
         while (wide(value) > wide(a))
           value = std::nextafter(value, 0.0F);
         return bitsOf(value);
       }},
      {"cvt.rn.f64.s32 %g4, %r1;", 'g', [](u64 a, u64, u64) { return bitsOf(double(s32(a))); }},
      {"cvt.rn.f64.u64 %g4, %d1;", 'g', [](u64 a, u64, u64) { return bitsOf(double(a)); }},
      {"mov.b32 {%h4, %h5}, %r1;", 'h', [](u64 a, u64, u64) { return uint16_t(a); }},
      {"mov.b32 %r4, {%h2, %h1};", 'r', [](u64 a, u64 b, u64) { return u32(uint16_t(a)) << 16 | uint16_t(b); }},
      {"mov.b64 {%r5, %r4}, %d1;", 'r', [](u64 a, u64, u64) { return u32(a >> 32); }},
      {"mov.b64 %d4, {%r1, %r2};", 'd', [](u64 a, u64 b, u64) { return u64(u32(b)) << 32 | u32(a); }},
  });
}

TEST(ScalarForms, Floats) {
  const auto ftz = [](float x) { return std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; };
  const auto binary = [](auto f) {
    return [f](u64 a, u64 b, u64) { return bitsOf(float(f(double(asF32(a)), double(asF32(b))))); };
  };
  check(
      {
          {"add.rn.f32 %f4, %f1, %f2;", 'f', binary([](double a, double b) { return a + b; })},
          {"sub.f32 %f4, %f1, %f2;", 'f', binary([](double a, double b) { return a - b; })},
          {"mul.rn.f32 %f4, %f1, %f2;", 'f', binary([](double a, double b) { return a * b; })},
          {"div.rn.f32 %f4, %f1, %f2;", 'f', binary([](double a, double b) { return a / b; })},
          {"add.rz.f32 %f4, %f1, %f2;", 'f',
           [](u64 a, u64 b, u64) {
             // The nearest sum and what it misses (Knuth's TwoSum): one step back if it is beyond.
             const float x = asF32(a), y = asF32(b);
             float value = x + y;
             const float part = value - x, missing = (x - (value - part)) + (y - part);
             if (std::isfinite(value) && (value > 0 ? missing < 0 : missing > 0))
               value = std::nextafter(value, 0.0F);
             return bitsOf(value);
           }},
          {"add.ftz.f32 %f4, %f1, %f2;", 'f',
           [&](u64 a, u64 b, u64) { return bitsOf(ftz(ftz(asF32(a)) + ftz(asF32(b)))); }},
          {"mul.sat.f32 %f4, %f1, %f2;", 'f',
           [](u64 a, u64 b, u64) {
             const float product = asF32(a) * asF32(b);
             return bitsOf(product > 0 ? std::min(product, 1.0F) : 0.0F);
           }},
          {"fma.rn.f32 %f4, %f1, %f2, %f3;", 'f',
           [](u64 a, u64 b, u64 c) { return bitsOf(std::fma(asF32(a), asF32(b), asF32(c))); }},
          {"mad.rn.f32 %f4, %f1, %f2, %f3;", 'f',
           [](u64 a, u64 b, u64 c) { return bitsOf(std::fma(asF32(a), asF32(b), asF32(c))); }},
          {"min.f32 %f4, %f1, %f2;", 'f',
           [](u64 a, u64 b, u64) {
             const float x = asF32(a), y = asF32(b);
             if (x == y)
               return bitsOf(std::signbit(x) ? x : y);
             return bitsOf(std::fmin(x, y));
           }},
          {"max.NaN.f32 %f4, %f1, %f2;", 'f',
           [](u64 a, u64 b, u64) {
             const float x = asF32(a), y = asF32(b);
             if (x != x || y != y)
               return bitsOf(NAN);
             if (x == y)
               return bitsOf(std::signbit(x) ? y : x);
             return bitsOf(std::fmax(x, y));
           }},
          {"abs.f32 %f4, %f1;", 'f', [](u64 a, u64, u64) { return a & 0x7fffffff; }},
          {"neg.f32 %f4, %f1;", 'f', [](u64 a, u64, u64) { return u32(a) ^ 0x80000000; }},
          {"copysign.f32 %f4, %f1, %f2;", 'f',
           [](u64 a, u64 b, u64) { return u32((a & 0x80000000) | (b & 0x7fffffff)); }},
          {"sqrt.rn.f32 %f4, %f1;", 'f', [](u64 a, u64, u64) { return bitsOf(std::sqrt(asF32(a))); }},
          {"rcp.rn.f32 %f4, %f1;", 'f', [](u64 a, u64, u64) { return bitsOf(1.0F / asF32(a)); }},
          {"add.f64 %g4, %g1, %g2;", 'g',
           [](u64 a, u64 b, u64) {
             const double sum = double(asF32(a)) + double(asF32(b));
             return sum != sum ? bitsOf(sum) : bitsOf(sum);
           }},
          {"setp.lt.f32 %p4, %f1, %f2;", 'p', [](u64 a, u64 b, u64) { return asF32(a) < asF32(b); }},
          {"setp.ltu.f32 %p4, %f1, %f2;", 'p', [](u64 a, u64 b, u64) { return !(asF32(a) >= asF32(b)); }},
          {"setp.ne.f32 %p4, %f1, %f1;", 'p', [](u64, u64, u64) { return 0; }},
          {"setp.neu.f32 %p4, %f1, %f1;", 'p', [](u64 a, u64, u64) { return asF32(a) != asF32(a); }},
          {"setp.nan.f32 %p4, %f1, %f2;", 'p', [](u64 a, u64 b, u64) { return std::isunordered(asF32(a), asF32(b)); }},
          {"setp.eq.ftz.f32 %p4, %f1, 0f00000000;", 'p', [&](u64 a, u64, u64) { return ftz(asF32(a)) == 0; }},
          {"testp.finite.f32 %p4, %f1;", 'p', [](u64 a, u64, u64) { return std::isfinite(asF32(a)); }},
          {"testp.subnormal.f32 %p4, %f1;", 'p',
           [](u64 a, u64, u64) { return std::fpclassify(asF32(a)) == FP_SUBNORMAL; }},
      },
      true);
}

TEST(ScalarForms, FloatConversions) {
  const auto toInteger = [](double value, double low, double high) {
    return value != value ? 0.0 : std::clamp(value, low, high);
  };
  check(
      {
          {"cvt.rzi.s32.f32 %r4, %f1;", 'r',
           [=](u64 a, u64, u64) { return u32(s32(toInteger(std::trunc(double(asF32(a))), INT32_MIN, INT32_MAX))); }},
          {"cvt.rni.s32.f32 %r4, %f1;", 'r',
           [=](u64 a, u64, u64) {
             return u32(s32(toInteger(std::nearbyint(double(asF32(a))), INT32_MIN, INT32_MAX)));
           }},
          {"cvt.rmi.s32.f32 %r4, %f1;", 'r',
           [=](u64 a, u64, u64) { return u32(s32(toInteger(std::floor(double(asF32(a))), INT32_MIN, INT32_MAX))); }},
          {"cvt.rpi.u32.f32 %r4, %f1;", 'r',
           [=](u64 a, u64, u64) { return u32(toInteger(std::ceil(double(asF32(a))), 0, UINT32_MAX)); }},
          {"cvt.rzi.u32.f32 %r4, %f1;", 'r',
           [=](u64 a, u64, u64) { return u32(toInteger(std::trunc(double(asF32(a))), 0, UINT32_MAX)); }},
          {"cvt.rni.f32.f32 %f4, %f1;", 'f', [](u64 a, u64, u64) { return bitsOf(std::nearbyint(asF32(a))); }},
          {"cvt.sat.f32.f32 %f4, %f1;", 'f',
           [](u64 a, u64, u64) { return bitsOf(asF32(a) > 0 ? std::min(asF32(a), 1.0F) : 0.0F); }},
          {"cvt.rn.f32.f64 %f4, %g1;", 'f', [](u64 a, u64, u64) { return bitsOf(asF32(a)); }},
          {"cvt.rn.f16.f32 %h4, %f1;", 'h',
           [](u64 a, u64, u64) {
             const _Float16 half = _Float16(asF32(a));
             return asF32(a) != asF32(a) ? 0x7fff : std::bit_cast<uint16_t>(half);
           }},
          {"cvt.rn.f16x2.f32 %r4, %f1, %f2;", 'r',
           [](u64 a, u64 b, u64) {
             const auto half = [](float x) -> u32 { return x != x ? 0x7fff : std::bit_cast<uint16_t>(_Float16(x)); };
             return half(asF32(a)) << 16 | half(asF32(b));
           }},
          {"cvt.rn.bf16.f32 %h4, %f1;", 'h',
           [](u64 a, u64, u64) {
             if (asF32(a) != asF32(a))
               return u64(0x7fff);
             // Half a unit of the 16th bit, ties to even, on the bits.
             const u64 low = a & 0xffff, high = u32(a) >> 16;
             return low > 0x8000 || (low == 0x8000 && (high & 1) != 0) ? high + 1 : high;
           }},
          {"cvt.f32.f16 %f4, %h1;", 'f',
           [](u64 a, u64, u64) { return bitsOf(float(std::bit_cast<_Float16>(uint16_t(a)))); }},
      },
      true);
}

} // namespace attnc::emulator

// Numbers: the two 16-bit formats, and arithmetic whose rounding is written out. Nothing
// here is left to compiler flags, so the PTX says every rounding.

using u32 = unsigned int;
using u64 = unsigned long long;
using u16 = unsigned short;

#define ATTNC_DEVICE static __device__ __forceinline__

constexpr float kLog2E = 1.44269504f;
constexpr float kLn2 = 0.693147181f;
ATTNC_DEVICE float infinity() { return __int_as_float(0x7f800000); }

// 2^x; exactly 1 at 0 and 0 at -infinity.
ATTNC_DEVICE float exp2Approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
ATTNC_DEVICE float log2Approx(float x) {
  float y;
  asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Two floats as the halves of a word, nearest even, `low` in the low half.
struct F16 {
  ATTNC_DEVICE u32 pack(float low, float high) {
    u32 word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
  }
  static constexpr u32 kExponents = 0x7c007c00u; // of both halves
  static constexpr u32 kOne = 0x3c00u;
};
struct BF16 {
  ATTNC_DEVICE u32 pack(float low, float high) {
    u32 word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
  }
  static constexpr u32 kExponents = 0x7f807f80u;
  static constexpr u32 kOne = 0x3f80u;
};

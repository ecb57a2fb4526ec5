// The floating-point formats of PTX and its conversions between them, bit for bit: every
// rounding of `cvt`, saturation, relu and flushing, and the arithmetic on 16-bit values.
// NaN results are PTX's canonical ones (0x7FFFFFFF, 0x7FFF, 0x7F).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace attnc::emulator {

enum class Rounding : uint8_t {
  Nearest,     // .rn, ties to even
  Zero,        // .rz
  Down,        // .rm, towards -inf
  Up,          // .rp, towards +inf
  NearestAway, // .rna, ties away from zero (tf32)
};

enum class Format : uint8_t { F16, BF16, TF32, E4M3, E5M2, F32 };

// The modifiers of a narrowing `cvt`.
struct Conversion {
  Rounding rounding = Rounding::Nearest;
  bool isSaturating = false; // .satfinite: beyond the largest finite value, infinities included, that value
  bool isRelu = false;       // .relu: negative results and -0 are +0; NaN stays NaN
};

// The bits of `value` in `format`, in the low bits (tf32 and f32: all 32). Formats without
// an infinity (e4m3) give NaN where they overflow and do not saturate.
uint32_t narrow(Format format, double value, Conversion conversion = {});

// The value of the low bits, exact; every NaN is the canonical one except bf16's and
// tf32's, whose bits are a part of the float's.
float widen(Format format, uint32_t bits);

// `value` as a float; the nearest one for .rn.
float toF32(double value, Rounding rounding);

inline float fromBF16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

// Branch-free, so that loops over lanes are vectorised.
inline float fromF16(uint16_t bits) {
  const uint32_t magnitude = uint32_t(bits & 0x7FFF) << 13;
  // The exponent's bias by a multiplication: exact, subnormals included.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  uint32_t result = std::bit_cast<uint32_t>(scaled) | uint32_t(bits & 0x8000) << 16;
  result |= magnitude >= 0x0F800000 ? 0x7F800000U : 0U;
  return std::bit_cast<float>(magnitude > 0x0F800000 ? 0x7FFFFFFFU : result);
}

// cvt.rn.bf16.f32 and cvt.rn.f16.f32 without modifiers, which kernels run most.
inline uint16_t toBF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FFF : rounded);
}

inline uint16_t toF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7FFFFFFF;
  // Normal: round the mantissa's last 13 bits and re-bias. Subnormal: adding 1/2 leaves
  // the value in units of 2^-24 in the low bits of the sum, rounded by the addition.
  const uint32_t normal = (magnitude + 0xFFF + (magnitude >> 13 & 1) - 0x38000000) >> 13;
  const uint32_t tiny = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000;
  uint32_t result = magnitude < 0x38800000 ? tiny : normal;
  result = magnitude >= 0x477FF000 ? 0x7C00U : result;
  result |= bits >> 16 & 0x8000;
  return static_cast<uint16_t>(magnitude > 0x7F800000 ? 0x7FFFU : result);
}

// .ftz: a subnormal becomes a zero of its sign.
inline float flush(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits & 0x7F800000) == 0 ? bits & 0x80000000 : bits);
}

// PTX's arithmetic results: NaN is 0x7FFFFFFF whatever the operands' payloads.
inline float canonical(float value) { return value != value ? std::bit_cast<float>(0x7FFFFFFFU) : value; }

// add, mul and fma of PTX on floats with any directed rounding (not NearestAway), without
// .ftz. The exact result is rounded once.
float addF32(float a, float b, Rounding rounding);
float mulF32(float a, float b, Rounding rounding);
float fmaF32(float a, float b, float c, Rounding rounding);

// The modifiers of f16 and bf16 arithmetic.
struct HalfModifiers {
  bool isFlushing = false;   // .ftz, f16 alone: subnormal operands and results are zeros
  bool isSaturating = false; // .sat, f16 alone: clamped to [0, 1], NaN is 0
  bool isRelu = false;       // .relu of fma: negative results are +0
};

// `format` is F16 or BF16. One rounding to nearest.
uint16_t addHalf(Format format, uint16_t a, uint16_t b, HalfModifiers modifiers = {});
uint16_t subHalf(Format format, uint16_t a, uint16_t b, HalfModifiers modifiers = {});
uint16_t mulHalf(Format format, uint16_t a, uint16_t b, HalfModifiers modifiers = {});
uint16_t fmaHalf(Format format, uint16_t a, uint16_t b, uint16_t c, HalfModifiers modifiers = {});

// min and max: -0 is below +0; with one NaN the other operand, with `isNanWinning` (.NaN)
// or two NaNs the canonical NaN.
uint16_t minHalf(Format format, uint16_t a, uint16_t b, bool isNanWinning = false);
uint16_t maxHalf(Format format, uint16_t a, uint16_t b, bool isNanWinning = false);

} // namespace attnc::emulator

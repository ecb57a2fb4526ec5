// Exact widening of the 16-bit formats and rounding to them, to nearest even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace attnc {

inline float fromBFloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

inline uint16_t toBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return 0x7FC0;
  bits += 0x7FFF + ((bits >> 16) & 1);
  return static_cast<uint16_t>(bits >> 16);
}

inline float fromFloat16(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = (bits >> 10) & 31, mantissa = bits & 0x3FF;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7F800000 | mantissa << 13);
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                   : std::bit_cast<float>((exponent + 112) << 23 | mantissa << 13);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(size) | sign);
}

// From double, so that a reference rounds once.
inline uint16_t toFloat16(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value))
    return 0x7E00;
  if (size >= 65520)
    return sign | 0x7C00;
  int exponent = 0;
  std::frexp(size, &exponent); // size = m 2^exponent, m in [1/2, 1)
  const int scale = exponent - 11 < -24 ? -24 : exponent - 11;
  const double units = std::nearbyint(std::ldexp(size, -scale)); // of 2^scale
  // Subnormal where the unit is the smallest; rounding up may carry into the next binade.
  const double rounded = std::ldexp(units, scale);
  if (rounded == 0)
    return sign;
  std::frexp(rounded, &exponent);
  if (exponent < -13)
    return sign | static_cast<uint16_t>(std::ldexp(rounded, 24));
  const uint16_t mantissa = static_cast<uint16_t>(std::ldexp(rounded, 11 - exponent)) & 0x3FF;
  return sign | static_cast<uint16_t>((exponent + 14) << 10) | mantissa;
}

inline uint16_t toBFloat16(double value) {
  // Rounding to odd in float first makes the second rounding the only one that counts.
  float narrow = static_cast<float>(value);
  if (std::isfinite(value) && static_cast<double>(narrow) != value) {
    uint32_t bits = std::bit_cast<uint32_t>(narrow);
    const bool isAway = std::fabs(static_cast<double>(narrow)) > std::fabs(value);
    narrow = std::bit_cast<float>((isAway ? bits - 1 : bits) | 1);
  }
  return toBFloat16(narrow);
}

} // namespace attnc

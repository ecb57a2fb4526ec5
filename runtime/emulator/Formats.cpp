// Conversions by integer arithmetic on a double's bits: every narrow format is described by
// its exponent and mantissa widths, and one function rounds to all of them.
#include "runtime/emulator/Formats.h"

#include <cmath>

namespace attnc::emulator {
namespace {

struct Layout {
  int exponentBits;
  int mantissaBits;
  int tailBits;        // unused low bits, tf32's 13
  uint32_t largest;    // the largest finite magnitude, before the tail
  uint32_t infinity;   // what overflow gives: infinity, or NaN where there is none
  uint32_t notANumber; // with the tail
};

constexpr Layout layoutOf(Format format) {
  switch (format) {
  case Format::F16:
    return {5, 10, 0, 0x7BFF, 0x7C00, 0x7FFF};
  case Format::BF16:
    return {8, 7, 0, 0x7F7F, 0x7F80, 0x7FFF};
  case Format::TF32:
    return {8, 10, 13, 0x3FBFF, 0x3FC00, 0x7FFFFFFF};
  case Format::E4M3:
    return {4, 3, 0, 0x7E, 0x7F, 0x7F};
  case Format::E5M2:
    return {5, 2, 0, 0x7B, 0x7C, 0x7F};
  case Format::F32:
    return {8, 23, 0, 0x7F7FFFFF, 0x7F800000, 0x7FFFFFFF};
  }
  return {};
}

bool isRoundedUp(Rounding rounding, bool isNegative, uint64_t kept, uint64_t rest, uint64_t half) {
  switch (rounding) {
  case Rounding::Nearest:
    return rest > half || (rest == half && (kept & 1) != 0);
  case Rounding::NearestAway:
    return rest >= half;
  case Rounding::Zero:
    return false;
  case Rounding::Down:
    return isNegative && rest != 0;
  case Rounding::Up:
    return !isNegative && rest != 0;
  }
  return false;
}

// The magnitude's bits, exponent and mantissa, rounded; may exceed `layout.largest`.
// `magnitude` are a finite double's bits without the sign.
uint64_t roundMagnitude(const Layout &layout, uint64_t magnitude, Rounding rounding, bool isNegative) {
  constexpr int kMantissa = 52, kBias = 1023;
  const int bias = (1 << (layout.exponentBits - 1)) - 1;
  const uint64_t implicit = uint64_t(1) << kMantissa;
  const int field = static_cast<int>(magnitude >> kMantissa);
  // A double's own subnormals are below every format's smallest value: any scale will do.
  const uint64_t significand = (magnitude & (implicit - 1)) | (field != 0 ? implicit : 0);
  const int exponent = field - kBias + bias; // biased for the format
  int drop = kMantissa - layout.mantissaBits;
  if (exponent < 1)
    drop += 1 - exponent;
  if (drop > 62) // far below the smallest value; only whether anything is left counts
    return isRoundedUp(rounding, isNegative, 0, significand != 0, 2) ? 1 : 0;
  const uint64_t kept = significand >> drop, rest = significand & ((uint64_t(1) << drop) - 1);
  uint64_t result = kept + (isRoundedUp(rounding, isNegative, kept, rest, uint64_t(1) << (drop - 1)) ? 1 : 0);
  if (exponent >= 1) // the implicit bit adds one to the field below it
    result += uint64_t(exponent - 1) << layout.mantissaBits;
  return result;
}

// Overflow goes to the largest finite value where the rounding points towards zero.
bool isOverflowFinite(Rounding rounding, bool isNegative) {
  return rounding == Rounding::Zero || (rounding == Rounding::Down && !isNegative) ||
         (rounding == Rounding::Up && isNegative);
}

// a + b rounded to odd: an inexact sum gets an odd last bit, so that rounding it again to
// at most 51 bits is as if the exact sum had been rounded (Boldo and Melquiond 2008).
double sumToOdd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  const double part = sum - a;
  const double error = (a - (sum - part)) + (b - part);
  const uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (error == 0 || (bits & 1) != 0)
    return sum;
  // The exact sum lies on the error's side of an even double: its odd neighbour there.
  return std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

// An exact zero sum of non-zero or opposite terms is -0 when rounding down, else +0.
double signedSum(double a, double b, Rounding rounding) {
  const double sum = sumToOdd(a, b);
  if (sum != 0 || (a == 0 && b == 0 && std::signbit(a) == std::signbit(b)))
    return sum;
  return rounding == Rounding::Down ? -0.0 : 0.0;
}

uint16_t flushHalf(Format format, uint16_t bits, const HalfModifiers &modifiers) {
  const bool isSubnormal = format == Format::F16 && (bits & 0x7C00) == 0;
  return modifiers.isFlushing && isSubnormal ? bits & 0x8000 : bits;
}

uint16_t finishHalf(Format format, double value, const HalfModifiers &modifiers) {
  if (modifiers.isSaturating)
    value = !(value > 0) ? 0.0 : value > 1 ? 1.0 : value;
  return flushHalf(format, uint16_t(narrow(format, value, {.isRelu = modifiers.isRelu})), modifiers);
}

bool isNanHalf(Format format, uint16_t bits) { return (bits & 0x7FFF) > (format == Format::F16 ? 0x7C00 : 0x7F80); }

// Orders the values: negative ones below, -0 below +0.
int orderOf(uint16_t bits) { return (bits & 0x8000) != 0 ? -int(bits & 0x7FFF) - 1 : bits; }

uint16_t pickHalf(Format format, uint16_t a, uint16_t b, bool isNanWinning, bool isMax) {
  const bool isNanA = isNanHalf(format, a), isNanB = isNanHalf(format, b);
  if ((isNanA && isNanB) || (isNanWinning && (isNanA || isNanB)))
    return 0x7FFF;
  if (isNanA || isNanB)
    return isNanA ? b : a;
  return (orderOf(a) > orderOf(b)) == isMax ? a : b;
}

} // namespace

uint32_t narrow(Format format, double value, Conversion conversion) {
  const Layout layout = layoutOf(format);
  if (std::isnan(value))
    return layout.notANumber;
  const bool isNegative = std::signbit(value);
  if (isNegative && conversion.isRelu)
    return 0;
  uint64_t magnitude = std::isinf(value) ? layout.infinity
                                         : roundMagnitude(layout, std::bit_cast<uint64_t>(value) & ~(uint64_t(1) << 63),
                                                          conversion.rounding, isNegative);
  if (magnitude > layout.largest) {
    const bool isFinite =
        conversion.isSaturating || (!std::isinf(value) && isOverflowFinite(conversion.rounding, isNegative));
    magnitude = isFinite ? layout.largest : layout.infinity;
  }
  const uint32_t sign = isNegative ? 1U << (layout.exponentBits + layout.mantissaBits) : 0;
  return (sign | static_cast<uint32_t>(magnitude)) << layout.tailBits;
}

float widen(Format format, uint32_t bits) {
  switch (format) {
  case Format::F16:
    return fromF16(static_cast<uint16_t>(bits));
  case Format::BF16:
    return fromBF16(static_cast<uint16_t>(bits));
  case Format::E5M2: // the upper byte of an f16
    return fromF16(static_cast<uint16_t>((bits & 0xFF) << 8));
  case Format::E4M3: {
    const uint32_t magnitude = bits & 0x7F, sign = (bits & 0x80) << 24;
    if (magnitude == 0x7F)
      return std::bit_cast<float>(0x7FFFFFFFU);
    const float scaled = std::bit_cast<float>(magnitude << 20) * 0x1p120F;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | sign);
  }
  case Format::TF32:
    return std::bit_cast<float>(bits & ~0x1FFFU);
  case Format::F32:
    return std::bit_cast<float>(bits);
  }
  return 0;
}

float toF32(double value, Rounding rounding) {
  return std::bit_cast<float>(narrow(Format::F32, value, {.rounding = rounding}));
}

float addF32(float a, float b, Rounding rounding) {
  if (rounding == Rounding::Nearest)
    return canonical(a + b);
  return toF32(signedSum(a, b, rounding), rounding);
}

float mulF32(float a, float b, Rounding rounding) {
  if (rounding == Rounding::Nearest)
    return canonical(a * b);
  return toF32(double(a) * double(b), rounding);
}

float fmaF32(float a, float b, float c, Rounding rounding) {
  if (rounding == Rounding::Nearest)
    return canonical(std::fma(a, b, c));
  return toF32(signedSum(double(a) * double(b), c, rounding), rounding);
}

uint16_t addHalf(Format format, uint16_t a, uint16_t b, HalfModifiers modifiers) {
  a = flushHalf(format, a, modifiers), b = flushHalf(format, b, modifiers);
  return finishHalf(format, double(widen(format, a)) + double(widen(format, b)), modifiers);
}

uint16_t subHalf(Format format, uint16_t a, uint16_t b, HalfModifiers modifiers) {
  return addHalf(format, a, b ^ 0x8000, modifiers);
}

uint16_t mulHalf(Format format, uint16_t a, uint16_t b, HalfModifiers modifiers) {
  a = flushHalf(format, a, modifiers), b = flushHalf(format, b, modifiers);
  return finishHalf(format, double(widen(format, a)) * double(widen(format, b)), modifiers);
}

uint16_t fmaHalf(Format format, uint16_t a, uint16_t b, uint16_t c, HalfModifiers modifiers) {
  a = flushHalf(format, a, modifiers), b = flushHalf(format, b, modifiers), c = flushHalf(format, c, modifiers);
  const double product = double(widen(format, a)) * double(widen(format, b));
  return finishHalf(format, sumToOdd(product, widen(format, c)), modifiers);
}

uint16_t minHalf(Format format, uint16_t a, uint16_t b, bool isNanWinning) {
  return pickHalf(format, a, b, isNanWinning, false);
}

uint16_t maxHalf(Format format, uint16_t a, uint16_t b, bool isNanWinning) {
  return pickHalf(format, a, b, isNanWinning, true);
}

} // namespace attnc::emulator

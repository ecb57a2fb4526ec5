// cvt between all types. One general path works lane by lane through __int128 or double, both
// of which hold every source exactly; the conversions that kernels run most have loops of their
// own.
#include <algorithm>
#include <cmath>

#include "runtime/emulator/Form.h"
#include "runtime/emulator/Formats.h"
#include "runtime/emulator/Lanes.h"

namespace attnc::emulator {

namespace {

constexpr auto kConvert = InstructionClass::Convert;

struct Conversions {
  Type to = Type::B32, from = Type::B32;
  Rounding rounding = Rounding::Nearest;
  bool hasRounding = false;
  bool toWhole = false; // .rni and the like
  bool isFlushing = false, isSaturating = false, isFinite = false, isRelu = false;
  bool isToWide = false, isFromWide = false; // 64-bit registers

  uint32_t packed() const {
    return uint32_t(to) | uint32_t(from) << 5 | uint32_t(rounding) << 10 | uint32_t(toWhole) << 13 |
           uint32_t(isFlushing) << 14 | uint32_t(isSaturating) << 15 | uint32_t(isFinite) << 16 |
           uint32_t(isRelu) << 17 | uint32_t(isToWide) << 18 | uint32_t(isFromWide) << 19;
  }
  static Conversions unpack(uint32_t detail) {
    const auto bit = [&](int at) { return (detail >> at & 1) != 0; };
    Conversions c;
    c.to = Type(detail & 31), c.from = Type(detail >> 5 & 31), c.rounding = Rounding(detail >> 10 & 7);
    c.toWhole = bit(13), c.isFlushing = bit(14), c.isSaturating = bit(15), c.isFinite = bit(16);
    c.isRelu = bit(17), c.isToWide = bit(18), c.isFromWide = bit(19);
    return c;
  }
};

Format formatOf(Type type) {
  switch (type) {
  case Type::F16:
  case Type::F16x2:
    return Format::F16;
  case Type::BF16:
  case Type::BF16x2:
    return Format::BF16;
  case Type::TF32:
    return Format::TF32;
  case Type::E4M3:
  case Type::E4M3x2:
    return Format::E4M3;
  case Type::E5M2:
  case Type::E5M2x2:
    return Format::E5M2;
  default:
    return Format::F32;
  }
}

bool isPair(Type type) {
  return type == Type::F16x2 || type == Type::BF16x2 || type == Type::E4M3x2 || type == Type::E5M2x2;
}

__int128 integerOf(uint64_t bits, Type type) {
  const int width = bitsOf(type);
  if (isSigned(type))
    return int64_t(bits << (64 - width)) >> (64 - width);
  return width == 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

__int128 clampTo(__int128 value, Type type) {
  const int width = bitsOf(type);
  const __int128 least = isSigned(type) ? -(__int128(1) << (width - 1)) : 0;
  const __int128 most = (__int128(1) << (isSigned(type) ? width - 1 : width)) - 1;
  return std::clamp(value, least, most);
}

// Into the width of the register, with the type's sign.
uint64_t extended(__int128 value, Type type) { return uint64_t(integerOf(uint64_t(value), type)); }

double floatOf(uint64_t bits, const Conversions &c) {
  if (c.from == Type::F64)
    return std::bit_cast<double>(bits);
  if (c.from == Type::F32) {
    const float value = std::bit_cast<float>(uint32_t(bits));
    return c.isFlushing ? flush(value) : value;
  }
  return widen(formatOf(c.from), uint32_t(bits));
}

double wholeNumber(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  default:
    return std::nearbyint(value); // the environment rounds to nearest
  }
}

// The bits of `value` in the float type c.to.
uint64_t floatBits(double value, const Conversions &c) {
  if (c.isSaturating)
    value = value > 0 ? std::min(value, 1.0) : 0.0;
  if (c.to == Type::F64)
    return std::bit_cast<uint64_t>(value);
  if (c.to == Type::F32) {
    float result = canonical(toF32(value, c.rounding));
    if (c.isFlushing)
      result = flush(result);
    return std::bit_cast<uint32_t>(result);
  }
  return narrow(formatOf(c.to), value, {c.rounding, c.isFinite, c.isRelu});
}

// A double that rounds to c.to as the integer itself would: what does not fit in 53 bits
// leaves its last bit set.
double doubleOf(__int128 value) {
  auto result = double(value);
  if (__int128(result) == value)
    return result;
  const __int128 magnitude = value < 0 ? -value : value;
  double truncated = std::fabs(result);
  if (__int128(truncated) > magnitude)
    truncated = std::nextafter(truncated, 0.0);
  result = std::bit_cast<double>(std::bit_cast<uint64_t>(truncated) | 1);
  return value < 0 ? -result : result;
}

uint64_t floatToInteger(double value, const Conversions &c) {
  if (value != value) {
    const bool isZero = c.from != Type::F64 && bitsOf(c.to) != 64;
    return isZero ? 0 : uint64_t(1) << (bitsOf(c.to) - 1);
  }
  const double whole = wholeNumber(value, c.rounding);
  const __int128 exact = std::fabs(whole) < 0x1p100 ? __int128(whole)
                         : whole < 0                ? -(__int128(1) << 100)
                                                    : __int128(1) << 100;
  return extended(clampTo(exact, c.to), c.to);
}

uint64_t convert(uint64_t bits, const Conversions &c) {
  if (isFloat(c.from)) {
    double value = floatOf(bits, c);
    if (!isFloat(c.to))
      return floatToInteger(value, c);
    if (c.toWhole)
      value = wholeNumber(value, c.rounding);
    return floatBits(value, c);
  }
  const __int128 value = integerOf(bits, c.from);
  if (isFloat(c.to)) {
    if (c.to == Type::F64 && c.rounding == Rounding::Nearest)
      return std::bit_cast<uint64_t>(double(value));
    return floatBits(doubleOf(value), c);
  }
  return extended(c.isSaturating ? clampTo(value, c.to) : value, c.to);
}

Flow runConvert(Warp &warp, const Instruction &i, uint32_t mask) {
  const Conversions c = Conversions::unpack(i.detail);
  forLanes(mask, [&](int lane) {
    const uint64_t bits = c.isFromWide ? warp.doubleWords(i.a)[lane] : warp.words(i.a)[lane];
    const uint64_t result = convert(bits, c);
    if (c.isToWide)
      warp.doubleWords(i.d)[lane] = result;
    else
      warp.words(i.d)[lane] = uint32_t(result) & (i.immediate == 16 ? 0xffffU : ~0U);
  });
  return Flow::Next;
}

// Pairs: two floats into halves or bytes (a the upper one), or the elements of another pair.
Flow runConvertPair(Warp &warp, const Instruction &i, uint32_t mask) {
  Conversions c = Conversions::unpack(i.detail);
  const int fromBits = bitsOf(c.from) / 2, toBits = bitsOf(c.to) / 2;
  forLanes(mask, [&](int lane) {
    const uint32_t a = warp.words(i.a)[lane];
    uint64_t low = 0, high = 0;
    if (i.b >= 0)
      low = warp.words(i.b)[lane], high = a;
    else
      low = a & ((1U << fromBits) - 1), high = a >> fromBits;
    warp.words(i.d)[lane] = uint32_t(convert(low, c) | convert(high, c) << toBits);
  });
  return Flow::Next;
}

// The loops that matter for speed; nullptr where the general path must do.
Handler fastHandler(const Conversions &c, int toBits, int fromBits) {
  if (c.isFlushing || c.isSaturating || c.isFinite || c.isRelu || toBits != bitsOf(c.to) || fromBits != bitsOf(c.from))
    return nullptr;
  const auto is = [&](Type to, Type from) { return c.to == to && c.from == from; };
  if (is(Type::U64, Type::U32) || is(Type::S64, Type::U32) || is(Type::B64, Type::B32))
    return unary<uint64_t, uint32_t>([](uint32_t a) { return uint64_t(a); });
  if (is(Type::S64, Type::S32) || is(Type::U64, Type::S32))
    return unary<int64_t, int32_t>([](int32_t a) { return int64_t(a); });
  if (!isFloat(c.to) && !isFloat(c.from) && toBits == 32 && fromBits == 64)
    return unary<uint32_t, uint64_t>([](uint64_t a) { return uint32_t(a); });
  if (is(Type::F32, Type::F16))
    return unary<float, uint16_t>([](uint16_t a) { return fromF16(a); });
  if (is(Type::F32, Type::BF16))
    return unary<float, uint16_t>([](uint16_t a) { return fromBF16(a); });
  if (is(Type::S32, Type::F32) && c.rounding == Rounding::Zero)
    return unary<int32_t, float>([](float a) {
      const float bounded = a > -0x1p31F ? a : -0x1p31F;
      const int32_t inside = int32_t(bounded < 0x1p31F ? bounded : 0.0F);
      return a != a ? 0 : bounded < 0x1p31F ? inside : INT32_MAX;
    });
  if (c.rounding != Rounding::Nearest)
    return nullptr;
  if (is(Type::F32, Type::S32))
    return unary<float, int32_t>([](int32_t a) { return float(a); });
  if (is(Type::F32, Type::U32))
    return unary<float, uint32_t>([](uint32_t a) { return float(a); });
  if (is(Type::F16, Type::F32))
    return unary<uint16_t, float>([](float a) { return toF16(a); });
  if (is(Type::BF16, Type::F32))
    return unary<uint16_t, float>([](float a) { return toBF16(a); });
  return nullptr;
}

Handler fastPair(const Conversions &c) {
  if (c.isFinite || c.isRelu || c.from != Type::F32 || c.rounding != Rounding::Nearest)
    return nullptr;
  if (c.to == Type::F16x2)
    return binary<uint32_t, float, float>([](float a, float b) { return uint32_t(toF16(a)) << 16 | toF16(b); });
  if (c.to == Type::BF16x2)
    return binary<uint32_t, float, float>([](float a, float b) { return uint32_t(toBF16(a)) << 16 | toBF16(b); });
  return nullptr;
}

Conversions takeConversions(Form &form) {
  Conversions c;
  constexpr std::pair<std::string_view, Rounding> kRoundings[] = {{"rn", Rounding::Nearest},
                                                                  {"rz", Rounding::Zero},
                                                                  {"rm", Rounding::Down},
                                                                  {"rp", Rounding::Up},
                                                                  {"rna", Rounding::NearestAway}};
  for (const auto &[name, rounding] : kRoundings) {
    if (form.take(name))
      c.rounding = rounding, c.hasRounding = true;
    if (form.take(std::string(name) + "i"))
      c.rounding = rounding, c.hasRounding = c.toWhole = true;
  }
  c.isFlushing = form.take("ftz");
  c.isSaturating = form.take("sat");
  c.isFinite = form.take("satfinite");
  c.isRelu = form.take("relu");
  c.to = form.type();
  c.from = form.type();
  return c;
}

void decodePair(Form &form, Conversions c) {
  Instruction &i = form.instruction;
  const bool isFromFloats = c.from == Type::F32;
  if (!isFromFloats && !isPair(c.from))
    return form.fail("a pair is made of two f32 or of another pair");
  form.expectOperands(isFromFloats ? 3 : 2, isFromFloats ? 3 : 2);
  i.a = form.read(form.operand(1), c.from);
  if (isFromFloats)
    i.b = form.read(form.operand(2), c.from);
  i.d = form.write(form.operand(0), c.to);
  i.detail = c.packed();
  const Handler fast = fastPair(c);
  form.use(kConvert, fast != nullptr ? fast : runConvertPair);
}

void decodeCvt(Form &form) {
  Conversions c = takeConversions(form);
  if (isPair(c.to) || isPair(c.from)) {
    if (!isPair(c.to))
      return form.fail("a pair does not become a scalar");
    return decodePair(form, c);
  }
  if (isBits(c.to) || isBits(c.from) || c.to == Type::F32x2 || c.from == Type::F32x2 || c.to == Type::Pred ||
      c.from == Type::Pred || c.from == Type::TF32)
    return form.fail("its types are not known");
  form.expectOperands(2, 2);
  Instruction &i = form.instruction;
  int fromBits = 0, toBits = 0;
  i.a = form.readWide(form.operand(1), c.from, fromBits);
  i.d = form.writeWide(form.operand(0), c.to, toBits);
  if (i.d < 0)
    return form.fail("its destination is a sink");
  if ((isFloat(c.from) && bitsOf(c.from) != fromBits) || (isFloat(c.to) && bitsOf(c.to) != toBits))
    return form.fail("a float's register has another width");
  if (isFloat(c.from) && !isFloat(c.to))
    c.toWhole = true;
  c.isToWide = toBits > 32;
  c.isFromWide = fromBits > 32;
  i.detail = c.packed();
  i.immediate = toBits; // a 16-bit register holds no more in its word
  const Handler fast = c.toWhole && isFloat(c.to) ? nullptr : fastHandler(c, toBits, fromBits);
  form.use(kConvert, fast != nullptr ? fast : runConvert);
}

} // namespace

const OpcodeTable &convertOpcodes() {
  static const OpcodeTable kTable = {{"cvt", decodeCvt}};
  return kTable;
}

} // namespace attnc::emulator

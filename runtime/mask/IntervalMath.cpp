#include "runtime/mask/IntervalMath.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace attnc {

using Abstract = MaskAnalysis::Abstract;

std::optional<int64_t> orderedValue(ScalarType type, uint32_t bits) {
  if (type != ScalarType::F32)
    return static_cast<int32_t>(bits);
  const float value = std::bit_cast<float>(bits);
  if (std::isnan(value))
    return std::nullopt;
  const int64_t size = bits & 0x7FFFFFFF;
  return std::signbit(value) ? -size : size;
}

static constexpr Abstract kUnknown = {};

static Abstract within32(int64_t low, int64_t high, bool isAttained, uint8_t axes) {
  if (low < INT32_MIN || high > INT32_MAX)
    return kUnknown; // some point could wrap
  return {true, low, high, isAttained, axes};
}

static Abstract truth(bool canBeFalse, bool canBeTrue, bool isAttained, uint8_t axes) {
  return {true, !canBeFalse, canBeTrue, isAttained, axes};
}

// Ends that are attained independently: no axis is shared.
static bool areIndependent(const Abstract &a, const Abstract &b) {
  return a.isAttained && b.isAttained && ((a.axes & b.axes) == 0 || a.isConstant() || b.isConstant());
}
static uint8_t axesOf(const Abstract &a, const Abstract &b) {
  return static_cast<uint8_t>((a.isConstant() ? 0 : a.axes) | (b.isConstant() ? 0 : b.axes));
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

static Abstract lessThan(const Abstract &a, const Abstract &b, bool orEqual) {
  const int64_t slack = orEqual ? 1 : 0;
  const bool always = a.high < b.low + slack, never = a.low >= b.high + slack;
  return truth(!always, !never, areIndependent(a, b), axesOf(a, b));
}

static Abstract equal(const Abstract &a, const Abstract &b) {
  if (a.high < b.low || b.high < a.low)
    return truth(true, false, true, axesOf(a, b));
  if (a.isConstant() && b.isConstant())
    return truth(false, true, true, 0);
  // Unequal ends occur somewhere; equality is proven only where two ends coincide.
  const bool endsMeet = a.low == b.low || a.low == b.high || a.high == b.low || a.high == b.high;
  return truth(true, true, areIndependent(a, b) && endsMeet, axesOf(a, b));
}

static Abstract negated(Abstract a) { return truth(a.high == 1, a.low == 0, a.isAttained, a.axes); }

static Abstract compareIntervals(IntPredicate predicate, const Abstract &a, const Abstract &b) {
  if (!a.isKnown || !b.isKnown)
    return kUnknown;
  switch (predicate) {
  case IntPredicate::eq:
    return equal(a, b);
  case IntPredicate::ne:
    return negated(equal(a, b));
  case IntPredicate::slt:
    return lessThan(a, b, false);
  case IntPredicate::sle:
    return lessThan(a, b, true);
  case IntPredicate::sgt:
    return lessThan(b, a, false);
  case IntPredicate::sge:
    return lessThan(b, a, true);
  case IntPredicate::ult:
  case IntPredicate::ule:
  case IntPredicate::ugt:
  case IntPredicate::uge:
    break;
  }
  if (a.low < 0 || b.low < 0)
    return kUnknown;
  const auto isSigned = predicate == IntPredicate::ult   ? IntPredicate::slt
                        : predicate == IntPredicate::ule ? IntPredicate::sle
                        : predicate == IntPredicate::ugt ? IntPredicate::sgt
                                                         : IntPredicate::sge;
  return compareIntervals(isSigned, a, b);
}

// A known interval of floats holds no NaN, so ordered and unordered predicates agree.
static Abstract compareFloatIntervals(FloatPredicate predicate, const Abstract &a, const Abstract &b) {
  if (!a.isKnown || !b.isKnown)
    return kUnknown;
  switch (predicate) {
  case FloatPredicate::alwaysFalse:
  case FloatPredicate::uno:
    return truth(true, false, true, 0);
  case FloatPredicate::alwaysTrue:
  case FloatPredicate::ord:
    return truth(false, true, true, 0);
  case FloatPredicate::oeq:
  case FloatPredicate::ueq:
    return equal(a, b);
  case FloatPredicate::one:
  case FloatPredicate::une:
    return negated(equal(a, b));
  case FloatPredicate::olt:
  case FloatPredicate::ult:
    return lessThan(a, b, false);
  case FloatPredicate::ole:
  case FloatPredicate::ule:
    return lessThan(a, b, true);
  case FloatPredicate::ogt:
  case FloatPredicate::ugt:
    return lessThan(b, a, false);
  case FloatPredicate::oge:
  case FloatPredicate::uge:
    return lessThan(b, a, true);
  }
  return kUnknown;
}

//===----------------------------------------------------------------------===//
// Logic
//===----------------------------------------------------------------------===//

static Abstract conjunction(const Abstract &a, const Abstract &b) {
  if ((a.isKnown && a.high == 0) || (b.isKnown && b.high == 0))
    return truth(true, false, true, 0);
  if (!a.isKnown || !b.isKnown)
    return kUnknown;
  if (a.low == 1)
    return b;
  if (b.low == 1)
    return a;
  return truth(true, true, areIndependent(a, b), axesOf(a, b));
}

static Abstract disjunction(const Abstract &a, const Abstract &b) {
  if ((a.isKnown && a.low == 1) || (b.isKnown && b.low == 1))
    return truth(false, true, true, 0);
  if (!a.isKnown || !b.isKnown)
    return kUnknown;
  return negated(conjunction(negated(a), negated(b)));
}

static Abstract exclusiveOr(const Abstract &a, const Abstract &b) {
  if (!a.isKnown || !b.isKnown)
    return kUnknown;
  if (a.isConstant())
    return a.low ? negated(b) : b;
  if (b.isConstant())
    return b.low ? negated(a) : a;
  return truth(true, true, areIndependent(a, b), axesOf(a, b));
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static Abstract multiply(const Abstract &a, const Abstract &b) {
  const int64_t corners[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  const auto [low, high] = std::minmax_element(std::begin(corners), std::end(corners));
  return within32(*low, *high, areIndependent(a, b), axesOf(a, b));
}

static int64_t floorDivide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static Abstract divide(const Abstract &a, const Abstract &b) {
  if (!b.isConstant() || b.low == 0)
    return b.isConstant() ? within32(0, 0, true, 0) : kUnknown;
  const int64_t x = floorDivide(a.low, b.low), y = floorDivide(a.high, b.low);
  return within32(std::min(x, y), std::max(x, y), a.isAttained, a.axes);
}

static Abstract modulo(const Abstract &a, const Abstract &b) {
  if (!b.isConstant())
    return kUnknown;
  const int64_t divisor = b.low;
  if (divisor == 0)
    return within32(0, 0, true, 0);
  if (floorDivide(a.low, divisor) == floorDivide(a.high, divisor)) {
    const int64_t base = floorDivide(a.low, divisor) * divisor;
    return within32(a.low - base, a.high - base, a.isAttained, a.axes);
  }
  return within32(std::min<int64_t>(divisor + 1, 0), std::max<int64_t>(divisor - 1, 0), false, a.axes);
}

static Abstract absolute(const Abstract &a) {
  if (a.low >= 0)
    return a;
  if (a.high <= 0)
    return within32(-a.high, -a.low, a.isAttained, a.axes);
  return within32(0, std::max(-a.low, a.high), false, a.axes);
}

static Abstract bitwise(const Instruction &instruction, const Abstract &a, const Abstract &b) {
  if (a.isConstant() && b.isConstant()) {
    const uint32_t bits[] = {static_cast<uint32_t>(a.low), static_cast<uint32_t>(b.low)};
    const auto value = static_cast<int32_t>(*evaluateBits(instruction, bits));
    return within32(value, value, true, 0);
  }
  if (a.low < 0 || b.low < 0)
    return kUnknown;
  const uint8_t axes = axesOf(a, b);
  if (instruction.op == Opcode::AndI)
    return within32(0, std::min(a.high, b.high), false, axes);
  // Neither or nor xor sets a bit above the highest of both.
  return within32(0, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(a.high, b.high)) + 1)) - 1,
                  false, axes);
}

static Abstract shift(const Instruction &instruction, const Abstract &a, const Abstract &amount) {
  if (!amount.isConstant())
    return kUnknown;
  const int bits = static_cast<int>(amount.low & 31);
  if (instruction.op == Opcode::ShrSI)
    return within32(a.low >> bits, a.high >> bits, a.isAttained, a.axes);
  return within32(a.low * (int64_t(1) << bits), a.high * (int64_t(1) << bits), a.isAttained, a.axes);
}

static Abstract least(const Abstract &a, const Abstract &b) {
  return within32(std::min(a.low, b.low), std::min(a.high, b.high), areIndependent(a, b), axesOf(a, b));
}
static Abstract greatest(const Abstract &a, const Abstract &b) {
  return within32(std::max(a.low, b.low), std::max(a.high, b.high), areIndependent(a, b), axesOf(a, b));
}

static Abstract choose(const Abstract &condition, const Abstract &a, const Abstract &b) {
  if (condition.isConstant())
    return condition.low ? a : b;
  if (!a.isKnown || !b.isKnown)
    return kUnknown;
  const uint8_t axes = static_cast<uint8_t>(a.axes | b.axes | (condition.isKnown ? condition.axes : 3));
  const bool isSame = a.isConstant() && b.isConstant() && a.low == b.low;
  return {true, std::min(a.low, b.low), std::max(a.high, b.high), isSame, axes};
}

Abstract evaluateInterval(const Instruction &instruction, const Abstract *x) {
  const bool isBool = instruction.type == ScalarType::Bool;
  switch (instruction.op) {
  case Opcode::CmpI:
    return compareIntervals(static_cast<IntPredicate>(instruction.predicate), x[0], x[1]);
  case Opcode::CmpF:
    return compareFloatIntervals(static_cast<FloatPredicate>(instruction.predicate), x[0], x[1]);
  case Opcode::Select:
    return choose(x[0], x[1], x[2]);
  case Opcode::AndI:
    if (isBool)
      return conjunction(x[0], x[1]);
    break;
  case Opcode::OrI:
    if (isBool)
      return disjunction(x[0], x[1]);
    break;
  case Opcode::XorI:
    if (isBool)
      return exclusiveOr(x[0], x[1]);
    break;
  default:
    break;
  }
  for (size_t i = 0; i < instruction.operands.size(); ++i)
    if (!x[i].isKnown)
      return kUnknown;
  switch (instruction.op) {
  case Opcode::AddI:
    return within32(x[0].low + x[1].low, x[0].high + x[1].high, areIndependent(x[0], x[1]), axesOf(x[0], x[1]));
  case Opcode::SubI:
    return within32(x[0].low - x[1].high, x[0].high - x[1].low, areIndependent(x[0], x[1]), axesOf(x[0], x[1]));
  case Opcode::MulI:
    return multiply(x[0], x[1]);
  case Opcode::FloorDiv:
    return divide(x[0], x[1]);
  case Opcode::FloorMod:
    return modulo(x[0], x[1]);
  case Opcode::AndI:
  case Opcode::OrI:
  case Opcode::XorI:
    return bitwise(instruction, x[0], x[1]);
  case Opcode::ShlI:
  case Opcode::ShrSI:
    return shift(instruction, x[0], x[1]);
  case Opcode::MinSI:
    return least(x[0], x[1]);
  case Opcode::MaxSI:
    return greatest(x[0], x[1]);
  case Opcode::AbsI:
    return absolute(x[0]);
  case Opcode::Clamp:
    return instruction.type == ScalarType::I32 ? least(greatest(x[0], x[1]), x[2]) : kUnknown;
  case Opcode::BoolToInt:
    return x[0];
  // Handled before this switch.
  case Opcode::Argument:
  case Opcode::Constant:
  case Opcode::Param:
  case Opcode::Dim:
  case Opcode::Load:
  case Opcode::CmpI:
  case Opcode::CmpF:
  case Opcode::Select:
  // Floats that depend on query and key together: no intervals are kept for them.
  case Opcode::AddF:
  case Opcode::SubF:
  case Opcode::MulF:
  case Opcode::DivF:
  case Opcode::NegF:
  case Opcode::MinF:
  case Opcode::MaxF:
  case Opcode::AbsF:
  case Opcode::Floor:
  case Opcode::Ceil:
  case Opcode::RoundEven:
  case Opcode::Sqrt:
  case Opcode::Rsqrt:
  case Opcode::Exp:
  case Opcode::Exp2:
  case Opcode::Log:
  case Opcode::Log2:
  case Opcode::Tanh:
  case Opcode::Sin:
  case Opcode::Cos:
  case Opcode::Erf:
  case Opcode::Pow:
  case Opcode::Relu:
  case Opcode::IntToFloat:
  case Opcode::FloatToInt:
    return kUnknown;
  }
  return kUnknown;
}

} // namespace attnc

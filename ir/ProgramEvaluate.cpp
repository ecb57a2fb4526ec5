// The one definition of what each operation computes on 32-bit values.
#include "ir/Program.h"

#include <bit>
#include <cmath>
#include <limits>

namespace attnc {

static float asFloat(uint32_t bits) { return std::bit_cast<float>(bits); }
static uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }
static int32_t asInt(uint32_t bits) { return static_cast<int32_t>(bits); }

static uint32_t floorDivide(int32_t a, int32_t b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return 0u - static_cast<uint32_t>(a);
  int32_t quotient = a / b;
  return static_cast<uint32_t>(a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient);
}

static uint32_t floorModulo(int32_t a, int32_t b) {
  if (b == 0 || b == -1)
    return 0;
  int32_t rest = a % b;
  return static_cast<uint32_t>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

bool compareInts(IntPredicate predicate, uint32_t a, uint32_t b) {
  const int32_t x = asInt(a), y = asInt(b);
  switch (predicate) {
  case IntPredicate::eq:
    return x == y;
  case IntPredicate::ne:
    return x != y;
  case IntPredicate::slt:
    return x < y;
  case IntPredicate::sle:
    return x <= y;
  case IntPredicate::sgt:
    return x > y;
  case IntPredicate::sge:
    return x >= y;
  case IntPredicate::ult:
    return a < b;
  case IntPredicate::ule:
    return a <= b;
  case IntPredicate::ugt:
    return a > b;
  case IntPredicate::uge:
    return a >= b;
  }
  return false;
}

bool compareFloats(FloatPredicate predicate, double a, double b) {
  const bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case FloatPredicate::alwaysFalse:
    return false;
  case FloatPredicate::alwaysTrue:
    return true;
  case FloatPredicate::ord:
    return !unordered;
  case FloatPredicate::uno:
    return unordered;
  case FloatPredicate::oeq:
    return !unordered && a == b;
  case FloatPredicate::ogt:
    return !unordered && a > b;
  case FloatPredicate::oge:
    return !unordered && a >= b;
  case FloatPredicate::olt:
    return !unordered && a < b;
  case FloatPredicate::ole:
    return !unordered && a <= b;
  case FloatPredicate::one:
    return !unordered && a != b;
  case FloatPredicate::ueq:
    return unordered || a == b;
  case FloatPredicate::ugt:
    return unordered || a > b;
  case FloatPredicate::uge:
    return unordered || a >= b;
  case FloatPredicate::ult:
    return unordered || a < b;
  case FloatPredicate::ule:
    return unordered || a <= b;
  case FloatPredicate::une:
    return unordered || a != b;
  }
  return false;
}

double evaluateFloat(Opcode op, const double *x) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  auto least = [&](double a, double b) { return std::isnan(a) || std::isnan(b) ? nan : std::fmin(a, b); };
  auto most = [&](double a, double b) { return std::isnan(a) || std::isnan(b) ? nan : std::fmax(a, b); };
  switch (op) {
  case Opcode::AddF:
    return x[0] + x[1];
  case Opcode::SubF:
    return x[0] - x[1];
  case Opcode::MulF:
    return x[0] * x[1];
  case Opcode::DivF:
    return x[0] / x[1];
  case Opcode::NegF:
    return -x[0];
  case Opcode::MinF:
    return least(x[0], x[1]);
  case Opcode::MaxF:
    return most(x[0], x[1]);
  case Opcode::AbsF:
    return std::fabs(x[0]);
  case Opcode::Floor:
    return std::floor(x[0]);
  case Opcode::Ceil:
    return std::ceil(x[0]);
  case Opcode::RoundEven:
    return std::nearbyint(x[0]);
  case Opcode::Sqrt:
    return std::sqrt(x[0]);
  case Opcode::Rsqrt:
    return 1.0 / std::sqrt(x[0]);
  case Opcode::Exp:
    return std::exp(x[0]);
  case Opcode::Exp2:
    return std::exp2(x[0]);
  case Opcode::Log:
    return std::log(x[0]);
  case Opcode::Log2:
    return std::log2(x[0]);
  case Opcode::Tanh:
    return std::tanh(x[0]);
  case Opcode::Sin:
    return std::sin(x[0]);
  case Opcode::Cos:
    return std::cos(x[0]);
  case Opcode::Erf:
    return std::erf(x[0]);
  case Opcode::Pow:
    return std::pow(x[0], x[1]);
  case Opcode::Clamp:
    return least(most(x[0], x[1]), x[2]);
  case Opcode::Relu:
    return most(x[0], 0.0);
  default:
    return nan; // not an operation on floats
  }
}

int32_t floatToInt(double value) {
  if (std::isnan(value))
    return 0;
  if (value >= 2147483648.0)
    return std::numeric_limits<int32_t>::max();
  if (value < -2147483648.0)
    return std::numeric_limits<int32_t>::min();
  return static_cast<int32_t>(value);
}

std::optional<uint32_t> evaluateBits(const Instruction &instruction, const uint32_t *x) {
  switch (instruction.op) {
  case Opcode::Argument:
  case Opcode::Param:
  case Opcode::Dim:
  case Opcode::Load:
    return std::nullopt;
  case Opcode::Constant:
    return instruction.immediate;
  case Opcode::AddI:
    return x[0] + x[1];
  case Opcode::SubI:
    return x[0] - x[1];
  case Opcode::MulI:
    return x[0] * x[1];
  case Opcode::FloorDiv:
    return floorDivide(asInt(x[0]), asInt(x[1]));
  case Opcode::FloorMod:
    return floorModulo(asInt(x[0]), asInt(x[1]));
  case Opcode::AndI:
    return x[0] & x[1];
  case Opcode::OrI:
    return x[0] | x[1];
  case Opcode::XorI:
    return x[0] ^ x[1];
  case Opcode::ShlI:
    return x[0] << (x[1] & 31);
  case Opcode::ShrSI:
    return static_cast<uint32_t>(asInt(x[0]) >> (x[1] & 31));
  case Opcode::MinSI:
    return asInt(x[0]) < asInt(x[1]) ? x[0] : x[1];
  case Opcode::MaxSI:
    return asInt(x[0]) > asInt(x[1]) ? x[0] : x[1];
  case Opcode::AbsI:
    return asInt(x[0]) < 0 ? 0u - x[0] : x[0];
  case Opcode::CmpI:
    return compareInts(static_cast<IntPredicate>(instruction.predicate), x[0], x[1]);
  case Opcode::CmpF:
    return compareFloats(static_cast<FloatPredicate>(instruction.predicate), asFloat(x[0]), asFloat(x[1]));
  case Opcode::Select:
    return x[0] ? x[1] : x[2];
  case Opcode::Clamp:
    if (instruction.type == ScalarType::I32) {
      const int32_t low = asInt(x[0]) > asInt(x[1]) ? asInt(x[0]) : asInt(x[1]);
      return static_cast<uint32_t>(low < asInt(x[2]) ? low : asInt(x[2]));
    }
    [[fallthrough]];
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
  case Opcode::Relu: {
    // One operation in double, rounded once, is the correctly rounded one for + - * / sqrt.
    double wide[3] = {};
    for (size_t i = 0; i < instruction.operands.size(); ++i)
      wide[i] = asFloat(x[i]);
    return bitsOf(static_cast<float>(evaluateFloat(instruction.op, wide)));
  }
  case Opcode::IntToFloat:
    return bitsOf(static_cast<float>(asInt(x[0])));
  case Opcode::BoolToInt:
    return x[0] ? 1u : 0u;
  case Opcode::FloatToInt:
    return static_cast<uint32_t>(floatToInt(asFloat(x[0])));
  }
  return std::nullopt;
}

} // namespace attnc

// Integer arithmetic: add, sub, mul, mad, div, rem, min, max, neg, abs, sad. The same base
// opcodes on floats are passed to ArithmeticOps, with carries to CarryOps.
#include <algorithm>

#include "runtime/emulator/CarryDecode.h"
#include "runtime/emulator/FloatDecode.h"
#include "runtime/emulator/Form.h"
#include "runtime/emulator/Lanes.h"

namespace attnc::emulator {

namespace {

template <typename T> using Unsigned = std::make_unsigned_t<T>;

// Twice as wide, to multiply without loss.
template <typename T>
using Wide =
    std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                       std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                                          std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>>>;

template <typename T> T wrapAdd(T a, T b) { return T(Unsigned<T>(Unsigned<T>(a) + Unsigned<T>(b))); }
template <typename T> T wrapSub(T a, T b) { return T(Unsigned<T>(Unsigned<T>(a) - Unsigned<T>(b))); }
template <typename T> T wrapMul(T a, T b) {
  // 16-bit factors would be promoted to int and overflow.
  return T(Unsigned<T>(uint64_t(Unsigned<T>(a)) * uint64_t(Unsigned<T>(b))));
}
template <typename T> T highMul(T a, T b) { return T(Wide<T>(a) * Wide<T>(b) >> (8 * sizeof(T))); }

// The device does not trap: division by zero gives all ones, and INT_MIN / -1 wraps.
template <typename T> T safeDiv(T a, T b) {
  if (b == 0)
    return T(~T(0));
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1))
      return wrapSub<T>(0, a);
  return T(a / b);
}
template <typename T> T safeRem(T a, T b) {
  if (b == 0)
    return a;
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1))
      return 0;
  return T(a % b);
}

// A packed pair of 16-bit integers (u16x2, s16x2 of sm_90) is not known; typeFromName refuses it.
template <typename Make> void decodeBinary(Form &form, Type type, Make &&make) {
  form.standard(type, {type, type});
  if (!withArithmeticInteger(type, make))
    form.fail("its type is not an integer's");
}

void decodeAdd(Form &form) {
  if (isFloatForm(form))
    return decodeFloatAdd(form);
  if (isCarryForm(form))
    return decodeCarry(form);
  const bool isSubtraction = form.base() == "sub";
  const bool saturates = form.take("sat");
  const Type type = form.type();
  if (saturates && type != Type::S32)
    return form.fail("only .s32 saturates");
  form.standard(type, {type, type});
  withArithmeticInteger(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (saturates)
      form.use(InstructionClass::Integer,
               isSubtraction ? binary<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) {
                 const int64_t r = int64_t(a) - b;
                 return int32_t(r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r);
               })
                             : binary<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) {
                                 const int64_t r = int64_t(a) + b;
                                 return int32_t(r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r);
                               }));
    else if (isSubtraction)
      form.use(InstructionClass::Integer, binary<T, T, T>([](T a, T b) { return wrapSub<T>(a, b); }));
    else
      form.use(InstructionClass::Integer, binary<T, T, T>([](T a, T b) { return wrapAdd<T>(a, b); }));
  });
}

enum class Half { Low, High, Wide };

Half takeHalf(Form &form) {
  if (form.take("wide"))
    return Half::Wide;
  if (form.take("hi"))
    return Half::High;
  if (!form.take("lo"))
    form.fail(".lo, .hi or .wide is missing");
  return Half::Low;
}

Type widened(Form &form, Type type) {
  switch (type) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  case Type::S32:
    return Type::S64;
  default:
    form.fail(".wide needs 16 or 32 bits");
    return Type::U64;
  }
}

void decodeMul(Form &form) {
  if (isFloatForm(form))
    return decodeFloatMul(form);
  const Half half = takeHalf(form);
  const Type type = form.type();
  form.standard(half == Half::Wide ? widened(form, type) : type, {type, type});
  withArithmeticInteger(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (half == Half::Low) {
      form.use(InstructionClass::Integer, binary<T, T, T>([](T a, T b) { return wrapMul<T>(a, b); }));
    } else if (half == Half::High) {
      form.use(InstructionClass::Integer, binary<T, T, T>([](T a, T b) { return highMul<T>(a, b); }));
    } else if constexpr (sizeof(T) < 8) {
      using W = Wide<T>;
      form.use(InstructionClass::Integer, binary<W, T, T>([](T a, T b) { return wrapMul<W>(a, b); }));
    }
  });
}

void decodeMad(Form &form) {
  if (isFloatForm(form))
    return decodeFloatFma(form);
  if (isCarryForm(form))
    return decodeCarry(form);
  const Half half = takeHalf(form);
  const bool saturates = form.take("sat");
  const Type type = form.type();
  if (saturates)
    return form.fail(".sat is not known");
  const Type sum = half == Half::Wide ? widened(form, type) : type;
  form.standard(sum, {type, type, sum});
  withArithmeticInteger(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (half == Half::Low) {
      form.use(InstructionClass::Integer,
               ternary<T, T, T, T>([](T a, T b, T c) { return wrapAdd<T>(wrapMul<T>(a, b), c); }));
    } else if (half == Half::High) {
      form.use(InstructionClass::Integer,
               ternary<T, T, T, T>([](T a, T b, T c) { return wrapAdd<T>(highMul<T>(a, b), c); }));
    } else if constexpr (sizeof(T) < 8) {
      using W = Wide<T>;
      form.use(InstructionClass::Integer,
               ternary<W, T, T, W>([](T a, T b, W c) { return wrapAdd<W>(wrapMul<W>(a, b), c); }));
    }
  });
}

// mul24 and mad24 in their low half: products of the low 24 bits.
void decodeMul24(Form &form) {
  const bool isMad = form.base() == "mad24";
  if (!form.take("lo"))
    return form.fail("only .lo is known");
  const Type type = form.type();
  if (type != Type::U32 && type != Type::S32)
    return form.fail("its type must be .u32 or .s32");
  // The low 32 bits are the same for both signs once the operands are extended.
  if (isMad)
    form.standard(type, {type, type, type});
  else
    form.standard(type, {type, type});
  const bool isSignedProduct = type == Type::S32;
  using U = uint32_t;
  if (isMad)
    form.use(InstructionClass::Integer,
             isSignedProduct ? ternary<U, U, U, U>(
                                   [](U a, U b, U c) { return U(int32_t(a << 8) >> 8) * U(int32_t(b << 8) >> 8) + c; })
                             : ternary<U, U, U, U>([](U a, U b, U c) { return (a & 0xffffff) * (b & 0xffffff) + c; }));
  else
    form.use(InstructionClass::Integer,
             isSignedProduct
                 ? binary<U, U, U>([](U a, U b) { return U(int32_t(a << 8) >> 8) * U(int32_t(b << 8) >> 8); })
                 : binary<U, U, U>([](U a, U b) { return (a & 0xffffff) * (b & 0xffffff); }));
}

void decodeDiv(Form &form) {
  if (isFloatForm(form))
    return decodeFloatDiv(form);
  const Type type = form.type();
  decodeBinary(form, type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    form.use(InstructionClass::Integer, binary<T, T, T>([](T a, T b) { return safeDiv<T>(a, b); }));
  });
}

void decodeRem(Form &form) {
  const Type type = form.type();
  decodeBinary(form, type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    form.use(InstructionClass::Integer, binary<T, T, T>([](T a, T b) { return safeRem<T>(a, b); }));
  });
}

void decodeMinMax(Form &form) {
  if (isFloatForm(form))
    return decodeFloatMinMax(form);
  const bool isMin = form.base() == "min";
  const bool hasRelu = form.take("relu");
  const Type type = form.type();
  if (hasRelu && type != Type::S32)
    return form.fail(".relu needs .s32");
  decodeBinary(form, type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (hasRelu)
      form.use(
          InstructionClass::Integer,
          isMin ? binary<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) { return std::max(0, std::min(a, b)); })
                : binary<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) { return std::max(0, std::max(a, b)); }));
    else
      form.use(InstructionClass::Integer, isMin ? binary<T, T, T>([](T a, T b) { return b < a ? b : a; })
                                                : binary<T, T, T>([](T a, T b) { return a < b ? b : a; }));
  });
}

void decodeNegAbs(Form &form) {
  if (isFloatForm(form))
    return decodeFloatSign(form);
  const bool isAbs = form.base() == "abs";
  const Type type = form.type();
  form.standard(type, {type});
  if (!isSigned(type))
    return form.fail("its type must be signed");
  withArithmeticInteger(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (isAbs)
      form.use(InstructionClass::Integer, unary<T, T>([](T a) { return a < 0 ? wrapSub<T>(0, a) : a; }));
    else
      form.use(InstructionClass::Integer, unary<T, T>([](T a) { return wrapSub<T>(0, a); }));
  });
}

void decodeSad(Form &form) {
  const Type type = form.type();
  form.standard(type, {type, type, type});
  withArithmeticInteger(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    form.use(InstructionClass::Integer, ternary<T, T, T, T>([](T a, T b, T c) {
               return wrapAdd<T>(c, a < b ? wrapSub<T>(b, a) : wrapSub<T>(a, b));
             }));
  });
}

// c plus the product of four bytes each; `detail` says which operands have signs.
Flow runDotOfBytes(Warp &warp, const Instruction &i, uint32_t mask) {
  const auto byteOf = [](uint32_t word, int k, bool isSignedByte) {
    const auto byte = uint8_t(word >> (8 * k));
    return isSignedByte ? int32_t(int8_t(byte)) : int32_t(byte);
  };
  forLanes(mask, [&](int lane) {
    uint32_t sum = warp.words(i.c)[lane];
    for (int k = 0; k < 4; ++k)
      sum += uint32_t(byteOf(warp.words(i.a)[lane], k, (i.detail & 1) != 0) *
                      byteOf(warp.words(i.b)[lane], k, (i.detail & 2) != 0));
    warp.words(i.d)[lane] = sum;
  });
  return Flow::Next;
}

void decodeDotOfBytes(Form &form) {
  const Type a = form.type(), b = form.type();
  if (bitsOf(a) != 32 || bitsOf(b) != 32 || isFloat(a) || isFloat(b))
    return form.fail("its types must be .u32 or .s32");
  form.standard(Type::B32, {a, b, Type::B32});
  form.instruction.detail = (isSigned(a) ? 1U : 0U) | (isSigned(b) ? 2U : 0U);
  form.use(InstructionClass::Integer, runDotOfBytes);
}

} // namespace

const OpcodeTable &integerOpcodes() {
  static const OpcodeTable kTable = {{"add", decodeAdd},    {"sub", decodeAdd},         {"mul", decodeMul},
                                     {"mad", decodeMad},    {"mul24", decodeMul24},     {"mad24", decodeMul24},
                                     {"div", decodeDiv},    {"rem", decodeRem},         {"min", decodeMinMax},
                                     {"max", decodeMinMax}, {"neg", decodeNegAbs},      {"abs", decodeNegAbs},
                                     {"sad", decodeSad},    {"dp4a", decodeDotOfBytes}, {"addc", decodeCarry},
                                     {"subc", decodeCarry}, {"madc", decodeCarry}};
  return kTable;
}

} // namespace attnc::emulator

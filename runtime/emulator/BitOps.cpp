// Logic, shifts and bit fields: and, or, xor, not, cnot, lop3, shl, shr, shf, bfe, bfi, bfind,
// popc, clz, brev, prmt, bmsk. Logic on predicates works on whole words of lanes.
#include <algorithm>

#include "runtime/emulator/Form.h"
#include "runtime/emulator/Lanes.h"

namespace attnc::emulator {

namespace {

// `detail` holds the operation of logic on predicates, and which sources are negated.
enum PredicateLogic : uint32_t { kAnd, kOr, kXor, kNot, kNegatesA = 8, kNegatesB = 16 };

Flow runPredicateLogic(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint32_t a = warp.predicateOf(i.a, i.detail & kNegatesA);
  const uint32_t b = i.b < 0 ? 0 : warp.predicateOf(i.b, i.detail & kNegatesB);
  const uint32_t operation = i.detail & 7;
  warp.setPredicate(i.d, operation == kAnd ? a & b : operation == kOr ? a | b : operation == kXor ? a ^ b : ~a, mask);
  return Flow::Next;
}

void decodePredicateLogic(Form &form, PredicateLogic operation) {
  const size_t sources = operation == kNot ? 1 : 2;
  form.expectOperands(sources + 1, sources + 1);
  bool negatesA = false, negatesB = false;
  Instruction &i = form.instruction;
  i.a = form.readPredicate(form.operand(1), negatesA);
  if (sources == 2)
    i.b = form.readPredicate(form.operand(2), negatesB);
  i.d = form.writePredicate(form.operand(0).name);
  i.detail = operation | (negatesA ? kNegatesA : 0U) | (negatesB ? kNegatesB : 0U);
  form.use(InstructionClass::Compare, runPredicateLogic);
}

template <typename Make> void decodeLogic(Form &form, PredicateLogic operation, Make &&make) {
  const Type type = form.type();
  if (type == Type::Pred)
    return decodePredicateLogic(form, operation);
  if (!isBits(type))
    return form.fail("its type must be .b16, .b32, .b64 or .pred");
  if (operation == kNot)
    form.standard(type, {type});
  else
    form.standard(type, {type, type});
  withArithmeticInteger(type, make);
}

void decodeAnd(Form &form) {
  decodeLogic(form, kAnd, [&](auto tag) {
    using T = typename decltype(tag)::type;
    form.use(InstructionClass::Integer, binary<T, T, T>([](T a, T b) { return T(a & b); }));
  });
}

void decodeOr(Form &form) {
  decodeLogic(form, kOr, [&](auto tag) {
    using T = typename decltype(tag)::type;
    form.use(InstructionClass::Integer, binary<T, T, T>([](T a, T b) { return T(a | b); }));
  });
}

void decodeXor(Form &form) {
  decodeLogic(form, kXor, [&](auto tag) {
    using T = typename decltype(tag)::type;
    form.use(InstructionClass::Integer, binary<T, T, T>([](T a, T b) { return T(a ^ b); }));
  });
}

void decodeNot(Form &form) {
  decodeLogic(form, kNot, [&](auto tag) {
    using T = typename decltype(tag)::type;
    form.use(InstructionClass::Integer, unary<T, T>([](T a) { return T(~a); }));
  });
}

void decodeCnot(Form &form) {
  const Type type = form.type();
  form.standard(type, {type});
  withArithmeticInteger(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    form.use(InstructionClass::Integer, unary<T, T>([](T a) { return T(a == 0); }));
  });
}

// The truth table's bit i belongs to a = i & 4, b = i & 2, c = i & 1.
Flow runLop3(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint32_t *a = warp.words(i.a), *b = warp.words(i.b), *c = warp.words(i.c);
  alignas(64) uint32_t result[kLanes];
  std::memset(result, 0, sizeof(result));
  for (int row = 0; row < 8; ++row) {
    if ((i.detail >> row & 1) == 0)
      continue;
    const uint32_t flipA = row & 4 ? 0 : ~0U, flipB = row & 2 ? 0 : ~0U, flipC = row & 1 ? 0 : ~0U;
    for (int lane = 0; lane < kLanes; ++lane)
      result[lane] |= (a[lane] ^ flipA) & (b[lane] ^ flipB) & (c[lane] ^ flipC);
  }
  storeLanes<uint32_t>(warp, i.d, result, mask);
  return Flow::Next;
}

void decodeLop3(Form &form) {
  if (!form.take("b32"))
    return form.fail("only .b32 is known");
  form.expectOperands(5, 5);
  Instruction &i = form.instruction;
  i.a = form.read(form.operand(1), Type::B32);
  i.b = form.read(form.operand(2), Type::B32);
  i.c = form.read(form.operand(3), Type::B32);
  const int64_t table = form.needConstant(form.operand(4));
  if (table < 0 || table > 255)
    return form.fail("its truth table must be in 0 .. 255");
  i.detail = uint32_t(table);
  i.d = form.write(form.operand(0), Type::B32);
  form.use(InstructionClass::Integer, runLop3);
}

// Shifts clamp their amount, which is an unsigned 32-bit value for all types.
void decodeShift(Form &form) {
  const bool isLeft = form.base() == "shl";
  const Type type = form.type();
  form.standard(type, {type, Type::B32});
  withArithmeticInteger(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr uint32_t kBits = 8 * sizeof(T);
    if (isLeft)
      form.use(InstructionClass::Integer, binary<T, T, uint32_t>([](T a, uint32_t n) {
                 using U = std::make_unsigned_t<T>;
                 return n >= kBits ? T(0) : T(U(a) << n);
               }));
    else
      form.use(InstructionClass::Integer,
               binary<T, T, uint32_t>([](T a, uint32_t n) { return n >= kBits ? T(a < 0 ? -1 : 0) : T(a >> n); }));
  });
}

// Funnel shifts: of the 64 bits b:a, the upper word of a left shift or the lower of a right one.
void decodeShf(Form &form) {
  const bool isLeft = form.take("l");
  if (!isLeft && !form.take("r"))
    return form.fail(".l or .r is missing");
  const bool wraps = form.take("wrap");
  if (!wraps && !form.take("clamp"))
    return form.fail(".wrap or .clamp is missing");
  form.take("b32");
  form.standard(Type::B32, {Type::B32, Type::B32, Type::B32});
  using U = uint32_t;
  Handler handler = nullptr;
  if (isLeft)
    handler =
        wraps ? ternary<U, U, U, U>([](U a, U b, U n) { return U((uint64_t(b) << 32 | a) << (n & 31) >> 32); })
              : ternary<U, U, U, U>([](U a, U b, U n) { return n >= 32 ? a : U((uint64_t(b) << 32 | a) << n >> 32); });
  else
    handler = wraps ? ternary<U, U, U, U>([](U a, U b, U n) { return U((uint64_t(b) << 32 | a) >> (n & 31)); })
                    : ternary<U, U, U, U>([](U a, U b, U n) { return n >= 32 ? b : U((uint64_t(b) << 32 | a) >> n); });
  form.use(InstructionClass::Integer, handler);
}

template <typename T> T extractField(T value, uint32_t position, uint32_t length) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t kBits = 8 * sizeof(T);
  position &= 255, length &= 255;
  const uint32_t last = std::min(position + length - 1, kBits - 1);
  const bool isNegative = std::is_signed_v<T> && length > 0 && (U(value) >> last & 1) != 0;
  // Of the field, the bits that the value has; the rest repeats the sign.
  const uint32_t present = position >= kBits ? 0 : std::min(length, kBits - position);
  const U keep = present == 0 ? U(0) : U(~U(0)) >> (kBits - present);
  const U field = position >= kBits ? U(0) : U(value) >> position;
  return T((field & keep) | (isNegative ? ~keep : U(0)));
}

void decodeBfe(Form &form) {
  const Type type = form.type();
  form.standard(type, {type, Type::B32, Type::B32});
  withArithmeticInteger(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) >= 4)
      form.use(InstructionClass::Integer,
               ternary<T, T, uint32_t, uint32_t>(
                   [](T a, uint32_t position, uint32_t length) { return extractField<T>(a, position, length); }));
  });
}

template <typename T> Flow runBfi(Warp &warp, const Instruction &i, uint32_t mask) {
  const T *a = laneWords<T>(warp, i.a), *b = laneWords<T>(warp, i.b);
  const uint32_t *positions = warp.words(i.c), *lengths = warp.words(i.e);
  constexpr uint32_t kBits = 8 * sizeof(T);
  alignas(64) T result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint32_t position = positions[lane] & 255, length = lengths[lane] & 255;
    const T field = length == 0 ? T(0) : T(~T(0)) >> (length >= kBits ? 0 : kBits - length);
    const T keep = position >= kBits ? T(0) : T(field << position);
    const T inserted = position >= kBits ? T(0) : T(a[lane] << position);
    result[lane] = (b[lane] & ~keep) | (inserted & keep);
  }
  storeLanes<T>(warp, i.d, result, mask);
  return Flow::Next;
}

void decodeBfi(Form &form) {
  const Type type = form.type();
  if (type != Type::B32 && type != Type::B64)
    return form.fail("its type must be .b32 or .b64");
  form.standard(type, {type, type, Type::B32, Type::B32});
  form.use(InstructionClass::Integer, type == Type::B32 ? runBfi<uint32_t> : runBfi<uint64_t>);
}

void decodeBfind(Form &form) {
  const bool asShift = form.take("shiftamt");
  const Type type = form.type();
  form.standard(Type::U32, {type});
  withArithmeticInteger(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using U = std::make_unsigned_t<T>;
    if constexpr (sizeof(T) >= 4)
      form.use(InstructionClass::Integer,
               asShift ? unary<uint32_t, T>([](T a) {
                 const U bits = a < 0 ? U(~U(a)) : U(a);
                 return bits == 0 ? ~0U : uint32_t(std::countl_zero(bits));
               })
                       : unary<uint32_t, T>([](T a) {
                           const U bits = a < 0 ? U(~U(a)) : U(a);
                           return bits == 0 ? ~0U : uint32_t(8 * sizeof(T) - 1 - size_t(std::countl_zero(bits)));
                         }));
  });
}

void decodeCount(Form &form) {
  const bool isPopulation = form.base() == "popc";
  const Type type = form.type();
  form.standard(Type::B32, {type});
  if (type == Type::B32)
    form.use(InstructionClass::Integer,
             isPopulation ? unary<uint32_t, uint32_t>([](uint32_t a) { return uint32_t(std::popcount(a)); })
                          : unary<uint32_t, uint32_t>([](uint32_t a) { return uint32_t(std::countl_zero(a)); }));
  else if (type == Type::B64)
    form.use(InstructionClass::Integer,
             isPopulation ? unary<uint32_t, uint64_t>([](uint64_t a) { return uint32_t(std::popcount(a)); })
                          : unary<uint32_t, uint64_t>([](uint64_t a) { return uint32_t(std::countl_zero(a)); }));
}

void decodeBrev(Form &form) {
  const Type type = form.type();
  form.standard(type, {type});
  if (type == Type::B32)
    form.use(InstructionClass::Integer,
             unary<uint32_t, uint32_t>([](uint32_t a) { return __builtin_bitreverse32(a); }));
  else if (type == Type::B64)
    form.use(InstructionClass::Integer,
             unary<uint64_t, uint64_t>([](uint64_t a) { return __builtin_bitreverse64(a); }));
}

uint32_t permute(uint64_t bytes, uint32_t selector) {
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t nibble = selector >> (4 * i) & 15;
    uint32_t byte = uint32_t(bytes >> (8 * (nibble & 7))) & 255;
    if ((nibble & 8) != 0) // the sign of the byte instead
      byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}

// The selectors that the modes of prmt stand for, by the low two bits of c.
constexpr uint32_t kPermuteModes[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
    {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
    {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
    {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
    {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
    {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
};

Flow runPermute(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint32_t *a = warp.words(i.a), *b = warp.words(i.b), *c = warp.words(i.c);
  uint32_t result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    result[lane] =
        permute(uint64_t(b[lane]) << 32 | a[lane], i.detail == 0 ? c[lane] : kPermuteModes[i.detail - 1][c[lane] & 3]);
  storeLanes<uint32_t>(warp, i.d, result, mask);
  return Flow::Next;
}

void decodePrmt(Form &form) {
  form.take("b32");
  constexpr std::string_view kModes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  for (uint32_t mode = 0; mode < 6; ++mode)
    if (form.take(kModes[mode]))
      form.instruction.detail = mode + 1;
  form.standard(Type::B32, {Type::B32, Type::B32, Type::B32});
  form.use(InstructionClass::Integer, runPermute);
}

// Ones from bit `first`, `count` of them. Clamped, a place or a count of 32 and more lies behind
// the word; wrapped, it counts modulo 32.
uint32_t maskOfBits(uint32_t first, uint32_t count) {
  return first >= 32 || count == 0 ? 0U : (count >= 32 ? ~0U : (1U << count) - 1) << first;
}

void decodeBmsk(Form &form) {
  const bool isClamped = form.take("clamp");
  if (!isClamped && !form.take("wrap"))
    form.fail(".clamp or .wrap is missing");
  form.take("b32");
  form.standard(Type::B32, {Type::B32, Type::B32});
  using U = uint32_t;
  form.use(InstructionClass::Integer, isClamped ? binary<U, U, U>([](U a, U b) { return maskOfBits(a, b); })
                                                : binary<U, U, U>([](U a, U b) { return maskOfBits(a & 31, b & 31); }));
}

} // namespace

const OpcodeTable &bitOpcodes() {
  static const OpcodeTable kTable = {
      {"and", decodeAnd},   {"or", decodeOr},       {"xor", decodeXor},    {"not", decodeNot},   {"cnot", decodeCnot},
      {"lop3", decodeLop3}, {"shl", decodeShift},   {"shr", decodeShift},  {"shf", decodeShf},   {"bfe", decodeBfe},
      {"bfi", decodeBfi},   {"bfind", decodeBfind}, {"popc", decodeCount}, {"clz", decodeCount}, {"brev", decodeBrev},
      {"prmt", decodePrmt}, {"bmsk", decodeBmsk}};
  return kTable;
}

} // namespace attnc::emulator

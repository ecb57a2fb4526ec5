// Arithmetic through the condition code's carry bit: add.cc, addc, sub.cc, subc, mad.cc, madc.
// Each lane has one bit, kept as a word of the warp.
//
// A subtraction is a + ~b + 1, and its bit is the carry of that sum: set where nothing was
// borrowed. The PTX ISA speaks of a borrow, which is the same while subc alone reads the bit;
// NVRTC's division of 128 bits reads it by addc and is right only so.
#include "runtime/emulator/CarryDecode.h"
#include "runtime/emulator/Lanes.h"

namespace attnc::emulator {

namespace {

constexpr auto kInteger = InstructionClass::Integer;

// Bits of `detail`.
enum : uint32_t { kReadsCarry = 1, kWritesCarry = 2, kSubtracts = 4, kHighHalf = 8 };

template <typename T> struct WithCarry {
  T value;
  bool carry;
};

template <typename T> WithCarry<T> addWithCarry(T a, T b, bool carry) {
  const auto sum = static_cast<unsigned __int128>(a) + b + (carry ? 1 : 0);
  return {T(sum), (sum >> (8 * sizeof(T))) != 0};
}

// What is added to c: half of a product. S says whose sign the factors have.
template <typename S>
std::make_unsigned_t<S> halfOfProduct(std::make_unsigned_t<S> a, std::make_unsigned_t<S> b, bool isHigh) {
  // Widened by sign, then multiplied modulo 2^128, where no sign matters.
  auto widen = [](S factor) { return static_cast<unsigned __int128>(static_cast<__int128>(factor)); };
  const unsigned __int128 whole = widen(S(a)) * widen(S(b));
  return std::make_unsigned_t<S>(isHigh ? whole >> (8 * sizeof(S)) : whole);
}

template <typename S, bool kIsMad> Flow runCarry(Warp &warp, const Instruction &i, uint32_t mask) {
  using T = std::make_unsigned_t<S>;
  const T *a = laneWords<T>(warp, i.a), *b = laneWords<T>(warp, i.b), *c = kIsMad ? laneWords<T>(warp, i.c) : nullptr;
  T result[kLanes] = {};
  uint32_t carries = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const bool isSubtraction = (i.detail & kSubtracts) != 0;
    const bool carry = (i.detail & kReadsCarry) != 0 ? (warp.carries & kLaneBits.bit[lane]) != 0 : isSubtraction;
    const T left = kIsMad ? halfOfProduct<S>(a[lane], b[lane], (i.detail & kHighHalf) != 0) : a[lane];
    const T right = kIsMad ? c[lane] : isSubtraction ? T(~b[lane]) : b[lane];
    const WithCarry<T> sum = addWithCarry<T>(left, right, carry);
    result[lane] = sum.value;
    carries |= sum.carry ? kLaneBits.bit[lane] : 0;
  }
  storeLanes<T>(warp, i.d, result, mask);
  if ((i.detail & kWritesCarry) != 0)
    warp.carries = (warp.carries & ~mask) | (carries & mask);
  return Flow::Next;
}

template <bool kIsMad> void useCarry(Form &form, Type type) {
  if (isFloat(type) || isBits(type) || bitsOf(type) < 32)
    return form.fail("carries need integers of 32 or 64 bits");
  withArithmeticInteger(type, [&](auto tag) {
    using S = typename decltype(tag)::type;
    if constexpr (sizeof(S) >= 4)
      form.use(kInteger, runCarry<S, kIsMad>);
  });
}

} // namespace

bool isCarryForm(const Form &form) {
  const std::string_view base = form.base();
  if (base == "addc" || base == "subc" || base == "madc")
    return true;
  for (size_t i = 1; i < form.source.opcode.size(); ++i)
    if (form.source.opcode[i] == "cc")
      return true;
  return false;
}

void decodeCarry(Form &form) {
  const std::string_view base = form.base();
  const bool isMad = base.starts_with("mad");
  uint32_t detail = (base.ends_with("c") ? kReadsCarry : 0U) | (base.starts_with("sub") ? kSubtracts : 0U);
  if (isMad) {
    if (form.take("hi"))
      detail |= kHighHalf;
    else if (!form.take("lo"))
      return form.fail("only .lo and .hi are known");
  }
  if (form.take("cc"))
    detail |= kWritesCarry;
  const Type type = form.type();
  if (isMad)
    form.standard(type, {type, type, type});
  else
    form.standard(type, {type, type});
  form.instruction.detail = detail;
  if (isMad)
    useCarry<true>(form, type);
  else
    useCarry<false>(form, type);
}

} // namespace attnc::emulator

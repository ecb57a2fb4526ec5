// Comparisons and selection: setp, set, testp, selp, slct.
#include <cmath>

#include "runtime/emulator/Form.h"
#include "runtime/emulator/Formats.h"
#include "runtime/emulator/Lanes.h"

namespace attnc::emulator {

namespace {

enum class Comparison : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };
constexpr std::string_view kComparisons[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                             "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

// How the comparison is combined with the predicate that follows.
enum class Combination : uint8_t { None, And, Or, Xor };

// `detail`: the combination, and the marks below.
constexpr uint32_t kIsNegated = 8, kGivesFloat = 16;

// `lo` and the like are the unsigned orders' own names.
std::optional<Comparison> comparisonFromName(std::string_view name, Type type) {
  for (size_t i = 0; i < std::size(kComparisons); ++i)
    if (kComparisons[i] == name && (i < size_t(Comparison::Equ) || isFloat(type)))
      return Comparison(i);
  constexpr std::pair<std::string_view, Comparison> kUnsigned[] = {
      {"lo", Comparison::Lt}, {"ls", Comparison::Le}, {"hi", Comparison::Gt}, {"hs", Comparison::Ge}};
  for (const auto &[unsignedName, comparison] : kUnsigned)
    if (unsignedName == name && !isFloat(type) && !isSigned(type))
      return comparison;
  return std::nullopt;
}

template <Comparison kComparison, typename T> bool compare(T a, T b) {
  using enum Comparison;
  switch (kComparison) {
  case Eq:
    return a == b;
  case Ne: // false for NaN, other than C's
    return a < b || a > b;
  case Lt:
    return a < b;
  case Le:
    return a <= b;
  case Gt:
    return a > b;
  case Ge:
    return a >= b;
  case Equ:
    return !(a < b || a > b);
  case Neu:
    return a != b;
  case Ltu:
    return !(a >= b);
  case Leu:
    return !(a > b);
  case Gtu:
    return !(a <= b);
  case Geu:
    return !(a < b);
  case Num:
    return a == a && b == b;
  case Nan:
    return a != a || b != b;
  }
}

// How lanes of a type become comparable values.
template <typename T> struct Plain {
  using Register = T;
  static T value(T a) { return a; }
};
struct Flushed {
  using Register = float;
  static float value(float a) { return flush(a); }
};
template <Format kFormat> struct FromHalf {
  using Register = uint16_t;
  static float value(uint16_t a) {
    if constexpr (kFormat == Format::F16)
      return fromF16(a);
    else
      return fromBF16(a);
  }
};

template <typename Access, Comparison kComparison> uint32_t compareLanes(Warp &warp, const Instruction &i) {
  using T = typename Access::Register;
  return testLanes<T>(warp, i.a, i.b,
                      [](T a, T b) { return compare<kComparison>(Access::value(a), Access::value(b)); });
}

void combine(Warp &warp, const Instruction &i, uint32_t &truth, uint32_t &opposite) {
  const auto combination = Combination(i.detail & 7);
  if (combination == Combination::None)
    return;
  const uint32_t other = warp.predicateOf(i.c, i.detail & kIsNegated);
  const auto apply = [&](uint32_t x) {
    return combination == Combination::And ? x & other : combination == Combination::Or ? x | other : x ^ other;
  };
  truth = apply(truth), opposite = apply(opposite);
}

template <typename Access, Comparison kComparison> Flow runSetp(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t truth = compareLanes<Access, kComparison>(warp, i), opposite = ~truth;
  combine(warp, i, truth, opposite);
  warp.setPredicate(i.d, truth, mask);
  warp.setPredicate(i.p, opposite, mask);
  return Flow::Next;
}

template <typename Access, Comparison kComparison> Flow runSet(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t truth = compareLanes<Access, kComparison>(warp, i), opposite = ~truth;
  combine(warp, i, truth, opposite);
  const uint32_t yes = (i.detail & kGivesFloat) != 0 ? 0x3f800000 : ~0U;
  alignas(64) uint32_t result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    result[lane] = (truth & kLaneBits.bit[lane]) != 0 ? yes : 0;
  storeLanes<uint32_t>(warp, i.d, result, mask);
  return Flow::Next;
}

template <bool kIsSet, typename Access, size_t... kIndex>
Handler pick(Comparison comparison, std::index_sequence<kIndex...>) {
  static constexpr Handler kHandlers[] = {
      (kIsSet ? runSet<Access, Comparison(kIndex)> : runSetp<Access, Comparison(kIndex)>)...};
  return size_t(comparison) < sizeof...(kIndex) ? kHandlers[size_t(comparison)] : nullptr;
}

template <bool kIsSet> Handler comparisonHandler(Type type, Comparison comparison, bool isFlushing) {
  constexpr auto kAll = std::make_index_sequence<std::size(kComparisons)>();
  constexpr auto kOrders = std::make_index_sequence<size_t(Comparison::Equ)>();
  switch (type) {
  case Type::F32:
    return isFlushing ? pick<kIsSet, Flushed>(comparison, kAll) : pick<kIsSet, Plain<float>>(comparison, kAll);
  case Type::F64:
    return pick<kIsSet, Plain<double>>(comparison, kAll);
  case Type::F16:
    return pick<kIsSet, FromHalf<Format::F16>>(comparison, kAll);
  case Type::BF16:
    return pick<kIsSet, FromHalf<Format::BF16>>(comparison, kAll);
  default:
    break;
  }
  Handler handler = nullptr;
  withArithmeticInteger(
      type, [&](auto tag) { handler = pick<kIsSet, Plain<typename decltype(tag)::type>>(comparison, kOrders); });
  return handler;
}

void decodeSetp(Form &form) {
  const bool isSet = form.base() == "set";
  const bool isFlushing = form.take("ftz");
  Instruction &i = form.instruction;
  const std::string_view order = form.takeNext();
  auto combination = Combination::None;
  if (form.take("and"))
    combination = Combination::And;
  else if (form.take("or"))
    combination = Combination::Or;
  else if (form.take("xor"))
    combination = Combination::Xor;
  const Type result = isSet ? form.type() : Type::Pred;
  const Type type = form.type();
  const std::optional<Comparison> comparison = comparisonFromName(order, type);
  if (!comparison)
    return form.fail("its comparison is not known for this type");

  const size_t expected = combination == Combination::None ? 3 : 4;
  form.expectOperands(expected, expected);
  i.a = form.read(form.operand(1), type);
  i.b = form.read(form.operand(2), type);
  bool isNegated = false;
  if (combination != Combination::None)
    i.c = form.readPredicate(form.operand(3), isNegated);
  i.detail = uint32_t(combination) | (isNegated ? kIsNegated : 0);
  if (isSet) {
    if (result != Type::F32 && bitsOf(result) != 32)
      return form.fail("its result's type is not known");
    i.detail |= result == Type::F32 ? kGivesFloat : 0;
    i.d = form.write(form.operand(0), result);
    return form.use(InstructionClass::Compare, comparisonHandler<true>(type, *comparison, isFlushing));
  }
  i.d = form.writePredicate(form.operand(0).name);
  if (!form.operand(0).paired.empty())
    i.p = form.writePredicate(form.operand(0).paired);
  form.use(InstructionClass::Compare, comparisonHandler<false>(type, *comparison, isFlushing));
}

template <typename T> Flow runSelp(Warp &warp, const Instruction &i, uint32_t mask) {
  const auto *a = laneWords<T>(warp, i.a), *b = laneWords<T>(warp, i.b);
  const uint32_t choice = warp.predicateOf(i.p, i.detail & kIsNegated);
  alignas(64) LaneWord<T> result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    result[lane] = (choice & kLaneBits.bit[lane]) != 0 ? a[lane] : b[lane];
  storeLanes<T>(warp, i.d, result, mask);
  return Flow::Next;
}

void decodeSelp(Form &form) {
  const Type type = form.type();
  form.expectOperands(4, 4);
  Instruction &i = form.instruction;
  i.a = form.read(form.operand(1), type);
  i.b = form.read(form.operand(2), type);
  bool isNegated = false;
  i.p = form.readPredicate(form.operand(3), isNegated);
  i.detail = isNegated ? kIsNegated : 0;
  i.d = form.write(form.operand(0), type);
  if (bitsOf(type) >= 16)
    form.use(InstructionClass::Select, bitsOf(type) == 64 ? runSelp<uint64_t> : runSelp<uint32_t>);
}

template <typename T, typename C> Flow runSlct(Warp &warp, const Instruction &i, uint32_t mask) {
  const auto *a = laneWords<T>(warp, i.a), *b = laneWords<T>(warp, i.b);
  const uint32_t *c = warp.words(i.c);
  alignas(64) LaneWord<T> result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    result[lane] = std::bit_cast<C>(c[lane]) >= C(0) ? a[lane] : b[lane];
  storeLanes<T>(warp, i.d, result, mask);
  return Flow::Next;
}

void decodeSlct(Form &form) {
  const Type type = form.type(), by = form.type();
  if (by != Type::S32 && by != Type::F32)
    return form.fail("it selects by .s32 or .f32");
  form.standard(type, {type, type, by});
  if (bitsOf(type) == 64)
    form.use(InstructionClass::Select, by == Type::S32 ? runSlct<uint64_t, int32_t> : runSlct<uint64_t, float>);
  else
    form.use(InstructionClass::Select, by == Type::S32 ? runSlct<uint32_t, int32_t> : runSlct<uint32_t, float>);
}

template <typename T, typename F> Handler testHandler(F) {
  return [](Warp &warp, const Instruction &i, uint32_t mask) {
    warp.setPredicate(i.d, testLanes<T>(warp, i.a, i.a, [](T a, T) { return F()(a); }), mask);
    return Flow::Next;
  };
}

void decodeTestp(Form &form) {
  const std::string_view test = form.takeNext();
  const Type type = form.type();
  form.expectOperands(2, 2);
  form.instruction.a = form.read(form.operand(1), type);
  form.instruction.d = form.writePredicate(form.operand(0).name);
  const auto make = [&](auto zero) -> Handler {
    using T = decltype(zero);
    if (test == "finite")
      return testHandler<T>([](T a) { return std::isfinite(a); });
    if (test == "infinite")
      return testHandler<T>([](T a) { return std::isinf(a); });
    if (test == "number")
      return testHandler<T>([](T a) { return a == a; });
    if (test == "notanumber")
      return testHandler<T>([](T a) { return a != a; });
    if (test == "normal")
      return testHandler<T>([](T a) { return std::isnormal(a); });
    if (test == "subnormal")
      return testHandler<T>([](T a) { return std::fpclassify(a) == FP_SUBNORMAL; });
    return nullptr;
  };
  if (type == Type::F32)
    form.use(InstructionClass::Compare, make(0.0F));
  else if (type == Type::F64)
    form.use(InstructionClass::Compare, make(0.0));
}

} // namespace

const OpcodeTable &compareOpcodes() {
  static const OpcodeTable kTable = {
      {"setp", decodeSetp}, {"set", decodeSetp}, {"selp", decodeSelp}, {"slct", decodeSlct}, {"testp", decodeTestp}};
  return kTable;
}

} // namespace attnc::emulator

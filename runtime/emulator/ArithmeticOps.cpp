// Arithmetic on f32, f64, f16, bf16 and the packed pairs: add, sub, mul, fma, div, min, max,
// neg, abs, copysign. Rounding to nearest is the host's; directed rounding is in Formats.
#include <algorithm>
#include <cmath>

#include "runtime/emulator/FloatDecode.h"
#include "runtime/emulator/Formats.h"
#include "runtime/emulator/Lanes.h"

namespace attnc::emulator {

bool isFloatForm(const Form &form) {
  for (size_t i = 1; i < form.source.opcode.size(); ++i)
    if (const auto type = typeFromName(form.source.opcode[i]))
      return isFloat(*type);
  return false;
}

namespace {

constexpr auto kFloat = InstructionClass::Float;

struct Modifiers {
  Rounding rounding = Rounding::Nearest;
  bool isFlushing = false;
  bool isSaturating = false;
  bool isRelu = false;
};

// Modifiers may stand in any order here; ptxas is stricter.
Modifiers takeModifiers(Form &form) {
  Modifiers modifiers;
  if (form.take("rz"))
    modifiers.rounding = Rounding::Zero;
  else if (form.take("rm"))
    modifiers.rounding = Rounding::Down;
  else if (form.take("rp"))
    modifiers.rounding = Rounding::Up;
  else
    form.take("rn");
  modifiers.isFlushing = form.take("ftz");
  modifiers.isSaturating = form.take("sat");
  modifiers.isRelu = form.take("relu");
  return modifiers;
}

inline float saturate(float value) { return value > 0.0F ? std::min(value, 1.0F) : 0.0F; }

template <bool kFlush, bool kSaturate> inline float finishResult(float value) {
  value = canonical(value);
  if constexpr (kFlush)
    value = flush(value);
  if constexpr (kSaturate)
    value = saturate(value);
  return value;
}

template <bool kFlush> inline float finishSource(float value) {
  if constexpr (kFlush)
    return flush(value);
  else
    return value;
}

template <typename F, bool kFlush, bool kSaturate> Handler makeBinary() {
  return binary<float, float, float>([](float a, float b) {
    return finishResult<kFlush, kSaturate>(F()(finishSource<kFlush>(a), finishSource<kFlush>(b)));
  });
}

template <typename F> Handler binaryF32(const Modifiers &modifiers, F) {
  if (modifiers.isSaturating)
    return modifiers.isFlushing ? makeBinary<F, true, true>() : makeBinary<F, false, true>();
  return modifiers.isFlushing ? makeBinary<F, true, false>() : makeBinary<F, false, false>();
}

// With a directed rounding: slow and rare. `detail` holds the modifiers.
uint32_t packed(const Modifiers &m) {
  return uint32_t(m.rounding) | (m.isFlushing ? 8U : 0U) | (m.isSaturating ? 16U : 0U) | (m.isRelu ? 32U : 0U);
}
float finishDirected(const Instruction &i, float value) {
  value = canonical(value);
  if ((i.detail & 8) != 0)
    value = flush(value);
  return (i.detail & 16) != 0 ? saturate(value) : value;
}

template <typename F> Flow runDirected(Warp &warp, const Instruction &i, uint32_t mask) {
  const auto rounding = Rounding(i.detail & 7);
  const bool isFlushing = (i.detail & 8) != 0;
  const auto source = [&](int32_t slot, int lane) {
    const float value = slot < 0 ? 0.0F : warp.floats(slot)[lane];
    return isFlushing ? flush(value) : value;
  };
  forLanes(mask, [&](int lane) {
    warp.floats(i.d)[lane] = finishDirected(i, F()(source(i.a, lane), source(i.b, lane), source(i.c, lane), rounding));
  });
  return Flow::Next;
}

// --- f16 and bf16: one function for a lane, or two for a packed pair ---

using HalfBinary = uint16_t (*)(Format, uint16_t, uint16_t, HalfModifiers);

HalfModifiers halfModifiers(const Instruction &i) {
  return {(i.detail & 8) != 0, (i.detail & 16) != 0, (i.detail & 32) != 0};
}

template <HalfBinary kFunction, Format kFormat, bool kIsPacked>
Flow runHalfBinary(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint32_t *a = warp.words(i.a), *b = warp.words(i.b);
  const HalfModifiers modifiers = halfModifiers(i);
  forLanes(mask, [&](int lane) {
    uint32_t result = kFunction(kFormat, uint16_t(a[lane]), uint16_t(b[lane]), modifiers);
    if constexpr (kIsPacked)
      result |= uint32_t(kFunction(kFormat, uint16_t(a[lane] >> 16), uint16_t(b[lane] >> 16), modifiers)) << 16;
    warp.words(i.d)[lane] = result;
  });
  return Flow::Next;
}

template <Format kFormat, bool kIsPacked> Flow runHalfFma(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint32_t *a = warp.words(i.a), *b = warp.words(i.b), *c = warp.words(i.c);
  const HalfModifiers modifiers = halfModifiers(i);
  forLanes(mask, [&](int lane) {
    uint32_t result = fmaHalf(kFormat, uint16_t(a[lane]), uint16_t(b[lane]), uint16_t(c[lane]), modifiers);
    if constexpr (kIsPacked)
      result |= uint32_t(fmaHalf(kFormat, uint16_t(a[lane] >> 16), uint16_t(b[lane] >> 16), uint16_t(c[lane] >> 16),
                                 modifiers))
                << 16;
    warp.words(i.d)[lane] = result;
  });
  return Flow::Next;
}

template <HalfBinary kFunction> Handler halfBinary(Type type) {
  switch (type) {
  case Type::F16:
    return runHalfBinary<kFunction, Format::F16, false>;
  case Type::F16x2:
    return runHalfBinary<kFunction, Format::F16, true>;
  case Type::BF16:
    return runHalfBinary<kFunction, Format::BF16, false>;
  case Type::BF16x2:
    return runHalfBinary<kFunction, Format::BF16, true>;
  default:
    return nullptr;
  }
}

uint16_t minHalfPlain(Format f, uint16_t a, uint16_t b, HalfModifiers m) { return minHalf(f, a, b, m.isRelu); }
uint16_t maxHalfPlain(Format f, uint16_t a, uint16_t b, HalfModifiers m) { return maxHalf(f, a, b, m.isRelu); }

bool isHalf(Type type) { return type >= Type::F16 && type <= Type::BF16x2; }

void checkHalf(Form &form, Type type, const Modifiers &modifiers) {
  const bool isBrain = type == Type::BF16 || type == Type::BF16x2;
  if (modifiers.rounding != Rounding::Nearest || (isBrain && (modifiers.isFlushing || modifiers.isSaturating)))
    form.fail("its modifiers are not those of 16-bit floats");
}

void checkF64(Form &form, const Modifiers &modifiers) {
  if (modifiers.rounding != Rounding::Nearest || modifiers.isFlushing || modifiers.isSaturating || modifiers.isRelu)
    form.fail("f64 is known with .rn alone");
}

struct Add {
  template <typename T> T operator()(T a, T b) const { return a + b; }
  float operator()(float a, float b, float, Rounding rounding) const { return addF32(a, b, rounding); }
};
struct Subtract {
  template <typename T> T operator()(T a, T b) const { return a - b; }
  float operator()(float a, float b, float, Rounding rounding) const { return addF32(a, -b, rounding); }
};
struct Multiply {
  template <typename T> T operator()(T a, T b) const { return a * b; }
  float operator()(float a, float b, float, Rounding rounding) const { return mulF32(a, b, rounding); }
};
struct FusedMultiplyAdd {
  float operator()(float a, float b, float c, Rounding rounding) const { return fmaF32(a, b, c, rounding); }
};

template <HalfBinary kHalf, typename F> void decodePlainBinary(Form &form, F function) {
  const Modifiers modifiers = takeModifiers(form);
  const Type type = form.type();
  form.standard(type, {type, type});
  form.instruction.detail = packed(modifiers);
  if (modifiers.isRelu)
    return form.fail(".relu is not known here");
  if (type == Type::F32) {
    form.use(kFloat, modifiers.rounding == Rounding::Nearest ? binaryF32(modifiers, function) : runDirected<F>);
  } else if (type == Type::F64) {
    checkF64(form, modifiers);
    form.use(kFloat, binary<double, double, double>([](double a, double b) { return F()(a, b); }));
  } else if (isHalf(type)) {
    checkHalf(form, type, modifiers);
    form.use(kFloat, halfBinary<kHalf>(type));
  }
}

// --- fma: the host's instruction where it has one ---

using FmaLanes = void (*)(const float *a, const float *b, const float *c, float *d);

void fmaPortable(const float *a, const float *b, const float *c, float *d) {
  for (int lane = 0; lane < kLanes; ++lane)
    d[lane] = std::fma(a[lane], b[lane], c[lane]);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void fmaVector(const float *a, const float *b, const float *c, float *d) {
  for (int lane = 0; lane < kLanes; ++lane)
    d[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
}
const FmaLanes kFmaLanes = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? fmaVector : fmaPortable;
#else
const FmaLanes kFmaLanes = fmaPortable;
#endif

template <bool kFlush, bool kSaturate> Flow runFma(Warp &warp, const Instruction &i, uint32_t mask) {
  alignas(64) float sources[3][kLanes], result[kLanes];
  const int32_t slots[3] = {i.a, i.b, i.c};
  for (int s = 0; s < 3; ++s)
    for (int lane = 0; lane < kLanes; ++lane)
      sources[s][lane] = finishSource<kFlush>(warp.floats(slots[s])[lane]);
  kFmaLanes(sources[0], sources[1], sources[2], result);
  alignas(64) uint32_t words[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    words[lane] = std::bit_cast<uint32_t>(finishResult<kFlush, kSaturate>(result[lane]));
  storeLanes<float>(warp, i.d, words, mask);
  return Flow::Next;
}

Handler fmaF32Handler(const Modifiers &modifiers) {
  if (modifiers.rounding != Rounding::Nearest)
    return runDirected<FusedMultiplyAdd>;
  if (modifiers.isSaturating)
    return modifiers.isFlushing ? runFma<true, true> : runFma<false, true>;
  return modifiers.isFlushing ? runFma<true, false> : runFma<false, false>;
}

Handler fmaHalfHandler(Type type) {
  switch (type) {
  case Type::F16:
    return runHalfFma<Format::F16, false>;
  case Type::F16x2:
    return runHalfFma<Format::F16, true>;
  case Type::BF16:
    return runHalfFma<Format::BF16, false>;
  default:
    return runHalfFma<Format::BF16, true>;
  }
}

// --- div ---

// div.approx multiplies by a reciprocal, which is zero for the largest divisors. The quotient's
// last bits are the device's secret; here it is the rounded one.
struct ApproximateDivide {
  float operator()(float a, float b) const {
    const float size = std::fabs(b);
    return size > 0x1p126F && std::isfinite(b) ? a * 0.0F : a / b;
  }
};
struct Divide {
  template <typename T> T operator()(T a, T b) const { return a / b; }
};

// --- min and max ---

// -0 is below +0; a NaN loses unless kNanWins.
template <typename T, typename Bits, bool kIsMin, bool kNanWins> T extreme(T a, T b) {
  const T equal = std::bit_cast<T>(kIsMin ? Bits(std::bit_cast<Bits>(a) | std::bit_cast<Bits>(b))
                                          : Bits(std::bit_cast<Bits>(a) & std::bit_cast<Bits>(b)));
  T result = (kIsMin ? a < b : a > b) ? a : b;
  result = a == b ? equal : result;
  if constexpr (kNanWins) {
    result = a != a ? a : result;
    result = b != b ? b : result;
  } else {
    result = b != b ? a : result; // a != a has taken b already
  }
  return result;
}

template <bool kIsMin> void decodeExtreme(Form &form) {
  const bool isFlushing = form.take("ftz"), isNanWinning = form.take("NaN");
  if (form.take("xorsign"))
    return form.fail(".xorsign is not known");
  const Type type = form.type();
  form.standard(type, {type, type});
  if (type == Type::F32) {
    Modifiers modifiers;
    modifiers.isFlushing = isFlushing;
    if (isNanWinning)
      form.use(kFloat,
               binaryF32(modifiers, [](float a, float b) { return extreme<float, uint32_t, kIsMin, true>(a, b); }));
    else
      form.use(kFloat,
               binaryF32(modifiers, [](float a, float b) { return extreme<float, uint32_t, kIsMin, false>(a, b); }));
  } else if (type == Type::F64) {
    if (isFlushing || isNanWinning)
      return form.fail("its modifiers are not those of f64");
    form.use(kFloat, binary<double, double, double>(
                         [](double a, double b) { return extreme<double, uint64_t, kIsMin, false>(a, b); }));
  } else if (isHalf(type)) {
    if (isFlushing)
      return form.fail(".ftz on 16-bit floats is not known here");
    form.instruction.detail = isNanWinning ? 32 : 0;
    form.use(kFloat, kIsMin ? halfBinary<minHalfPlain>(type) : halfBinary<maxHalfPlain>(type));
  }
}

template <uint32_t kSigns> Handler signHandler(bool isAbs) {
  return isAbs ? unary<uint32_t, uint32_t>([](uint32_t a) { return a & ~kSigns; })
               : unary<uint32_t, uint32_t>([](uint32_t a) { return a ^ kSigns; });
}

void decodeCopysign(Form &form) {
  const Type type = form.type();
  form.standard(type, {type, type});
  if (type == Type::F32)
    form.use(kFloat, binary<uint32_t, uint32_t, uint32_t>(
                         [](uint32_t a, uint32_t b) { return (a & 0x80000000) | (b & 0x7fffffff); }));
  else if (type == Type::F64)
    form.use(kFloat, binary<double, double, double>([](double a, double b) { return std::copysign(b, a); }));
}

} // namespace

void decodeFloatAdd(Form &form) {
  if (form.base() == "sub")
    decodePlainBinary<subHalf>(form, Subtract());
  else
    decodePlainBinary<addHalf>(form, Add());
}

void decodeFloatMul(Form &form) { decodePlainBinary<mulHalf>(form, Multiply()); }

void decodeFloatFma(Form &form) {
  const Modifiers modifiers = takeModifiers(form);
  const Type type = form.type();
  form.standard(type, {type, type, type});
  form.instruction.detail = packed(modifiers);
  if (type == Type::F32) {
    if (modifiers.isRelu)
      return form.fail(".relu is not f32's");
    form.use(kFloat, fmaF32Handler(modifiers));
  } else if (type == Type::F64) {
    checkF64(form, modifiers);
    form.use(kFloat,
             ternary<double, double, double, double>([](double a, double b, double c) { return std::fma(a, b, c); }));
  } else if (isHalf(type)) {
    checkHalf(form, type, modifiers);
    form.use(kFloat, fmaHalfHandler(type));
  }
}

void decodeFloatDiv(Form &form) {
  const bool isApproximate = form.take("approx"), isFull = form.take("full");
  const Modifiers modifiers = takeModifiers(form);
  const Type type = form.type();
  form.standard(type, {type, type});
  if (modifiers.rounding != Rounding::Nearest || modifiers.isSaturating || modifiers.isRelu)
    return form.fail("only .rn is known");
  if (type == Type::F32)
    form.use(kFloat, isApproximate ? binaryF32(modifiers, ApproximateDivide()) : binaryF32(modifiers, Divide()));
  else if (type == Type::F64 && !isApproximate && !isFull)
    form.use(kFloat, binary<double, double, double>(Divide()));
}

void decodeFloatMinMax(Form &form) {
  if (form.base() == "min")
    decodeExtreme<true>(form);
  else
    decodeExtreme<false>(form);
}

void decodeFloatSign(Form &form) {
  const bool isAbs = form.base() == "abs", isFlushing = form.take("ftz");
  const Type type = form.type();
  form.standard(type, {type});
  switch (type) {
  case Type::F32:
    if (isFlushing)
      form.use(kFloat, isAbs ? unary<float, float>([](float a) { return std::fabs(flush(a)); })
                             : unary<float, float>([](float a) { return -flush(a); }));
    else
      form.use(kFloat, signHandler<0x80000000>(isAbs));
    return;
  case Type::F64:
    form.use(kFloat, isAbs ? unary<double, double>([](double a) { return std::fabs(a); })
                           : unary<double, double>([](double a) { return -a; }));
    return;
  case Type::F16:
  case Type::BF16:
    form.use(kFloat, signHandler<0x8000>(isAbs));
    break;
  case Type::F16x2:
  case Type::BF16x2:
    form.use(kFloat, signHandler<0x80008000>(isAbs));
    break;
  default:
    break;
  }
  if (isFlushing)
    form.fail(".ftz is not known here");
}

const OpcodeTable &arithmeticOpcodes() {
  static const OpcodeTable kTable = {{"fma", decodeFloatFma}, {"copysign", decodeCopysign}};
  return kTable;
}

} // namespace attnc::emulator

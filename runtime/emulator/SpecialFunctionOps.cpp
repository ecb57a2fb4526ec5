// ex2, lg2, rcp, sqrt, rsqrt, sin, cos, tanh. The devices' approximations are not published bit
// for bit: here they are the C library's functions in double precision, rounded once, so an
// .approx result may differ from a device's in the last bits.
#include <cmath>

#include "runtime/emulator/Form.h"
#include "runtime/emulator/Formats.h"
#include "runtime/emulator/Lanes.h"

namespace attnc::emulator {

namespace {

constexpr auto kSpecial = InstructionClass::Special;

struct Exp2 {
  static float apply(float a) { return exp2f(a); }
};
struct Log2 {
  static float apply(float a) { return log2f(a); }
};
struct Reciprocal {
  static float apply(float a) { return 1.0F / a; }
};
struct SquareRoot {
  static float apply(float a) { return std::sqrt(a); }
};
struct ReciprocalSquareRoot {
  static float apply(float a) { return float(1.0 / std::sqrt(double(a))); }
};
struct Sine {
  static float apply(float a) { return float(std::sin(double(a))); }
};
struct Cosine {
  static float apply(float a) { return float(std::cos(double(a))); }
};
struct HyperbolicTangent {
  static float apply(float a) { return float(std::tanh(double(a))); }
};

template <typename F> Handler f32Handler(bool isFlushing) {
  return isFlushing ? unary<float, float>([](float a) { return flush(canonical(F::apply(flush(a)))); })
                    : unary<float, float>([](float a) { return canonical(F::apply(a)); });
}

template <typename F, Format kFormat> uint16_t applyHalf(uint32_t bits) {
  if constexpr (kFormat == Format::F16)
    return toF16(F::apply(fromF16(uint16_t(bits))));
  else
    return toBF16(F::apply(fromBF16(uint16_t(bits))));
}

template <typename F, Format kFormat> Handler halfHandler(bool isPacked) {
  return isPacked ? unary<uint32_t, uint32_t>([](uint32_t a) {
    return uint32_t(applyHalf<F, kFormat>(a)) | uint32_t(applyHalf<F, kFormat>(a >> 16)) << 16;
  })
                  : unary<uint32_t, uint32_t>([](uint32_t a) { return uint32_t(applyHalf<F, kFormat>(a)); });
}

// kHasHalf: ex2 and tanh alone exist on 16-bit floats.
template <typename F, bool kHasHalf> void decodeApproximate(Form &form) {
  const bool isApproximate = form.take("approx"), isFlushing = form.take("ftz");
  if (!isApproximate)
    return form.fail("only .approx is known");
  const Type type = form.type();
  form.standard(type, {type});
  if (type == Type::F32) {
    form.use(kSpecial, f32Handler<F>(isFlushing));
  } else if constexpr (kHasHalf) {
    if (type == Type::F16 || type == Type::F16x2)
      form.use(kSpecial, halfHandler<F, Format::F16>(type == Type::F16x2));
    else if (type == Type::BF16 || type == Type::BF16x2)
      form.use(kSpecial, halfHandler<F, Format::BF16>(type == Type::BF16x2));
  }
}

// rcp, sqrt and rsqrt, which also round to nearest and exist on doubles.
template <typename F> void decodeRoot(Form &form) {
  form.takeAny({"approx", "rn"});
  const bool isFlushing = form.take("ftz");
  const Type type = form.type();
  form.standard(type, {type});
  if (type == Type::F32)
    form.use(kSpecial, f32Handler<F>(isFlushing));
  else if (type == Type::F64)
    form.use(kSpecial, unary<double, double>([](double a) {
               if constexpr (std::is_same_v<F, Reciprocal>)
                 return 1.0 / a;
               else if constexpr (std::is_same_v<F, SquareRoot>)
                 return std::sqrt(a);
               else
                 return 1.0 / std::sqrt(a);
             }));
}

} // namespace

const OpcodeTable &specialFunctionOpcodes() {
  static const OpcodeTable kTable = {{"ex2", decodeApproximate<Exp2, true>},
                                     {"lg2", decodeApproximate<Log2, false>},
                                     {"sin", decodeApproximate<Sine, false>},
                                     {"cos", decodeApproximate<Cosine, false>},
                                     {"tanh", decodeApproximate<HyperbolicTangent, true>},
                                     {"rcp", decodeRoot<Reciprocal>},
                                     {"sqrt", decodeRoot<SquareRoot>},
                                     {"rsqrt", decodeRoot<ReciprocalSquareRoot>}};
  return kTable;
}

} // namespace attnc::emulator

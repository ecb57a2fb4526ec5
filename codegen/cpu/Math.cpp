#include "codegen/cpu/Math.h"

#include <limits>

using namespace mlir;
using arith::CmpFPredicate;

namespace attnc::cpu {

static constexpr float kInf = std::numeric_limits<float>::infinity();
static constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
// 1.5 * 2^23: adding it leaves the nearest integer in the low bits.
static constexpr float kMagic = 12582912.0f;
static constexpr int32_t kMagicBits = 0x4B400000;

static Value horner(KernelBuilder &k, Value x, ArrayRef<float> ascending) {
  Value sum = k.floatLike(x, ascending.back());
  for (float coefficient : llvm::reverse(ascending.drop_back()))
    sum = k.fma(sum, x, k.floatLike(x, coefficient));
  return sum;
}

static Value addI(KernelBuilder &k, Value a, Value b) { return k.create<arith::AddIOp>(a, b); }
static Value subI(KernelBuilder &k, Value a, Value b) { return k.create<arith::SubIOp>(a, b); }
static Value shiftLeft(KernelBuilder &k, Value a, int bits) { return k.create<arith::ShLIOp>(a, k.intLike(a, bits)); }
static Value shiftRight(KernelBuilder &k, Value a, int bits) { return k.create<arith::ShRSIOp>(a, k.intLike(a, bits)); }
static Value andI(KernelBuilder &k, Value a, int32_t bits) { return k.create<arith::AndIOp>(a, k.intLike(a, bits)); }
static Value atLeast(KernelBuilder &k, Value x, float low) { // NaN passes
  return k.maxKeepingSecond(k.floatLike(x, low), x);
}
static Value atMost(KernelBuilder &k, Value x, float high) { // NaN passes
  Value bound = k.floatLike(x, high);
  return k.select(k.cmpf(CmpFPredicate::OGT, x, bound), bound, x);
}
static Value magnitude(KernelBuilder &k, Value x) { return k.bitcast(andI(k, k.bitcast(x, k.i32), 0x7FFFFFFF), k.f32); }
// `x` with the sign of `sign`.
static Value withSign(KernelBuilder &k, Value x, Value sign) {
  Value bit = andI(k, k.bitcast(sign, k.i32), int32_t(0x80000000));
  return k.bitcast(k.create<arith::OrIOp>(k.bitcast(x, k.i32), bit), k.f32);
}

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

Value emitSoftmaxExp2(KernelBuilder &k, Value x, int degree) {
  // The bias of the exponent (127) rides in the magic number: the low bits of `shifted`
  // are the exponent field of 2^n, and n = -127 gives the factor 0.
  constexpr float biased = kMagic + 127.0f;
  x = atLeast(k, x, -127.0f);
  Value shifted = k.addf(x, k.floatLike(x, biased));
  Value fraction = k.subf(x, k.subf(shifted, k.floatLike(x, biased)));
  Value power = k.bitcast(shiftLeft(k, k.bitcast(shifted, k.i32), 23), k.f32);
  static constexpr float five[] = {
      1.0f, 6.931469776e-01f, 2.402224209e-01f, 5.550733743e-02f, 9.671512645e-03f, 1.326472712e-03f};
  static constexpr float three[] = {1.0f, 6.932829272e-01f, 2.422109595e-01f, 5.500893049e-02f};
  Value p = degree == 3 ? horner(k, fraction, three) : horner(k, fraction, five);
  return k.mulf(p, power);
}

// p * 2^n in two steps, so that subnormal and overflowing results round once and to inf.
static Value scaleByPower(KernelBuilder &k, Value p, Value n) {
  Value half = shiftRight(k, n, 1);
  auto power = [&](Value exponent) {
    return k.bitcast(shiftLeft(k, addI(k, exponent, k.intLike(exponent, 127)), 23), k.f32);
  };
  return k.mulf(k.mulf(p, power(half)), power(subI(k, n, half)));
}

static constexpr float kExp2Six[] = {
    1.0f, 6.931472029e-01f, 2.402264791e-01f, 5.550332471e-02f, 9.618437358e-03f, 1.339887441e-03f, 1.535336191e-04f};

Value emitExp2(KernelBuilder &k, Value x) {
  x = atMost(k, atLeast(k, x, -151.0f), 129.0f);
  Value shifted = k.addf(x, k.floatLike(x, kMagic));
  Value fraction = k.subf(x, k.subf(shifted, k.floatLike(x, kMagic)));
  Value n = subI(k, k.bitcast(shifted, k.i32), k.intLike(k.bitcast(x, k.i32), kMagicBits));
  return scaleByPower(k, horner(k, fraction, kExp2Six), n);
}

Value emitExp(KernelBuilder &k, Value x) {
  constexpr float log2e = 1.44269504f, ln2High = 0.693145752f, ln2Low = 1.42860677e-06f;
  x = atMost(k, atLeast(k, x, -104.0f), 89.0f);
  Value shifted = k.fma(x, k.floatLike(x, log2e), k.floatLike(x, kMagic));
  Value whole = k.subf(shifted, k.floatLike(x, kMagic));
  Value rest = k.fma(whole, k.floatLike(x, -ln2High), x);
  rest = k.fma(whole, k.floatLike(x, -ln2Low), rest);
  Value n = subI(k, k.bitcast(shifted, k.i32), k.intLike(k.bitcast(x, k.i32), kMagicBits));
  Value fraction = k.mulf(rest, k.floatLike(x, log2e));
  return scaleByPower(k, horner(k, fraction, kExp2Six), n);
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

namespace {
// x = m 2^e with m in [1/sqrt2, sqrt2); log(m) = f + tail, f = m - 1.
struct LogParts {
  Value f, tail, exponent;
};
} // namespace

static LogParts splitLog(KernelBuilder &k, Value x) {
  // Subnormals are lifted into the normal range first.
  Value tiny = k.cmpf(CmpFPredicate::OLT, x, k.floatLike(x, 0x1p-126f));
  Value lifted = k.select(tiny, k.mulf(x, k.floatLike(x, 0x1p23f)), x);
  Value bits = k.bitcast(lifted, k.i32);
  Value e = shiftRight(k, subI(k, bits, k.intLike(bits, 0x3F3504F3)), 23);
  Value m = k.bitcast(subI(k, bits, shiftLeft(k, e, 23)), k.f32);
  Value lift = k.select(tiny, k.intLike(bits, -23), k.intLike(bits, 0));
  LogParts parts;
  parts.exponent = k.create<arith::SIToFPOp>(x.getType(), addI(k, e, lift));
  parts.f = k.subf(m, k.floatLike(x, 1.0f));
  static constexpr float seven[] = {3.333333171e-01f, -2.500082103e-01f, 2.000122688e-01f, -1.662335736e-01f,
                                    1.420175792e-01f, -1.316018216e-01f, 1.276157754e-01f, -7.634497757e-02f};
  Value square = k.mulf(parts.f, parts.f);
  Value cubic = k.mulf(k.mulf(parts.f, square), horner(k, parts.f, seven));
  parts.tail = k.fma(square, k.floatLike(x, -0.5f), cubic);
  return parts;
}

static Value logSpecials(KernelBuilder &k, Value x, Value result) {
  Value zero = k.floatLike(x, 0.0f), inf = k.floatLike(x, kInf);
  result = k.select(k.cmpf(CmpFPredicate::OEQ, x, inf), inf, result);
  result = k.select(k.cmpf(CmpFPredicate::ULT, x, zero), k.floatLike(x, kNan), result);
  return k.select(k.cmpf(CmpFPredicate::OEQ, x, zero), k.floatLike(x, -kInf), result);
}

Value emitLog(KernelBuilder &k, Value x) {
  LogParts parts = splitLog(k, x);
  Value low = k.fma(parts.exponent, k.floatLike(x, 1.42860677e-06f), parts.tail);
  Value sum = k.addf(parts.f, low);
  return logSpecials(k, x, k.fma(parts.exponent, k.floatLike(x, 0.693145752f), sum));
}

Value emitLog2(KernelBuilder &k, Value x) {
  // log2(e) in two parts: the sum f + tail is multiplied with an error below an ulp.
  constexpr float high = 1.44269502f, low = 1.92596299e-08f;
  LogParts parts = splitLog(k, x);
  Value sum = k.addf(parts.f, parts.tail);
  Value lost = k.addf(k.subf(parts.f, sum), parts.tail);
  Value rest = k.fma(sum, k.floatLike(x, low), k.mulf(lost, k.floatLike(x, high)));
  Value whole = k.fma(sum, k.floatLike(x, high), rest);
  return logSpecials(k, x, k.addf(parts.exponent, whole));
}

//===----------------------------------------------------------------------===//
// tanh, erf
//===----------------------------------------------------------------------===//

Value emitTanh(KernelBuilder &k, Value x) {
  // x P(x^2) / Q(x^2), minimax up to 9.1 where tanh rounds to 1.
  static constexpr float numerator[] = {9.999999772e-01f, 1.337447111e-01f, 3.487806219e-03f, 2.048110872e-05f,
                                        1.317741914e-08f};
  static constexpr float denominator[] = {1.0f, 4.670778489e-01f, 2.584737016e-02f, 3.272912340e-04f, 7.704002742e-07f};
  // Beyond 9.02 the nearest float is 1.
  Value end = k.floatLike(x, 9.02f), one = k.floatLike(x, 1.0f);
  Value isHigh = k.cmpf(CmpFPredicate::OGT, x, end);
  Value isLow = k.cmpf(CmpFPredicate::OLT, x, k.floatLike(x, -9.02f));
  Value clamped = k.select(isLow, k.floatLike(x, -9.02f), k.select(isHigh, end, x));
  Value square = k.mulf(clamped, clamped);
  Value top = k.mulf(clamped, horner(k, square, numerator));
  Value ratio = k.divf(top, horner(k, square, denominator));
  return k.select(isLow, k.floatLike(x, -1.0f), k.select(isHigh, one, ratio));
}

Value emitErf(KernelBuilder &k, Value x) {
  static constexpr float below[] = {1.128379166e+00f, -3.761262583e-01f, 1.128358516e-01f, -2.685381229e-02f,
                                    5.188328277e-03f, -8.010198304e-04f, 7.853875623e-05f};
  static constexpr float above[] = {2.719013676e-04f, -1.629639912e+00f, -9.135381580e-01f, -1.564200227e-01f,
                                    3.637083052e-02f, -6.066942900e-03f, 6.369103015e-04f,  -3.130303233e-05f};
  Value size = magnitude(k, x);
  Value small = k.mulf(x, horner(k, k.mulf(x, x), below));
  // 1 - erfc with erfc = 2^p; from 4 on it rounds to 1.
  Value tail = emitSoftmaxExp2(k, horner(k, atMost(k, size, 4.0f), above), 5);
  Value large = withSign(k, k.subf(k.floatLike(x, 1.0f), tail), x);
  return k.select(k.cmpf(CmpFPredicate::OLE, size, k.floatLike(x, 1.0f)), small, large);
}

} // namespace attnc::cpu

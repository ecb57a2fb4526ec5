// The functions that are computed in double: sin, cos, pow.
#include "codegen/cpu/Math.h"

#include <limits>

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using arith::CmpFPredicate;

namespace attnc::cpu {

namespace {

// Double counterparts of a scalar's or vector's type, and constants of that shape.
struct Wide {
  KernelBuilder &k;
  Type f64, i64, single;

  Wide(KernelBuilder &k, Value like) : k(k), single(like.getType()) {
    OpBuilder &ops = k.ops();
    f64 = ops.getF64Type();
    i64 = ops.getI64Type();
    if (auto shape = dyn_cast<VectorType>(single)) {
      f64 = shape.cloneWith(std::nullopt, f64);
      i64 = shape.cloneWith(std::nullopt, i64);
    }
  }
  Value constant(double value) {
    TypedAttr attr = k.ops().getF64FloatAttr(value);
    if (auto shape = dyn_cast<VectorType>(f64))
      attr = DenseElementsAttr::get(shape, value);
    return k.create<arith::ConstantOp>(attr);
  }
  Value integer(int64_t value) {
    TypedAttr attr = k.ops().getI64IntegerAttr(value);
    if (auto shape = dyn_cast<VectorType>(i64))
      attr = DenseElementsAttr::get(shape, value);
    return k.create<arith::ConstantOp>(attr);
  }
  Value extend(Value x) { return k.create<arith::ExtFOp>(f64, x); }
  Value round(Value x) { return k.create<arith::TruncFOp>(single, x); }
  Value bits(Value x) { return k.create<arith::BitcastOp>(i64, x); }
  Value fromBits(Value x) { return k.create<arith::BitcastOp>(f64, x); }
  Value horner(Value x, ArrayRef<double> ascending) {
    Value sum = constant(ascending.back());
    for (double coefficient : llvm::reverse(ascending.drop_back()))
      sum = k.fma(sum, x, constant(coefficient));
    return sum;
  }
  Value clamp(Value x, double low, double high) { // NaN passes
    Value lowest = constant(low), highest = constant(high);
    x = k.select(k.cmpf(CmpFPredicate::OLT, x, lowest), lowest, x);
    return k.select(k.cmpf(CmpFPredicate::OGT, x, highest), highest, x);
  }
};

} // namespace

// 1.5 * 2^52: adding it leaves the nearest integer in the low bits.
static constexpr double kMagic = 6755399441055744.0;

//===----------------------------------------------------------------------===//
// Sine and cosine
//===----------------------------------------------------------------------===//

// `quarter` 0 for sine, 1 for cosine: cos(x) = sin(x + pi/2).
static Value emitSine(KernelBuilder &k, Value x, int quarter) {
  static constexpr double sine[] = {9.99999999999993228e-01,  -1.66666666666151764e-01, 8.33333332364192929e-03,
                                    -1.98412631822831003e-04, 2.75552495899071158e-06,  -2.47550863696724784e-08};
  static constexpr double cosine[] = {1.00000000000000022e+00,  -4.99999999999993339e-01, 4.16666666662496021e-02,
                                      -1.38888888330775530e-03, 2.48015592573814856e-05,  -2.75512939279013266e-07,
                                      2.03561584620857751e-09};
  constexpr double twoOverPi = 0x1.45f306dc9c883p-1, halfPi = 0x1.921fb54442d18p+0, halfPiLow = 0x1.1a62633145c07p-54,
                   quarterPi = 0x1.921fb54442d18p-1;
  Wide wide(k, x);
  Value xd = wide.extend(x);
  Value shifted = k.fma(xd, wide.constant(twoOverPi), wide.constant(kMagic));
  Value n = k.subf(shifted, wide.constant(kMagic));
  Value r = k.fma(n, wide.constant(-halfPi), xd);
  r = k.fma(n, wide.constant(-halfPiLow), r);
  // Only beyond 2^40 or so can r leave the interval: keep the result in [-1, 1] there.
  r = wide.clamp(r, -quarterPi, quarterPi);
  Value square = k.mulf(r, r);
  Value sinR = k.mulf(r, wide.horner(square, sine)), cosR = wide.horner(square, cosine);
  Value quadrant = k.create<arith::AddIOp>(wide.bits(shifted), wide.integer(quarter));
  Value one = wide.integer(1), two = wide.integer(2), zero = wide.integer(0);
  Value odd = k.cmpi(arith::CmpIPredicate::ne, k.create<arith::AndIOp>(quadrant, one), zero);
  Value lower = k.cmpi(arith::CmpIPredicate::ne, k.create<arith::AndIOp>(quadrant, two), zero);
  Value result = k.select(odd, cosR, sinR);
  return wide.round(k.select(lower, k.create<arith::NegFOp>(result), result));
}

Value emitSin(KernelBuilder &k, Value x) { return emitSine(k, x, 0); }
Value emitCos(KernelBuilder &k, Value x) { return emitSine(k, x, 1); }

//===----------------------------------------------------------------------===//
// Power
//===----------------------------------------------------------------------===//

// log2 of a positive finite double.
static Value emitLog2Double(KernelBuilder &k, Wide &wide, Value x) {
  static constexpr double cubic[] = {3.33333333335580628e-01,  -2.49999999912495968e-01, 1.99999999256133126e-01,
                                     -1.66666680548632290e-01, 1.42857223958254509e-01,  -1.24999235819427124e-01,
                                     1.11106962593342934e-01,  -1.00018755951444965e-01, 9.10205346642156687e-02,
                                     -8.31405268121912372e-02, 7.53305303897985890e-02,  -7.14787576223708393e-02,
                                     7.76519850724178701e-02,  -7.49111187935976724e-02, 3.64812998729320687e-02};
  Value bits = wide.bits(x);
  Value shift = wide.integer(52);
  Value e = k.create<arith::ShRSIOp>(k.create<arith::SubIOp>(bits, wide.integer(0x3FE6A09E667F3BCD)), shift);
  Value m = wide.fromBits(k.create<arith::SubIOp>(bits, k.create<arith::ShLIOp>(e, shift).getResult()));
  Value f = k.subf(m, wide.constant(1.0));
  Value square = k.mulf(f, f);
  Value tail = k.fma(square, wide.constant(-0.5), k.mulf(k.mulf(f, square), wide.horner(f, cubic)));
  Value exponent = k.create<arith::SIToFPOp>(wide.f64, e);
  return k.fma(k.addf(f, tail), wide.constant(0x1.71547652b82fep+0), exponent);
}

// 2^t for t in [-1000, 1000] or NaN.
static Value emitExp2Double(KernelBuilder &k, Wide &wide, Value t) {
  static constexpr double nine[] = {1.00000000000001332e+00, 6.93147180559869236e-01, 2.40226506956505853e-01,
                                    5.55041086687882088e-02, 9.61812919192425730e-03, 1.33335576021358592e-03,
                                    1.54034350420818145e-04, 1.52529931877141177e-05, 1.32593848052928539e-06,
                                    1.01488446522779714e-07};
  Value magic = wide.constant(kMagic + 1023);
  Value shifted = k.addf(t, magic);
  Value fraction = k.subf(t, k.subf(shifted, magic));
  Value power = wide.fromBits(k.create<arith::ShLIOp>(wide.bits(shifted), wide.integer(52)));
  return k.mulf(wide.horner(fraction, nine), power);
}

// The special cases are those of C's pow.
Value emitPow(KernelBuilder &k, Value x, Value y) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  Wide wide(k, x);
  Value xd = wide.extend(x), yd = wide.extend(y);
  Value size = k.create<math::AbsFOp>(xd);
  Value zero = wide.constant(0.0), one = wide.constant(1.0);
  Value log = emitLog2Double(k, wide, size);
  log = k.select(k.cmpf(CmpFPredicate::OEQ, size, zero), wide.constant(-inf), log);
  // inf stays inf and NaN stays NaN.
  log = k.select(k.cmpf(CmpFPredicate::UGE, size, wide.constant(inf)), size, log);
  Value t = wide.clamp(k.mulf(yd, log), -400.0, 400.0);
  t = k.select(k.cmpf(CmpFPredicate::OEQ, size, one), zero, t);
  Value power = emitExp2Double(k, wide, t);
  // A NaN of y is lost where |x| = 1; put it back.
  power = k.select(k.cmpf(CmpFPredicate::UNO, yd, yd), yd, power);

  Value isWhole = k.cmpf(CmpFPredicate::OEQ, yd, k.create<math::FloorOp>(yd));
  Value half = k.mulf(yd, wide.constant(0.5));
  Value isOdd = k.create<arith::AndIOp>(isWhole, k.cmpf(CmpFPredicate::UNE, half, k.create<math::FloorOp>(half)));
  Value negative = k.cmpf(CmpFPredicate::OLT, xd, zero);
  Value signBit = k.cmpi(arith::CmpIPredicate::slt, wide.bits(xd), wide.integer(0));
  Value flips = k.create<arith::AndIOp>(signBit, isOdd);
  power = k.select(flips, k.create<arith::NegFOp>(power), power);
  Value nan = wide.constant(std::numeric_limits<double>::quiet_NaN());
  Value fails =
      k.create<arith::AndIOp>(negative, k.create<arith::XOrIOp>(isWhole, k.cmpf(CmpFPredicate::OEQ, zero, zero)));
  // (-inf)^y is a power of inf for every y.
  fails = k.create<arith::AndIOp>(fails, k.cmpf(CmpFPredicate::ONE, size, wide.constant(inf)));
  power = k.select(fails, nan, power);
  Value isOne = k.create<arith::OrIOp>(k.cmpf(CmpFPredicate::OEQ, yd, zero), k.cmpf(CmpFPredicate::OEQ, xd, one));
  return wide.round(k.select(isOne, one, power));
}

} // namespace attnc::cpu

#include "codegen/cpu/Convert.h"

#include "codegen/cpu/TileKernel.h"

using namespace mlir;
using arith::CmpIPredicate;

namespace attnc::cpu {

namespace {
// Integer helpers with constants of the operand's shape.
struct Bits {
  KernelBuilder &k;
  Value shl(Value a, int n) { return k.create<arith::ShLIOp>(a, k.intLike(a, n)); }
  Value shr(Value a, int n) { return k.create<arith::ShRUIOp>(a, k.intLike(a, n)); }
  Value land(Value a, uint32_t b) { return k.create<arith::AndIOp>(a, k.intLike(a, int32_t(b))); }
  Value lor(Value a, Value b) { return k.create<arith::OrIOp>(a, b); }
  Value add(Value a, Value b) { return k.create<arith::AddIOp>(a, b); }
  Value add(Value a, uint32_t b) { return add(a, k.intLike(a, int32_t(b))); }
  Value sub(Value a, Value b) { return k.create<arith::SubIOp>(a, b); }
  Value constant(Value like, uint32_t b) { return k.intLike(like, int32_t(b)); }
  Value is(CmpIPredicate predicate, Value a, uint32_t b) { return k.cmpi(predicate, a, constant(a, b)); }
};
} // namespace

static Type shaped(Value like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    return vector.cloneWith(std::nullopt, element);
  return element;
}

// Without F16C: the exponent is rebased by a multiplication, which also normalises
// subnormals; inf and NaN get the full exponent back.
static Value widenHalf(KernelBuilder &k, Value half) {
  Bits b{k};
  Value bits = k.create<arith::ExtUIOp>(shaped(half, k.i32), half);
  Value shifted = b.shl(b.land(bits, 0x7FFF), 13);
  Value value = k.mulf(k.bitcast(shifted, k.f32), k.floatLike(k.bitcast(shifted, k.f32), 0x1p112f));
  Value special = b.is(CmpIPredicate::uge, b.land(bits, 0x7FFF), 0x7C00);
  Value full = b.lor(shifted, b.constant(shifted, 0x7F800000));
  Value result = k.select(special, full, k.bitcast(value, k.i32));
  return k.bitcast(b.lor(result, b.shl(b.land(bits, 0x8000), 16)), k.f32);
}

static Value narrowHalf(KernelBuilder &k, Value value) {
  Bits b{k};
  Value bits = k.bitcast(value, k.i32);
  Value size = b.land(bits, 0x7FFFFFFF);
  // Normal: rebase the exponent and round the 13 dropped bits to nearest even.
  Value odd = b.land(b.shr(size, 13), 1);
  Value normal = b.shr(b.add(b.add(size, 0xC8000FFFu), odd), 13);
  // Subnormal: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits.
  Value half = k.floatLike(value, 0.5f);
  Value lifted = k.bitcast(k.addf(k.bitcast(size, k.f32), half), k.i32);
  Value subnormal = b.sub(lifted, k.bitcast(half, k.i32));
  Value result = k.select(b.is(CmpIPredicate::ult, size, 0x38800000), subnormal, normal);
  result = k.select(b.is(CmpIPredicate::uge, size, 0x47800000), b.constant(size, 0x7C00), result);
  result = k.select(b.is(CmpIPredicate::ugt, size, 0x7F800000), b.constant(size, 0x7E00), result);
  result = b.lor(result, b.shr(b.land(bits, 0x80000000u), 16));
  return k.create<arith::TruncIOp>(shaped(result, k.i16), result);
}

static Value narrowBrain(KernelBuilder &k, Value value) {
  Bits b{k};
  Value bits = k.bitcast(value, k.i32);
  Value odd = b.land(b.shr(bits, 16), 1);
  Value rounded = b.shr(b.add(b.add(bits, 0x7FFF), odd), 16);
  Value isNan = b.is(CmpIPredicate::ugt, b.land(bits, 0x7FFFFFFF), 0x7F800000);
  Value result = k.select(isNan, b.constant(bits, 0x7FC0), rounded);
  return k.create<arith::TruncIOp>(shaped(result, k.i16), result);
}

Value loadAsFloat(KernelBuilder &k, Value pointer, DType dtype, Isa isa, bool lanes) {
  auto type = [&](Type element) -> Type { return lanes ? Type(VectorType::get({k.lanes}, element)) : element; };
  switch (dtype) {
  case DType::F16: {
    if (isa == Isa::Sse)
      return widenHalf(k, k.load(type(k.i16), pointer, 0, 1));
    return k.create<arith::ExtFOp>(type(k.f32), k.load(type(k.f16), pointer, 0, 1));
  }
  case DType::BF16: {
    Value bits = k.create<arith::ExtUIOp>(type(k.i32), k.load(type(k.i16), pointer, 0, 1));
    return k.bitcast(k.create<arith::ShLIOp>(bits, k.intLike(bits, 16)), k.f32);
  }
  default:
    return k.load(type(k.f32), pointer, 0, 1);
  }
}

Value toStorage(KernelBuilder &k, Value value, DType dtype, Isa isa) {
  switch (dtype) {
  case DType::F16:
    if (isa == Isa::Sse)
      return narrowHalf(k, value);
    return k.create<arith::TruncFOp>(shaped(value, k.f16), value);
  case DType::BF16:
    return narrowBrain(k, value);
  default:
    return value;
  }
}

Value TileKernel::loadWidened(Value pointer, bool lanes) {
  return loadAsFloat(k, pointer, config.dtype, config.isa, lanes);
}
Value TileKernel::narrowed(Value value) { return toStorage(k, value, config.dtype, config.isa); }

} // namespace attnc::cpu

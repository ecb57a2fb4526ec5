#include "codegen/cpu/KernelBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace attnc::cpu {

KernelBuilder::KernelBuilder(MLIRContext *context, int lanes)
    : lanes(lanes), builder(context), loc(builder.getUnknownLoc()) {
  f32 = builder.getF32Type();
  f16 = builder.getF16Type();
  bf16 = builder.getBF16Type();
  i1 = builder.getI1Type();
  i8 = builder.getI8Type();
  i16 = builder.getIntegerType(16);
  i32 = builder.getI32Type();
  i64 = builder.getI64Type();
  ptr = LLVM::LLVMPointerType::get(context);
  vf32 = VectorType::get({lanes}, f32);
  vi32 = VectorType::get({lanes}, i32);
  vi1 = VectorType::get({lanes}, i1);
}

//===----------------------------------------------------------------------===//
// Functions and constants
//===----------------------------------------------------------------------===//

func::FuncOp KernelBuilder::startFunction(ModuleOp module, StringRef name, int pointers) {
  constants.clear();
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> arguments(pointers, ptr);
  function = create<func::FuncOp>(name, builder.getFunctionType(arguments, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  return function;
}

void KernelBuilder::finishFunction() { create<func::ReturnOp>(); }

Value KernelBuilder::constant(TypedAttr value) {
  Value &known = constants[value];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    known = create<arith::ConstantOp>(value);
  }
  return known;
}

Value KernelBuilder::constI64(int64_t value) { return constant(builder.getI64IntegerAttr(value)); }
Value KernelBuilder::constI32(int32_t value) { return constant(builder.getI32IntegerAttr(value)); }
Value KernelBuilder::constI1(bool value) { return constant(builder.getBoolAttr(value)); }
Value KernelBuilder::constF32(float value) { return constant(builder.getF32FloatAttr(value)); }
Value KernelBuilder::constF32Bits(uint32_t bits) {
  return constant(builder.getFloatAttr(f32, APFloat(APFloat::IEEEsingle(), APInt(32, bits))));
}
Value KernelBuilder::splatF32(float value) { return constant(DenseElementsAttr::get(vf32, value)); }
Value KernelBuilder::splatI32(int32_t value) { return constant(DenseElementsAttr::get(vi32, value)); }
Value KernelBuilder::laneIndices() {
  SmallVector<int32_t> values(lanes);
  for (int lane = 0; lane < lanes; ++lane)
    values[lane] = lane;
  return constant(DenseElementsAttr::get(vi32, ArrayRef(values)));
}

Value KernelBuilder::floatLike(Value like, float value) {
  if (auto shape = dyn_cast<VectorType>(like.getType()))
    return constant(DenseElementsAttr::get(shape.cloneWith(std::nullopt, f32), value));
  return constF32(value);
}
Value KernelBuilder::intLike(Value like, int32_t value) {
  if (auto shape = dyn_cast<VectorType>(like.getType()))
    return constant(DenseElementsAttr::get(shape.cloneWith(std::nullopt, i32), value));
  return constI32(value);
}

//===----------------------------------------------------------------------===//
// Integers and memory
//===----------------------------------------------------------------------===//

Value KernelBuilder::add(Value a, Value b) { return create<arith::AddIOp>(a, b); }
Value KernelBuilder::add(Value a, int64_t b) { return b == 0 ? a : add(a, constI64(b)); }
Value KernelBuilder::sub(Value a, Value b) { return create<arith::SubIOp>(a, b); }
Value KernelBuilder::mul(Value a, Value b) { return create<arith::MulIOp>(a, b); }
Value KernelBuilder::mul(Value a, int64_t b) { return b == 1 ? a : mul(a, constI64(b)); }
Value KernelBuilder::min(Value a, Value b) { return create<arith::MinSIOp>(a, b); }
Value KernelBuilder::max(Value a, Value b) { return create<arith::MaxSIOp>(a, b); }
Value KernelBuilder::toI32(Value value) { return create<arith::TruncIOp>(i32, value); }
Value KernelBuilder::toI64(Value value) { return create<arith::ExtSIOp>(i64, value); }

Value KernelBuilder::offset(Value pointer, Value bytes) {
  return create<LLVM::GEPOp>(ptr, i8, pointer, ArrayRef<LLVM::GEPArg>{bytes});
}
Value KernelBuilder::offset(Value pointer, int64_t bytes) {
  return bytes == 0 ? pointer : offset(pointer, constI64(bytes));
}
Value KernelBuilder::load(Type type, Value pointer, int64_t bytes, unsigned align) {
  return create<LLVM::LoadOp>(type, offset(pointer, bytes), align);
}
void KernelBuilder::store(Value value, Value pointer, int64_t bytes, unsigned align) {
  create<LLVM::StoreOp>(value, offset(pointer, bytes), align);
}
Value KernelBuilder::loadLanes(Type type, Value pointer, int64_t bytes) {
  return load(type, pointer, bytes, lanes * 4);
}
void KernelBuilder::storeLanes(Value value, Value pointer, int64_t bytes) { store(value, pointer, bytes, lanes * 4); }

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelBuilder::loop(Value from, Value to, int64_t step, ValueRange carried, const Body &body) {
  auto forOp = create<scf::ForOp>(from, to, constI64(step), carried);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = forOp.getBody();
  builder.setInsertionPointToStart(block);
  SmallVector<Value> next = body(forOp.getInductionVar(), forOp.getRegionIterArgs());
  // A loop without carried values already has its terminator.
  if (!carried.empty())
    create<scf::YieldOp>(next);
  return SmallVector<Value>(forOp.getResults());
}

void KernelBuilder::loop(Value from, Value to, int64_t step, const std::function<void(Value)> &body) {
  loop(from, to, step, {}, [&](Value counter, ValueRange) {
    body(counter);
    return SmallVector<Value>();
  });
}

void KernelBuilder::loop(int64_t from, int64_t to, int64_t step, const std::function<void(Value)> &body) {
  loop(constI64(from), constI64(to), step, body);
}

void KernelBuilder::ifElse(Value condition, const std::function<void()> &then, const std::function<void()> &otherwise) {
  auto ifOp = create<scf::IfOp>(condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  then();
  if (otherwise) {
    builder.setInsertionPointToStart(ifOp.elseBlock());
    otherwise();
  }
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

Value KernelBuilder::broadcast(Value scalar) {
  if (isa<VectorType>(scalar.getType()))
    return scalar;
  if (scalar.getType() == i1) {
    // As a mask of whole lanes: vectors of single bits are built one by one without AVX-512.
    Value word = create<arith::ExtSIOp>(i32, scalar);
    return cmpi(arith::CmpIPredicate::slt, broadcast(word), splatI32(0));
  }
  return create<vector::BroadcastOp>(VectorType::get({lanes}, scalar.getType()), scalar);
}
Value KernelBuilder::fma(Value a, Value b, Value c) { return create<math::FmaOp>(a, b, c); }
Value KernelBuilder::addf(Value a, Value b) { return create<arith::AddFOp>(a, b); }
Value KernelBuilder::subf(Value a, Value b) { return create<arith::SubFOp>(a, b); }
Value KernelBuilder::mulf(Value a, Value b) { return create<arith::MulFOp>(a, b); }
Value KernelBuilder::divf(Value a, Value b) { return create<arith::DivFOp>(a, b); }
Value KernelBuilder::cmpf(arith::CmpFPredicate predicate, Value a, Value b) {
  return create<arith::CmpFOp>(predicate, a, b);
}
Value KernelBuilder::cmpi(arith::CmpIPredicate predicate, Value a, Value b) {
  return create<arith::CmpIOp>(predicate, a, b);
}
Value KernelBuilder::select(Value condition, Value a, Value b) { return create<arith::SelectOp>(condition, a, b); }

Type KernelBuilder::withElement(Type shape, Type element) const {
  if (auto vector = dyn_cast<VectorType>(shape))
    return vector.cloneWith(std::nullopt, element);
  return element;
}
Value KernelBuilder::bitcast(Value value, Type element) {
  return create<arith::BitcastOp>(withElement(value.getType(), element), value);
}

Value KernelBuilder::maxKeepingSecond(Value a, Value b) { return select(cmpf(arith::CmpFPredicate::OGT, a, b), a, b); }

Value KernelBuilder::interleave(Value a, Value b, bool high) {
  int64_t count = cast<VectorType>(a.getType()).getNumElements();
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < count; ++i)
    order.push_back((high ? count / 2 : 0) + i / 2 + (i % 2 ? count : 0));
  return create<vector::ShuffleOp>(a, b, order);
}

void KernelBuilder::transpose(SmallVectorImpl<Value> &rows) {
  // Each round interleaves row i with row i + n/2: after log2(n) rounds every element
  // has moved from (row, lane) to (lane, row).
  const size_t half = rows.size() / 2;
  for (size_t span = 1; span < rows.size(); span *= 2) {
    SmallVector<Value> next(rows.size());
    for (size_t i = 0; i < half; ++i) {
      next[2 * i] = interleave(rows[i], rows[i + half], /*high=*/false);
      next[2 * i + 1] = interleave(rows[i], rows[i + half], /*high=*/true);
    }
    rows.assign(next.begin(), next.end());
  }
}

} // namespace attnc::cpu

#include "codegen/cpu/ModEmitter.h"

#include "codegen/cpu/Convert.h"
#include "codegen/cpu/KernelAbi.h"
#include "codegen/cpu/Math.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using arith::CmpIPredicate;

namespace attnc::cpu {

static Block *bodyOf(Operation *stage) { return stage ? &stage->getRegion(0).front() : nullptr; }

ModEmitter::ModEmitter(KernelBuilder &k, const KernelConfig &config, StagedOp staged)
    : k(k), config(config), staged(staged) {
  headStage = bodyOf(staged.getStage<PerHeadOp>());
  rowStage = bodyOf(staged.getStage<PerRowOp>());
  columnStage = bodyOf(staged.getStage<PerColumnOp>());
  elementStage = bodyOf(staged.getStage<PerElementOp>());
  sinkStage = bodyOf(staged.getStage<SinkOp>());
  Operation *yield = elementStage->getTerminator();
  changesScore = yield->getOperand(0) != elementStage->getArgument(0);
  hasMask = !matchPattern(yield->getOperand(1), m_One());
}

int64_t ModEmitter::yieldCount(Block *stage) { return stage->getTerminator()->getNumOperands(); }

void ModEmitter::enterFunction(Value arguments, Value buffer, Value batchIndex, Value headIndex) {
  args = arguments;
  gatherBuffer = buffer;
  batch = k.toI32(batchIndex);
  head = k.toI32(headIndex);
  headValues.clear();
}

Value ModEmitter::scoreScale() {
  Value scale = field(offsetof(KernelArgs, scaleBits), k.f32);
  return changesScore ? scale : k.mulf(scale, k.constF32(1.44269504f));
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static SmallVector<unsigned> all(Block *stage) {
  return llvm::to_vector(llvm::seq<unsigned>(0, stage->getTerminator()->getNumOperands()));
}

SmallVector<Value> ModEmitter::emitHead() {
  headValues = emit(headStage, {batch, head}, all(headStage));
  return headValues;
}

SmallVector<Value> ModEmitter::emitRows(Value queryIndices) {
  SmallVector<Value> arguments = {batch, head, queryIndices};
  arguments.append(headValues);
  return emit(rowStage, arguments, all(rowStage));
}

SmallVector<Value> ModEmitter::emitColumns(Value keyIndices) {
  SmallVector<Value> arguments = {batch, head, keyIndices};
  arguments.append(headValues);
  return emit(columnStage, arguments, all(columnStage));
}

Value ModEmitter::emitSink() { return emit(sinkStage, {batch, head}, {0})[0]; }

ModEmitter::Modified ModEmitter::emitElement(const Element &element, bool wantsMask) {
  SmallVector<Value> arguments = {element.score, batch, head, element.queryIndices, element.keyIndex};
  arguments.append(headValues);
  llvm::append_range(arguments, element.rowValues);
  llvm::append_range(arguments, element.columnValues);
  SmallVector<unsigned> wanted;
  if (changesScore)
    wanted.push_back(0);
  if (wantsMask && hasMask)
    wanted.push_back(1);
  SmallVector<Value> results = emit(elementStage, arguments, wanted);
  Modified modified;
  if (changesScore)
    modified.score = results.front();
  if (wantsMask && hasMask)
    modified.keep = results.back();
  return modified;
}

Value ModEmitter::asStoredScalar(Value value) {
  return value.getType() == k.i1 ? Value(k.create<arith::ExtUIOp>(k.i32, value)) : value;
}

Value ModEmitter::asStored(Value value) {
  value = k.broadcast(value);
  return value.getType() == k.vi1 ? Value(k.create<arith::ExtUIOp>(k.vi32, value)) : value;
}

Value ModEmitter::restored(Value word, Type type) {
  return type.isInteger(1) ? k.cmpi(CmpIPredicate::ne, word, k.intLike(word, 0)) : word;
}

void ModEmitter::loadHeadValues(Value pointer) {
  headValues.clear();
  for (auto [index, type] : llvm::enumerate(headStage->getTerminator()->getOperandTypes()))
    headValues.push_back(restored(k.load(type.isF32() ? k.f32 : k.i32, pointer, index * 4), type));
}

SmallVector<Value> ModEmitter::loadRowValues(Value pointer, int64_t bytes, int64_t step) {
  SmallVector<Value> values;
  for (auto [index, type] : llvm::enumerate(rowStage->getTerminator()->getOperandTypes()))
    values.push_back(restored(k.loadLanes(type.isF32() ? k.vf32 : k.vi32, pointer, index * step + bytes), type));
  return values;
}

SmallVector<Value> ModEmitter::loadColumnValues(Value pointer, int64_t step) {
  SmallVector<Value> values;
  for (auto [index, type] : llvm::enumerate(columnStage->getTerminator()->getOperandTypes()))
    values.push_back(restored(k.load(type.isF32() ? k.f32 : k.i32, pointer, index * step), type));
  return values;
}

SmallVector<Value> ModEmitter::emit(Block *stage, ArrayRef<Value> arguments, ArrayRef<unsigned> wanted) {
  Operation *yield = stage->getTerminator();
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> open;
  for (unsigned index : wanted)
    open.push_back(yield->getOperand(index));
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (op && needed.insert(op).second)
      open.append(op->operand_begin(), op->operand_end());
  }
  llvm::DenseMap<Value, Value> known;
  for (auto [argument, value] : llvm::zip_equal(stage->getArguments(), arguments))
    known[argument] = value;
  Location outer = k.location();
  for (Operation &op : stage->without_terminator()) {
    if (!needed.contains(&op))
      continue;
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(known[operand]);
    k.setLocation(op.getLoc());
    known[op.getResult(0)] = emitOp(&op, operands);
  }
  k.setLocation(outer);
  SmallVector<Value> results;
  for (unsigned index : wanted)
    results.push_back(known[yield->getOperand(index)]);
  return results;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

// All scalar or all lanes.
void ModEmitter::matchShapes(SmallVectorImpl<Value> &operands) {
  if (llvm::any_of(operands, [](Value v) { return isa<VectorType>(v.getType()); }))
    for (Value &operand : operands)
      operand = k.broadcast(operand);
}

Value ModEmitter::emitOp(Operation *op, ArrayRef<Value> given) {
  SmallVector<Value> operands(given);
  if (!isa<LoadOp>(op))
    matchShapes(operands);
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::ConstantOp constant) -> Value {
        Attribute value = constant.getValue();
        if (auto number = dyn_cast<FloatAttr>(value))
          return k.constF32Bits(number.getValue().bitcastToAPInt().getZExtValue());
        auto integer = cast<IntegerAttr>(value);
        return op->getResult(0).getType().isInteger(1) ? k.constI1(!integer.getValue().isZero())
                                                       : k.constI32(integer.getInt());
      })
      .Case([&](ParamOp param) -> Value {
        Value params = field(offsetof(KernelArgs, params), k.ptr);
        int64_t index = staged.scalarIndex(param.getParam());
        Type type = param.getType();
        return restored(k.load(type.isF32() ? k.f32 : k.i32, params, index * 4), type);
      })
      .Case([&](DimOp dim) -> Value {
        switch (dim.getDim()) {
        case Dim::B:
          return k.toI32(field(offsetof(KernelArgs, batch), k.i64));
        case Dim::H:
          return k.toI32(field(offsetof(KernelArgs, heads), k.i64));
        case Dim::Hkv:
          return k.toI32(field(offsetof(KernelArgs, kvHeads), k.i64));
        case Dim::Q:
          return k.toI32(field(offsetof(KernelArgs, queryLength), k.i64));
        case Dim::KV:
          return k.toI32(field(offsetof(KernelArgs, kvLength), k.i64));
        case Dim::D:
          return k.constI32(config.headDim);
        }
        llvm_unreachable("unknown dimension");
      })
      .Case([&](LoadOp load) { return emitLoad(load, operands); })
      .Case([&](FloorDivOp) { return emitDivision(operands[0], operands[1], false); })
      .Case([&](FloorModOp) { return emitDivision(operands[0], operands[1], true); })
      .Case([&](ShlOp) -> Value {
        Value amount = k.create<arith::AndIOp>(operands[1], k.intLike(operands[1], 31));
        return k.create<arith::ShLIOp>(operands[0], amount);
      })
      .Case([&](ShrOp) -> Value {
        Value amount = k.create<arith::AndIOp>(operands[1], k.intLike(operands[1], 31));
        return k.create<arith::ShRSIOp>(operands[0], amount);
      })
      .Case([&](ClampOp clamp) -> Value {
        if (clamp.getType().isF32())
          return k.create<arith::MinimumFOp>(k.create<arith::MaximumFOp>(operands[0], operands[1]).getResult(),
                                             operands[2]);
        return k.create<arith::MinSIOp>(k.create<arith::MaxSIOp>(operands[0], operands[1]).getResult(), operands[2]);
      })
      .Case([&](ReluOp) -> Value { return k.create<arith::MaximumFOp>(operands[0], k.floatLike(operands[0], 0)); })
      .Case([&](ToI32Op) { return toInteger(operands[0]); })
      .Case([&](math::ExpOp) { return emitExp(k, operands[0]); })
      .Case([&](math::Exp2Op) { return emitExp2(k, operands[0]); })
      .Case([&](math::LogOp) { return emitLog(k, operands[0]); })
      .Case([&](math::Log2Op) { return emitLog2(k, operands[0]); })
      .Case([&](math::TanhOp) { return emitTanh(k, operands[0]); })
      .Case([&](math::SinOp) { return emitSin(k, operands[0]); })
      .Case([&](math::CosOp) { return emitCos(k, operands[0]); })
      .Case([&](math::ErfOp) { return emitErf(k, operands[0]); })
      .Case([&](math::PowFOp) { return emitPow(k, operands[0], operands[1]); })
      .Case([&](math::RsqrtOp) -> Value {
        return k.divf(k.floatLike(operands[0], 1), k.create<math::SqrtOp>(operands[0]));
      })
      .Default([&](Operation *plain) -> Value {
        // Element-wise operations of arith and math mean the same on lanes.
        Type type = plain->getResult(0).getType();
        if (!operands.empty() && isa<VectorType>(operands[0].getType()))
          type = VectorType::get({k.lanes}, type);
        OperationState state(k.location(), plain->getName().getStringRef(), operands, type,
                             llvm::to_vector(plain->getAttrDictionary().getValue()));
        return k.ops().create(state)->getResult(0);
      });
}

// Division rounded down, total: by 0 both results are 0, by -1 the quotient wraps.
Value ModEmitter::emitDivision(Value a, Value b, bool isModulo) {
  auto constant = [&](int32_t value) { return k.intLike(a, value); };
  auto add = [&](Value x, Value y) -> Value { return k.create<arith::AddIOp>(x, y); };
  auto sub = [&](Value x, Value y) -> Value { return k.create<arith::SubIOp>(x, y); };
  auto land = [&](Value x, Value y) -> Value { return k.create<arith::AndIOp>(x, y); };
  auto is = [&](CmpIPredicate predicate, Value x, int32_t y) { return k.cmpi(predicate, x, constant(y)); };
  APInt known;
  // A broadcast constant counts as one.
  Value scalar = b;
  if (Operation *source = b.getDefiningOp(); source && source->getName().getStringRef() == "vector.broadcast")
    scalar = source->getOperand(0);
  const bool isKnown = matchPattern(scalar, m_ConstantInt(&known));
  const bool isPlain = isKnown && known.isStrictlyPositive();
  if (isPlain && known.isPowerOf2()) {
    if (isModulo)
      return land(a, constant(known.getSExtValue() - 1));
    return k.create<arith::ShRSIOp>(a, constant(known.logBase2()));
  }
  Value divisor = isKnown ? constant(known.getSExtValue()) : b;
  Value isZero, isMinusOne;
  if (!isPlain) {
    isZero = is(CmpIPredicate::eq, b, 0);
    isMinusOne = is(CmpIPredicate::eq, b, -1);
    divisor = k.select(k.create<arith::OrIOp>(isZero, isMinusOne), constant(1), b);
  }
  Value quotient;
  if (isKnown || !isa<VectorType>(a.getType())) {
    quotient = k.create<arith::DivSIOp>(a, divisor);
  } else {
    // Exact: the quotient of two 32-bit integers in double never rounds across one.
    auto wide = VectorType::get({k.lanes}, k.ops().getF64Type());
    Value ratio = k.divf(k.create<arith::SIToFPOp>(wide, a), k.create<arith::SIToFPOp>(wide, divisor));
    quotient = k.create<arith::FPToSIOp>(k.vi32, ratio);
  }
  Value rest = sub(a, k.create<arith::MulIOp>(quotient, divisor));
  Value isBelow =
      land(is(CmpIPredicate::ne, rest, 0), is(CmpIPredicate::slt, k.create<arith::XOrIOp>(rest, divisor), 0));
  if (isModulo)
    return k.select(isBelow, add(rest, divisor), rest); // by 0 and -1: modulo 1 is 0
  quotient = k.select(isBelow, sub(quotient, constant(1)), quotient);
  if (isPlain)
    return quotient;
  quotient = k.select(isMinusOne, sub(constant(0), a), quotient);
  return k.select(isZero, constant(0), quotient);
}

// Toward zero, saturating, NaN to 0.
Value ModEmitter::toInteger(Value x) {
  using P = arith::CmpFPredicate;
  Type type = isa<VectorType>(x.getType()) ? Type(k.vi32) : k.i32;
  Value isLow = k.cmpf(P::OLT, x, k.floatLike(x, -0x1p31f));
  Value isHigh = k.cmpf(P::OGE, x, k.floatLike(x, 0x1p31f));
  Value inside =
      k.create<arith::AndIOp>(k.cmpf(P::OGE, x, k.floatLike(x, -0x1p31f)), k.cmpf(P::OLT, x, k.floatLike(x, 0x1p31f)));
  Value whole = k.create<arith::FPToSIOp>(type, k.select(inside, x, k.floatLike(x, 0)));
  whole = k.select(isLow, k.intLike(whole, INT32_MIN), whole);
  return k.select(isHigh, k.intLike(whole, INT32_MAX), whole);
}

//===----------------------------------------------------------------------===//
// Captured tensors
//===----------------------------------------------------------------------===//

Value ModEmitter::emitLoad(LoadOp op, ArrayRef<Value> indices) {
  const int64_t position = staged.captureIndex(op.getCapture());
  const DType dtype = config.captures[position].dtype;
  Value capture = k.offset(field(offsetof(KernelArgs, captures), k.ptr), position * int64_t(sizeof(CaptureArg)));
  Value base = k.load(k.ptr, capture, offsetof(CaptureArg, data));
  Value lanesOffset; // in elements, where an index differs between lanes
  for (auto [axis, index] : llvm::enumerate(indices)) {
    Value size = k.load(k.i64, capture, offsetof(CaptureArg, shape) + axis * 8);
    Value stride = k.load(k.i64, capture, offsetof(CaptureArg, strides) + axis * 8);
    Value last = k.sub(k.toI32(size), k.constI32(1));
    auto clamp = [&](Value value, Value high) -> Value {
      Value low = k.create<arith::MaxSIOp>(value, k.intLike(value, 0));
      return k.create<arith::MinSIOp>(low, high);
    };
    if (!isa<VectorType>(index.getType())) {
      Value bytes = k.mul(k.mul(k.toI64(clamp(index, last)), stride), dtypeBytes(dtype));
      base = k.offset(base, bytes);
      continue;
    }
    Value part = k.create<arith::MulIOp>(clamp(index, k.broadcast(last)), k.broadcast(k.toI32(stride)));
    lanesOffset = lanesOffset ? Value(k.create<arith::AddIOp>(lanesOffset, part)) : part;
  }
  Type element = op.getType();
  if (!lanesOffset)
    return loadElement(base, dtype, element.isF32());
  return gather(base, lanesOffset, dtype, element);
}

Value ModEmitter::loadElement(Value pointer, DType dtype, bool isFloat) {
  switch (dtype) {
  case DType::F32:
  case DType::F16:
  case DType::BF16:
    return loadAsFloat(k, pointer, dtype, config.isa, /*lanes=*/false);
  case DType::I32:
    return k.load(k.i32, pointer, 0, 4);
  case DType::I64: {
    Value wide = k.load(k.i64, pointer, 0, 8);
    return k.toI32(k.max(k.min(wide, k.constI64(INT32_MAX)), k.constI64(INT32_MIN)));
  }
  case DType::Bool: {
    Value byte = k.create<arith::ExtUIOp>(k.i32, k.load(k.i8, pointer, 0, 1));
    return k.cmpi(CmpIPredicate::ne, byte, k.constI32(0));
  }
  }
  llvm_unreachable("unknown dtype");
}

Value ModEmitter::gather(Value base, Value offsets, DType dtype, Type element) {
  const bool hasGather = config.isa == Isa::Avx512 || config.isa == Isa::Avx512Bf16;
  if (hasGather && (dtype == DType::F32 || dtype == DType::I32)) {
    auto lanesOf = [&](Type type) { return VectorType::get({k.lanes}, type); };
    Value pointers = k.create<LLVM::GEPOp>(lanesOf(k.ptr), element, base, ArrayRef<LLVM::GEPArg>{offsets});
    Value everyLane = k.create<arith::ConstantOp>(DenseElementsAttr::get(k.vi1, true));
    Value zero = element.isF32() ? k.splatF32(0) : k.splatI32(0);
    return k.create<LLVM::masked_gather>(lanesOf(element), pointers, everyLane, ValueRange{zero},
                                         k.ops().getI32IntegerAttr(4));
  }
  // Lane by lane through a small buffer: offsets in its first half, words in the second.
  Value words = k.offset(gatherBuffer, k.lanes * 4);
  k.storeLanes(offsets, gatherBuffer);
  k.loop(0, k.lanes, 1, [&](Value lane) {
    Value at = k.mul(lane, 4);
    Value offset = k.toI64(k.load(k.i32, k.offset(gatherBuffer, at), 0, 4));
    Value from = k.offset(base, k.mul(offset, dtypeBytes(dtype)));
    k.store(asStoredScalar(loadElement(from, dtype, element.isF32())), k.offset(words, at), 0, 4);
  });
  return restored(k.loadLanes(element.isF32() ? k.vf32 : k.vi32, words), element);
}

} // namespace attnc::cpu

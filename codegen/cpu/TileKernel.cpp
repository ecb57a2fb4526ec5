#include "codegen/cpu/TileKernel.h"

#include <cstddef>

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace attnc::cpu {

static Products productsFor(const KernelConfig &config) {
  switch (config.dtype) {
  case DType::F32:
    return Products::Single;
  case DType::F16:
    return Products::SingleStaged;
  default:
    return config.isa == Isa::Avx512Bf16 ? Products::Pairs : Products::PairsStaged;
  }
}

TileKernel::TileKernel(const KernelConfig &config, const Schedule &schedule, StagedOp staged, ModuleOp module)
    : config(config), schedule(schedule), staged(staged), module(module), k(module.getContext(), schedule.lanes),
      mods(k, config, staged), products(productsFor(config)), layout(layOut()) {}

ScratchLayout TileKernel::layOut() const {
  ScratchLayout at = {};
  int64_t next = 0;
  auto take = [&](int64_t bytes) {
    int64_t start = next;
    next += (bytes + 63) / 64 * 64;
    return start;
  };
  const int64_t blockM = schedule.blockM, row = blockM * 4;
  const bool stagesKeys =
      (products != Products::Single && products != Products::Pairs) || (isPaired() && config.headDim % 2);
  const int64_t state = 2 * row + config.valueDim * row;
  at.query = take((isPaired() ? pairWords(config.headDim) : config.headDim) * row);
  at.scores = take(kBlockN * row);
  at.probabilities = isPaired() ? take(kBlockN / 2 * row) : at.scores;
  at.keys = take(stagesKeys ? int64_t(kBlockN) * config.headDim * 4 + 64 : 0);
  at.values = take(products == Products::Single ? 0 : int64_t(kBlockN) * config.valueDim * 4 + 64);
  at.alpha = take(row);
  at.partial = take(state);
  at.carry = take(state);
  at.headValues = take(mods.headValueCount() * 4);
  at.rowIndices = take(row);
  at.rowValues = take(mods.rowValueCount() * row);
  at.columnValues = take(mods.columnValueCount() * kBlockN * 4);
  at.gather = take(2 * schedule.lanes * 4);
  at.total = next;
  return at;
}

ScheduleInfo TileKernel::emit() {
  emitBegin();
  emitSplit();
  emitMerge();
  emitFinish();
  ScheduleInfo info;
  info.suffix = schedule.suffix;
  info.blockM = schedule.blockM;
  info.scratchBytes = layout.total;
  info.partialOffset = layout.partial;
  info.partialFloats = 2 * schedule.blockM + int64_t(config.valueDim) * schedule.blockM;
  describe(info);
  return info;
}

// The same figures inside of the object, for whoever links it without the sidecar.
void TileKernel::describe(const ScheduleInfo &info) {
  const int64_t figures[] = {info.blockM, info.scratchBytes, info.partialOffset, info.partialFloats};
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), std::size(figures));
  LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/true, LLVM::Linkage::External,
                         ("attnc_info" + llvm::StringRef(schedule.suffix)).str(), builder.getI64TensorAttr(figures));
}

//===----------------------------------------------------------------------===//
// Access to the call and the task
//===----------------------------------------------------------------------===//

void TileKernel::openFunction(StringRef name, int pointers) {
  func::FuncOp function = k.startFunction(module, (name + schedule.suffix).str(), pointers);
  args = function.getArgument(0);
  task = function.getArgument(1);
  scratch = taskField(offsetof(KernelTask, scratch), k.ptr);
  mods.enterFunction(args, inScratch(layout.gather), taskField(offsetof(KernelTask, batchIndex), k.i64),
                     taskField(offsetof(KernelTask, headIndex), k.i64));
}

Value TileKernel::argument(int64_t byteOffset, Type type) { return k.load(type, args, byteOffset); }
Value TileKernel::taskField(int64_t byteOffset, Type type) { return k.load(type, task, byteOffset); }

Value TileKernel::headBase(int64_t pointerOffset, int64_t stridesOffset, Value head, int64_t elementSize) {
  Value batch = taskField(offsetof(KernelTask, batchIndex), k.i64);
  Value elements = k.add(k.mul(batch, argument(stridesOffset, k.i64)), k.mul(head, argument(stridesOffset + 8, k.i64)));
  return k.offset(argument(pointerOffset, k.ptr), k.mul(elements, elementSize));
}

// Query heads share key-value heads in groups of heads / kvHeads.
Value TileKernel::keyValueHead() {
  Value heads = argument(offsetof(KernelArgs, heads), k.i64);
  Value kvHeads = argument(offsetof(KernelArgs, kvHeads), k.i64);
  Value group = k.create<arith::DivSIOp>(heads, kvHeads);
  return k.create<arith::DivSIOp>(taskField(offsetof(KernelTask, headIndex), k.i64), group);
}

//===----------------------------------------------------------------------===//
// Split
//===----------------------------------------------------------------------===//

void TileKernel::emitSplit() {
  openFunction("attnc_split", 2);
  mods.loadHeadValues(inScratch(layout.headValues));

  // The partial starts empty: m = -inf, l = 0, O = 0.
  Value partial = inScratch(layout.partial);
  k.loop(0, schedule.blockM, k.lanes, [&](Value lane) {
    Value at = k.offset(partial, k.mul(lane, 4));
    k.storeLanes(k.splatF32(-std::numeric_limits<float>::infinity()), at);
    k.storeLanes(k.splatF32(0), at, rowBytes());
  });
  k.loop(0, int64_t(config.valueDim) * schedule.blockM, k.lanes,
         [&](Value lane) { k.storeLanes(k.splatF32(0), k.offset(partial, k.mul(lane, 4)), 2 * rowBytes()); });

  Value runs = taskField(offsetof(KernelTask, runs), k.ptr);
  Value runCount = taskField(offsetof(KernelTask, runCount), k.i64);
  k.loop(k.constI64(0), runCount, 1, [&](Value index) {
    Value run = k.offset(runs, k.mul(index, sizeof(TileRun)));
    Value first = k.toI64(k.load(k.i32, run, offsetof(TileRun, first)));
    Value count = k.toI64(k.load(k.i32, run, offsetof(TileRun, count)));
    Value isPartial = k.cmpi(arith::CmpIPredicate::ne, k.load(k.i64, run, offsetof(TileRun, isPartial)), k.constI64(0));
    k.loop(first, k.add(first, count), 1, [&](Value tile) { emitTile(tile, isPartial); });
  });
  k.finishFunction();
}

void TileKernel::emitTile(Value tile, Value isPartial) {
  Value firstKey = k.mul(tile, kBlockN);
  Value kvLength = argument(offsetof(KernelArgs, kvLength), k.i64);
  Value keyCount = k.min(k.constI64(kBlockN), k.sub(kvLength, firstKey));

  Tile keys = keyTile(firstKey, keyCount);
  emitScores(keys.base, keys.strideBytes, keyCount);
  evaluateColumns(firstKey);
  k.ifElse(
      isPartial, [&] { emitScorePass(firstKey, /*isPartial=*/true); },
      [&] { emitScorePass(firstKey, /*isPartial=*/false); });
  emitExponentials();

  // A NaN or infinity in a value must not reach a row that gives the key no weight
  // (0 * NaN is NaN), so tiles that hold one take a loop that skips zero weights.
  Tile values = valueTile(firstKey, keyCount);
  k.ifElse(
      hasNonFinite(values, keyCount), [&] { emitGuardedOutput(values.base, values.strideBytes, keyCount); },
      [&] { emitOutput(values.base, values.strideBytes, keyCount); });
}

// Per-column values of this tile, 64 of each; here lanes are keys.
void TileKernel::evaluateColumns(Value firstKey) {
  if (mods.columnValueCount() == 0)
    return;
  k.loop(0, kBlockN, k.lanes, [&](Value lane) {
    Value first = k.broadcast(k.toI32(k.add(firstKey, lane)));
    Value keys = k.create<arith::AddIOp>(first, k.laneIndices());
    SmallVector<Value> values = mods.emitColumns(keys);
    for (auto [index, value] : llvm::enumerate(values)) {
      Value at = k.offset(inScratch(layout.columnValues), k.mul(lane, 4));
      k.storeLanes(mods.asStored(value), at, index * kBlockN * 4);
    }
  });
}

} // namespace attnc::cpu

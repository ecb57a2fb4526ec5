// The start of a task: the query block transposed into scratch, the per-(b,h) and per-row
// values of the variant, and an empty carry. Lanes past the last row repeat it.
#include "codegen/cpu/TileKernel.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace attnc::cpu {

void TileKernel::emitBegin() {
  openFunction("attnc_begin", 2);
  Value rowCount = taskField(offsetof(KernelTask, rowCount), k.i64);
  packQueries(rowCount);
  evaluateStages(rowCount);
  Value carry = inScratch(layout.carry);
  k.loop(0, schedule.blockM, k.lanes, [&](Value lane) {
    Value at = k.offset(carry, k.mul(lane, 4));
    k.storeLanes(k.splatF32(-std::numeric_limits<float>::infinity()), at);
    k.storeLanes(k.splatF32(0), at, rowBytes());
  });
  k.loop(0, int64_t(config.valueDim) * schedule.blockM, k.lanes,
         [&](Value lane) { k.storeLanes(k.splatF32(0), k.offset(carry, k.mul(lane, 4)), 2 * rowBytes()); });
  k.finishFunction();
}

void TileKernel::packQueries(Value rowCount) {
  Value head = taskField(offsetof(KernelTask, headIndex), k.i64);
  Value firstRow = taskField(offsetof(KernelTask, firstRow), k.i64);
  Value lastRow = k.sub(rowCount, k.constI64(1));
  Value base = headBase(offsetof(KernelArgs, query), offsetof(KernelArgs, queryStrides), head, elementSize());
  Value stride = k.mul(argument(offsetof(KernelArgs, queryStrides) + 16, k.i64), elementSize());
  // A packed column is one element, or in pair mode a word of two.
  const int words = isPaired() ? config.headDim / 2 : config.headDim;
  const int whole = words / k.lanes * k.lanes, wordSize = isPaired() ? 4 : elementSize();
  Value scale = isBf16() ? Value() : mods.scoreScale();
  auto scaled = [&](Value element) {
    return scale ? k.mulf(element, isa<VectorType>(element.getType()) ? k.broadcast(scale) : scale) : element;
  };

  k.loop(0, schedule.blockM, k.lanes, [&](Value query) {
    SmallVector<Value> row;
    for (int lane = 0; lane < k.lanes; ++lane) {
      Value index = k.add(firstRow, k.min(k.add(query, lane), lastRow));
      row.push_back(k.offset(base, k.mul(index, stride)));
    }
    Value packed = k.offset(inScratch(layout.query), k.mul(query, 4));
    k.loop(0, whole, k.lanes, [&](Value word) {
      SmallVector<Value> tile;
      for (int lane = 0; lane < k.lanes; ++lane) {
        Value at = k.offset(row[lane], k.mul(word, wordSize));
        tile.push_back(isPaired() ? k.load(k.vi32, at, 0, 1) : scaled(loadWidened(at, /*lanes=*/true)));
      }
      k.transpose(tile);
      Value to = k.offset(packed, k.mul(word, rowBytes()));
      for (int i = 0; i < k.lanes; ++i)
        k.storeLanes(tile[i], to, i * rowBytes());
    });
    k.loop(whole, words, 1, [&](Value word) {
      Value to = k.offset(packed, k.mul(word, rowBytes()));
      for (int lane = 0; lane < k.lanes; ++lane) {
        Value at = k.offset(row[lane], k.mul(word, wordSize));
        Value element = isPaired() ? k.load(k.i32, at, 0, 1) : scaled(loadWidened(at, /*lanes=*/false));
        k.store(element, to, lane * 4);
      }
    });
    if (isPaired() && config.headDim % 2) {
      Value to = k.offset(packed, words * rowBytes());
      for (int lane = 0; lane < k.lanes; ++lane) {
        Value last = k.load(k.i16, k.offset(row[lane], words * 4), 0, 1);
        k.store(k.create<arith::ExtUIOp>(k.i32, last), to, lane * 4);
      }
    }
  });
}

void TileKernel::evaluateStages(Value rowCount) {
  SmallVector<Value> headValues = mods.emitHead();
  for (auto [index, value] : llvm::enumerate(headValues))
    k.store(mods.asStoredScalar(value), inScratch(layout.headValues), index * 4);
  Value firstIndex =
      k.add(argument(offsetof(KernelArgs, queryOffset), k.i64), taskField(offsetof(KernelTask, firstRow), k.i64));
  Value base = k.broadcast(k.toI32(firstIndex));
  Value last = k.broadcast(k.toI32(k.sub(rowCount, k.constI64(1))));
  k.loop(0, schedule.blockM, k.lanes, [&](Value lane) {
    Value lanes = k.create<arith::AddIOp>(k.broadcast(k.toI32(lane)), k.laneIndices());
    Value indices = k.create<arith::AddIOp>(base, k.create<arith::MinSIOp>(lanes, last));
    Value at = k.mul(lane, 4);
    k.storeLanes(indices, k.offset(inScratch(layout.rowIndices), at));
    SmallVector<Value> values = mods.emitRows(indices);
    for (auto [index, value] : llvm::enumerate(values))
      k.storeLanes(mods.asStored(value), k.offset(inScratch(layout.rowValues), at), index * rowBytes());
  });
}

} // namespace attnc::cpu

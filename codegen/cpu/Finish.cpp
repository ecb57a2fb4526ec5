// The merge of partial results and the last step: from (m, l, O) to output rows.
//
//   merge((m1, l1, O1), (m2, l2, O2)): m = max(m1, m2), a_i = 2^(m_i - m),
//                                      l = l1 a1 + l2 a2, O = O1 a1 + O2 a2
// With an empty first partial (m1 = -inf) the result is the second, bit for bit.
#include "codegen/cpu/Math.h"
#include "codegen/cpu/TileKernel.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace attnc::cpu {

static constexpr float kInf = std::numeric_limits<float>::infinity();
static constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147181f;

void TileKernel::emitMerge() {
  openFunction("attnc_merge", 3);
  Value partial = k.ops().getInsertionBlock()->getArgument(2);
  mergeInto(inScratch(layout.carry), partial);
  k.finishFunction();
}

void TileKernel::mergeInto(Value carry, Value partial) {
  k.loop(0, schedule.blockM, k.lanes, [&](Value query) {
    Value lane = k.mul(query, 4);
    Value into = k.offset(carry, lane), from = k.offset(partial, lane);
    auto load = [&](Value at, int64_t bytes) { return k.load(k.vf32, at, bytes, 4); };
    Value m1 = load(into, 0), m2 = load(from, 0);
    Value m = k.maxKeepingSecond(m1, m2);
    Value reference = referenceMax(m);
    Value a1 = emitSoftmaxExp2(k, k.subf(m1, reference), 5);
    Value a2 = emitSoftmaxExp2(k, k.subf(m2, reference), 5);
    auto combine = [&](int64_t bytes, Value rowOffset) {
      Value to = rowOffset ? k.offset(into, rowOffset) : into;
      Value of = rowOffset ? k.offset(from, rowOffset) : from;
      k.storeLanes(k.fma(load(of, bytes), a2, k.mulf(load(to, bytes), a1)), to, bytes);
    };
    k.storeLanes(m, into);
    combine(rowBytes(), {});
    k.loop(0, config.valueDim, 1, [&](Value column) { combine(2 * rowBytes(), k.mul(column, rowBytes())); });
  });
}

void TileKernel::emitFinish() {
  openFunction("attnc_finish", 2);
  mods.loadHeadValues(inScratch(layout.headValues));
  Value rowCount = taskField(offsetof(KernelTask, rowCount), k.i64);
  Value carry = inScratch(layout.carry);
  Value sink; // in units of log2
  if (mods.hasSink())
    sink = k.broadcast(k.mulf(mods.emitSink(), k.constF32(kLog2E)));

  k.loop(0, schedule.blockM, k.lanes, [&](Value query) {
    Value state = k.offset(carry, k.mul(query, 4));
    Value m = k.loadLanes(k.vf32, state), l = k.loadLanes(k.vf32, state, rowBytes());
    Value weight; // of the keys against the sink
    if (sink) {
      Value old = m;
      m = k.maxKeepingSecond(old, sink);
      Value reference = referenceMax(m);
      weight = emitSoftmaxExp2(k, k.subf(old, reference), 5);
      l = k.addf(k.mulf(l, weight), emitSoftmaxExp2(k, k.subf(sink, reference), 5));
    }
    Value isEmpty = k.cmpf(arith::CmpFPredicate::OEQ, l, k.splatF32(0));
    Value inverse = k.select(isEmpty, k.splatF32(0), k.divf(k.splatF32(1), l));
    Value lse = k.mulf(k.addf(m, emitLog2(k, l)), k.splatF32(kLn2));
    lse = k.select(isEmpty, k.splatF32(-kInf), lse);
    k.storeLanes(lse, k.offset(inScratch(layout.alpha), k.mul(query, 4)));
    k.loop(0, config.valueDim, 1, [&](Value column) {
      Value at = k.offset(state, k.mul(column, rowBytes()));
      Value o = k.loadLanes(k.vf32, at, 2 * rowBytes());
      if (weight)
        o = k.mulf(o, weight);
      // Adding +0 turns -0 into +0: a skipped tile may differ in nothing else.
      k.storeLanes(k.addf(k.mulf(o, inverse), k.splatF32(0)), at, 2 * rowBytes());
    });
  });
  storeRows(rowCount, carry);
  k.finishFunction();
}

// Lanes past the last row repeat it (Begin.cpp), so writing them writes equal bits again.
void TileKernel::storeRows(Value rowCount, Value carry) {
  Value head = taskField(offsetof(KernelTask, headIndex), k.i64);
  Value firstRow = taskField(offsetof(KernelTask, firstRow), k.i64);
  Value lastRow = k.sub(rowCount, k.constI64(1));
  Value base = headBase(offsetof(KernelArgs, output), offsetof(KernelArgs, outputStrides), head, elementSize());
  Value stride = k.mul(argument(offsetof(KernelArgs, outputStrides) + 16, k.i64), elementSize());
  const int whole = config.valueDim / k.lanes * k.lanes;

  k.loop(k.constI64(0), rowCount, k.lanes, [&](Value query) {
    SmallVector<Value> row;
    for (int lane = 0; lane < k.lanes; ++lane) {
      Value index = k.add(firstRow, k.min(k.add(query, lane), lastRow));
      row.push_back(k.offset(base, k.mul(index, stride)));
    }
    Value state = k.offset(k.offset(carry, k.mul(query, 4)), 2 * rowBytes());
    k.loop(0, whole, k.lanes, [&](Value column) {
      Value at = k.offset(state, k.mul(column, rowBytes()));
      SmallVector<Value> tile;
      for (int i = 0; i < k.lanes; ++i)
        tile.push_back(k.loadLanes(k.vf32, at, i * rowBytes()));
      k.transpose(tile);
      for (int lane = 0; lane < k.lanes; ++lane)
        k.store(narrowed(tile[lane]), k.offset(row[lane], k.mul(column, elementSize())), 0, elementSize());
    });
    k.loop(whole, config.valueDim, 1, [&](Value column) {
      Value at = k.offset(state, k.mul(column, rowBytes()));
      for (int lane = 0; lane < k.lanes; ++lane)
        k.store(narrowed(k.load(k.f32, at, lane * 4)), k.offset(row[lane], k.mul(column, elementSize())), 0,
                elementSize());
    });
  });

  Value lse = argument(offsetof(KernelArgs, lse), k.ptr);
  Value isWanted = k.cmpi(arith::CmpIPredicate::ne, k.create<LLVM::PtrToIntOp>(k.i64, lse), k.constI64(0));
  k.ifElse(
      isWanted,
      [&] {
        Value rows = headBase(offsetof(KernelArgs, lse), offsetof(KernelArgs, lseStrides), head, 4);
        Value step = k.mul(argument(offsetof(KernelArgs, lseStrides) + 16, k.i64), 4);
        k.loop(k.constI64(0), rowCount, 1, [&](Value index) {
          Value value = k.load(k.f32, k.offset(inScratch(layout.alpha), k.mul(index, 4)));
          k.store(value, k.offset(rows, k.mul(k.add(firstRow, index), step)), 0, 4);
        });
      },
      nullptr);
}

} // namespace attnc::cpu

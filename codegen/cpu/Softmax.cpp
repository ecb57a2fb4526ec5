// Between the two products: score_mod and mask on the tile, the running row maximum, the
// exponentials and the row sum. Scores are kept in units of log2, so that exp is exp2.
#include "codegen/cpu/Math.h"
#include "codegen/cpu/TileKernel.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace attnc::cpu {

static constexpr float kInf = std::numeric_limits<float>::infinity();
static constexpr float kLog2E = 1.44269504f;

Value TileKernel::referenceMax(Value rowMax) {
  Value unseen = k.cmpf(arith::CmpFPredicate::OEQ, rowMax, k.splatF32(-kInf));
  return k.select(unseen, k.splatF32(0), rowMax);
}

// Applies the variant to S and leaves the new row maximum in `alpha`, where
// emitExponentials picks it up. A full tile needs the score only.
void TileKernel::emitScorePass(Value firstKey, bool isPartial) {
  const int vectors = schedule.vectors, span = vectors * k.lanes;
  const bool modifies = mods.modifiesScore();
  Value kvLength = argument(offsetof(KernelArgs, kvLength), k.i64);
  Value keyCount = isPartial ? k.min(k.constI64(kBlockN), k.sub(kvLength, firstKey)) : k.constI64(kBlockN);
  k.loop(0, schedule.blockM, span, [&](Value query) {
    Value lane = k.mul(query, 4);
    Value scores = k.offset(inScratch(layout.scores), lane);
    Value maxima = k.offset(inScratch(layout.partial), lane);
    SmallVector<Value> rowMax, indices;
    SmallVector<SmallVector<Value>> rowValues;
    for (int v = 0; v < vectors; ++v) {
      const int64_t at = v * k.lanes * 4;
      rowMax.push_back(k.loadLanes(k.vf32, maxima, at));
      indices.push_back(k.loadLanes(k.vi32, k.offset(inScratch(layout.rowIndices), lane), at));
      rowValues.push_back(mods.loadRowValues(k.offset(inScratch(layout.rowValues), lane), at, rowBytes()));
    }
    rowMax = k.loop(k.constI64(0), keyCount, 1, rowMax, [&](Value row, ValueRange carried) {
      Value at = k.offset(scores, k.mul(row, rowBytes()));
      Value key = k.toI32(k.add(firstKey, row));
      SmallVector<Value> columnValues =
          mods.loadColumnValues(k.offset(inScratch(layout.columnValues), k.mul(row, 4)), kBlockN * 4);
      SmallVector<Value> next;
      for (int v = 0; v < vectors; ++v) {
        Value score = k.loadLanes(k.vf32, at, v * k.lanes * 4);
        if (modifies || (isPartial && mods.masks())) {
          ModEmitter::Element element{score, indices[v], key, rowValues[v], columnValues};
          auto [modified, keep] = mods.emitElement(element, /*wantsMask=*/isPartial);
          if (modifies)
            score = k.mulf(k.broadcast(modified), k.splatF32(kLog2E));
          if (keep)
            score = k.select(k.broadcast(keep), score, k.splatF32(-kInf));
          k.storeLanes(score, at, v * k.lanes * 4);
        }
        next.push_back(k.maxKeepingSecond(score, carried[v]));
      }
      return next;
    });
    if (isPartial)
      k.loop(keyCount, k.constI64(kBlockN), 1, [&](Value row) {
        for (int v = 0; v < vectors; ++v)
          k.storeLanes(k.splatF32(-kInf), k.offset(scores, k.mul(row, rowBytes())), v * k.lanes * 4);
      });
    Value newMax = k.offset(inScratch(layout.alpha), lane);
    for (int v = 0; v < vectors; ++v)
      k.storeLanes(rowMax[v], newMax, v * k.lanes * 4);
  });
}

void TileKernel::emitExponentials() {
  constexpr int unroll = 4; // the row sum is four chains, by key modulo four
  k.loop(0, schedule.blockM, k.lanes, [&](Value query) {
    Value lane = k.mul(query, 4);
    Value maxima = k.offset(inScratch(layout.partial), lane);
    Value alphas = k.offset(inScratch(layout.alpha), lane);
    Value scores = k.offset(inScratch(layout.scores), lane);
    Value weights = k.offset(inScratch(layout.probabilities), lane);
    Value newMax = k.loadLanes(k.vf32, alphas);
    Value reference = referenceMax(newMax);
    Value alpha = emitSoftmaxExp2(k, k.subf(k.loadLanes(k.vf32, maxima), reference), 5);
    k.storeLanes(newMax, maxima);
    k.storeLanes(alpha, alphas);
    SmallVector<Value> sums(unroll, k.splatF32(0));
    sums[0] = k.mulf(k.loadLanes(k.vf32, maxima, rowBytes()), alpha);
    sums = k.loop(k.constI64(0), k.constI64(kBlockN), unroll, sums, [&](Value row, ValueRange carried) {
      Value at = k.offset(scores, k.mul(row, rowBytes()));
      SmallVector<Value> p, next;
      for (int u = 0; u < unroll; ++u) {
        Value score = k.loadLanes(k.vf32, at, u * rowBytes());
        p.push_back(emitSoftmaxExp2(k, k.subf(score, reference), isBf16() ? 3 : 5));
        next.push_back(k.addf(carried[u], p[u]));
      }
      if (isPaired()) {
        Value to = k.offset(weights, k.mul(row, rowBytes() / 2));
        for (int pair = 0; pair < unroll / 2; ++pair)
          k.storeLanes(pairOf(p[2 * pair], p[2 * pair + 1]), to, pair * rowBytes());
      } else {
        for (int u = 0; u < unroll; ++u)
          k.storeLanes(isBf16() ? roundedToBf16(p[u]) : p[u], at, u * rowBytes());
      }
      return next;
    });
    Value total = k.addf(k.addf(sums[0], sums[1]), k.addf(sums[2], sums[3]));
    k.storeLanes(total, maxima, rowBytes());
  });
}

// Words of two bf16, `even` in the low half.
Value TileKernel::pairOf(Value even, Value odd) {
  auto pairs = VectorType::get({2 * k.lanes}, k.bf16);
  auto call = k.create<LLVM::CallIntrinsicOp>(pairs, k.ops().getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512"),
                                              ValueRange{odd, even});
  SmallVector<int64_t> order;
  for (int lane = 0; lane < k.lanes; ++lane)
    order.append({lane, lane + k.lanes});
  Value mixed = k.create<vector::ShuffleOp>(call.getResult(0), call.getResult(0), order);
  return k.create<LLVM::BitcastOp>(k.vi32, mixed);
}

// Nearest even, for finite x.
Value TileKernel::roundedToBf16(Value x) {
  Value bits = k.bitcast(x, k.i32);
  Value odd =
      k.create<arith::AndIOp>(k.create<arith::ShRUIOp>(bits, k.intLike(bits, 16)).getResult(), k.intLike(bits, 1));
  Value bias = k.create<arith::AddIOp>(odd, k.intLike(bits, 0x7FFF));
  Value sum = k.create<arith::AddIOp>(bits, bias);
  return k.bitcast(k.create<arith::AndIOp>(sum, k.intLike(bits, int32_t(0xFFFF0000))), k.f32);
}

} // namespace attnc::cpu

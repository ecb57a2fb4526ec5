// The two matrix products of a tile, as register tiles of rows x vectors accumulators.
// Every accumulator is one chain of fused multiply-adds in ascending order (pairs: odd
// element first, as the hardware's dot product does), so tile shapes never show in the bits.
#include "codegen/cpu/TileKernel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace attnc::cpu {

// acc + a.even * b.even after acc + a.odd * b.odd, on words of two bf16.
Value TileKernel::multiplyPair(Value accumulator, Value a, Value b) {
  auto pairs = VectorType::get({2 * k.lanes}, k.bf16);
  auto asPairs = [&](Value words) { return k.create<LLVM::BitcastOp>(pairs, words); };
  auto call = k.create<LLVM::CallIntrinsicOp>(k.vf32, k.ops().getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
                                              ValueRange{accumulator, asPairs(a), asPairs(b)});
  return call.getResult(0);
}

//===----------------------------------------------------------------------===//
// S = K Q^T
//===----------------------------------------------------------------------===//

void TileKernel::emitScores(Value keys, Value strideBytes, Value keyCount) {
  const int rows = schedule.rows, whole = kBlockN / rows * rows;
  k.loop(0, whole, rows, [&](Value first) { scoreBlock(first, rows, keys, strideBytes, keyCount); });
  if (whole < kBlockN)
    scoreBlock(k.constI64(whole), kBlockN - whole, keys, strideBytes, keyCount);
}

void TileKernel::scoreBlock(Value firstKey, int rows, Value keys, Value strideBytes, Value keyCount) {
  const int vectors = schedule.vectors, span = vectors * k.lanes;
  const int words = isPaired() ? pairWords(config.headDim) : config.headDim;
  // Keys past the end read the last one: memory stays in bounds, the mask drops them.
  Value lastKey = k.sub(keyCount, k.constI64(1));
  SmallVector<Value> row;
  for (int r = 0; r < rows; ++r)
    row.push_back(k.offset(keys, k.mul(k.min(k.add(firstKey, r), lastKey), strideBytes)));
  Value scale; // bf16 queries are packed as they are and scaled here
  if (isBf16())
    scale = k.broadcast(mods.scoreScale());

  k.loop(0, schedule.blockM, span, [&](Value query) {
    Value packed = k.offset(inScratch(layout.query), k.mul(query, 4));
    SmallVector<Value> sums(rows * vectors, k.splatF32(0));
    auto step = [&](Value word, int ahead) {
      Value at = k.offset(packed, k.mul(k.add(word, ahead), rowBytes()));
      SmallVector<Value> b;
      for (int v = 0; v < vectors; ++v)
        b.push_back(k.loadLanes(isPaired() ? k.vi32 : k.vf32, at, v * k.lanes * 4));
      for (int r = 0; r < rows; ++r) {
        Value element = k.load(isPaired() ? k.i32 : k.f32, k.offset(row[r], k.mul(k.add(word, ahead), 4)), 0, 1);
        Value a = k.broadcast(element);
        for (int v = 0; v < vectors; ++v) {
          Value &sum = sums[r * vectors + v];
          sum = isPaired() ? multiplyPair(sum, a, b[v]) : k.fma(a, b[v], sum);
        }
      }
    };
    auto walk = [&](int from, int to, ArrayRef<int> order) {
      if (from >= to)
        return;
      sums = k.loop(k.constI64(from), k.constI64(to), order.size(), sums, [&](Value word, ValueRange carried) {
        sums.assign(carried.begin(), carried.end());
        for (int ahead : order)
          step(word, ahead);
        return sums;
      });
    };
    if (products == Products::PairsStaged) {
      walk(0, words / 2 * 2, {1, 0});
      walk(words / 2 * 2, words, {0});
    } else {
      walk(0, words / 2 * 2, {0, 1});
      walk(words / 2 * 2, words, {0});
    }
    Value out = k.offset(k.offset(inScratch(layout.scores), k.mul(firstKey, rowBytes())), k.mul(query, 4));
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < vectors; ++v) {
        Value sum = sums[r * vectors + v];
        k.storeLanes(scale ? k.mulf(sum, scale) : sum, out, r * rowBytes() + v * k.lanes * 4);
      }
  });
}

//===----------------------------------------------------------------------===//
// O = O alpha + V^T P
//===----------------------------------------------------------------------===//

void TileKernel::emitOutput(Value values, Value strideBytes, Value keyCount) {
  const int rows = schedule.rows, whole = config.valueDim / rows * rows;
  k.loop(0, whole, rows, [&](Value column) { outputBlock(column, rows, values, strideBytes, keyCount); });
  if (whole < config.valueDim)
    outputBlock(k.constI64(whole), config.valueDim - whole, values, strideBytes, keyCount);
}

void TileKernel::outputBlock(Value column, int rows, Value values, Value strideBytes, Value keyCount) {
  const int vectors = schedule.vectors, span = vectors * k.lanes;
  Value columns = k.offset(values, k.mul(column, 4));
  // In pair mode a step is two keys; the staged pair form walks keys two at a time.
  Value steps = keyCount;
  if (isBf16())
    steps = k.create<arith::ShRSIOp>(k.add(keyCount, 1), k.constI64(1));
  if (products == Products::PairsStaged)
    steps = k.mul(steps, 2);
  SmallVector<int> order = products == Products::PairsStaged ? SmallVector<int>{1, 0} : SmallVector<int>{0, 1};
  Value whole = k.create<arith::AndIOp>(steps, k.constI64(~int64_t(1)));

  k.loop(0, schedule.blockM, span, [&](Value query) {
    Value weights = k.offset(inScratch(layout.probabilities), k.mul(query, 4));
    Value alpha = k.offset(inScratch(layout.alpha), k.mul(query, 4));
    Value out = k.offset(inScratch(layout.partial), k.mul(query, 4));
    out = k.offset(k.offset(out, 2 * rowBytes()), k.mul(column, rowBytes()));
    SmallVector<Value> sums;
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < vectors; ++v)
        sums.push_back(k.mulf(k.loadLanes(k.vf32, out, r * rowBytes() + v * k.lanes * 4),
                              k.loadLanes(k.vf32, alpha, v * k.lanes * 4)));
    auto step = [&](Value index) {
      Value at = k.offset(weights, k.mul(index, rowBytes()));
      Value from = k.offset(columns, k.mul(index, strideBytes));
      SmallVector<Value> b;
      for (int v = 0; v < vectors; ++v)
        b.push_back(k.loadLanes(isPaired() ? k.vi32 : k.vf32, at, v * k.lanes * 4));
      for (int r = 0; r < rows; ++r) {
        Value a = k.broadcast(k.load(isPaired() ? k.i32 : k.f32, from, r * 4, 1));
        for (int v = 0; v < vectors; ++v) {
          Value &sum = sums[r * vectors + v];
          sum = isPaired() ? multiplyPair(sum, a, b[v]) : k.fma(a, b[v], sum);
        }
      }
    };
    auto walk = [&](Value from, Value to, ArrayRef<int> order) {
      sums = k.loop(from, to, order.size(), sums, [&](Value index, ValueRange carried) {
        sums.assign(carried.begin(), carried.end());
        for (int ahead : order)
          step(k.add(index, ahead));
        return sums;
      });
    };
    walk(k.constI64(0), whole, order);
    if (products != Products::PairsStaged) // there steps are even
      walk(whole, steps, {0});
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < vectors; ++v)
        k.storeLanes(sums[r * vectors + v], out, r * rowBytes() + v * k.lanes * 4);
  });
}

// The same sums one column and one vector at a time, leaving out keys without weight.
// Slow, and only for tiles whose values hold a NaN or an infinity.
void TileKernel::emitGuardedOutput(Value values, Value strideBytes, Value keyCount) {
  k.loop(0, config.valueDim, 1, [&](Value column) {
    k.loop(0, schedule.blockM, k.lanes, [&](Value query) {
      Value weights = k.offset(inScratch(layout.probabilities), k.mul(query, 4));
      Value alpha = k.loadLanes(k.vf32, k.offset(inScratch(layout.alpha), k.mul(query, 4)));
      Value out = k.offset(inScratch(layout.partial), k.mul(query, 4));
      out = k.offset(k.offset(out, 2 * rowBytes()), k.mul(column, rowBytes()));
      Value columns = k.offset(values, k.mul(column, 4));
      auto guarded = [&](Value sum, Value value, Value weight) {
        Value counts = k.cmpf(arith::CmpFPredicate::UNE, weight, k.splatF32(0));
        return k.select(counts, k.fma(k.broadcast(value), weight, sum), sum);
      };
      auto element = [&](Value row, Type type) {
        return k.load(type, k.offset(columns, k.mul(row, strideBytes)), 0, 1);
      };
      auto weight = [&](Value row, Type type) { return k.loadLanes(type, k.offset(weights, k.mul(row, rowBytes()))); };
      Value steps = keyCount;
      if (isBf16())
        steps = k.create<arith::ShRSIOp>(k.add(keyCount, 1), k.constI64(1));
      Value start = k.mulf(k.loadLanes(k.vf32, out), alpha);
      Value sum = k.loop(k.constI64(0), steps, 1, ValueRange{start}, [&](Value index, ValueRange carried) {
        Value sum = carried[0];
        if (isPaired()) {
          Value words = weight(index, k.vi32), word = element(index, k.i32);
          auto high = [&](Value bits) {
            return k.bitcast(k.create<arith::AndIOp>(bits, k.intLike(bits, int32_t(0xFFFF0000))), k.f32);
          };
          auto low = [&](Value bits) { return k.bitcast(k.create<arith::ShLIOp>(bits, k.intLike(bits, 16)), k.f32); };
          sum = guarded(sum, high(word), high(words));
          sum = guarded(sum, low(word), low(words));
        } else if (products == Products::PairsStaged) {
          for (int odd : {1, 0}) {
            Value row = k.add(k.mul(index, 2), odd);
            sum = guarded(sum, element(row, k.f32), weight(row, k.vf32));
          }
        } else {
          sum = guarded(sum, element(index, k.f32), weight(index, k.vf32));
        }
        return SmallVector<Value>{sum};
      })[0];
      k.storeLanes(sum, out);
    });
  });
}

} // namespace attnc::cpu

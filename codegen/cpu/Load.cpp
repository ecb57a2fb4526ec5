// Tiles of keys and values as the products want them: in place, widened to f32, or as
// words of two bf16 (keys: two head-dimension elements; values: two keys of one column).
// The only code that knows where keys and values lie; positions never come from addresses.
#include "codegen/cpu/TileKernel.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace attnc::cpu {

TileKernel::Tile TileKernel::keyTile(Value firstKey, Value keyCount) {
  Value stride = k.mul(argument(offsetof(KernelArgs, keyStrides) + 16, k.i64), elementSize());
  Value base = headBase(offsetof(KernelArgs, key), offsetof(KernelArgs, keyStrides), keyValueHead(), elementSize());
  Tile rows = {k.offset(base, k.mul(firstKey, stride)), stride};
  if (products == Products::Single || (isPaired() && config.headDim % 2 == 0))
    return rows;
  Value staged = inScratch(layout.keys);
  if (isPaired()) {
    pairKeys(rows, keyCount, staged);
    return {staged, k.constI64(pairWords(config.headDim) * 4)};
  }
  widenRows(rows, config.headDim, keyCount, staged);
  return {staged, k.constI64(config.headDim * 4)};
}

TileKernel::Tile TileKernel::valueTile(Value firstKey, Value keyCount) {
  Value stride = k.mul(argument(offsetof(KernelArgs, valueStrides) + 16, k.i64), elementSize());
  Value base = headBase(offsetof(KernelArgs, value), offsetof(KernelArgs, valueStrides), keyValueHead(), elementSize());
  Tile rows = {k.offset(base, k.mul(firstKey, stride)), stride};
  if (products == Products::Single)
    return rows;
  Value staged = inScratch(layout.values);
  if (isPaired()) {
    pairValues(rows, keyCount, staged);
  } else {
    widenRows(rows, config.valueDim, keyCount, staged);
    // The pair form walks keys two at a time: a row of zeros completes the last pair.
    if (products == Products::PairsStaged) {
      Value isOdd = k.cmpi(arith::CmpIPredicate::ne, k.create<arith::AndIOp>(keyCount, k.constI64(1)), k.constI64(0));
      k.ifElse(
          isOdd,
          [&] {
            Value row = k.offset(staged, k.mul(keyCount, config.valueDim * 4));
            k.loop(0, config.valueDim, 1,
                   [&](Value column) { k.store(k.constF32(0), k.offset(row, k.mul(column, 4))); });
          },
          nullptr);
    }
  }
  return {staged, k.constI64(config.valueDim * 4)};
}

void TileKernel::widenRows(Tile from, int64_t columns, Value rowCount, Value to) {
  const int64_t whole = columns / k.lanes * k.lanes;
  k.loop(k.constI64(0), rowCount, 1, [&](Value row) {
    Value source = k.offset(from.base, k.mul(row, from.strideBytes));
    Value target = k.offset(to, k.mul(row, columns * 4));
    auto copy = [&](Value column, bool lanes) {
      Value value = loadWidened(k.offset(source, k.mul(column, elementSize())), lanes);
      k.store(value, k.offset(target, k.mul(column, 4)), 0, 4);
    };
    k.loop(0, whole, k.lanes, [&](Value column) { copy(column, true); });
    k.loop(whole, columns, 1, [&](Value column) { copy(column, false); });
  });
}

// Rows of odd length, each padded with a zero to whole words.
void TileKernel::pairKeys(Tile from, Value rowCount, Value to) {
  const int words = config.headDim / 2;
  k.loop(k.constI64(0), rowCount, 1, [&](Value row) {
    Value source = k.offset(from.base, k.mul(row, from.strideBytes));
    Value target = k.offset(to, k.mul(row, pairWords(config.headDim) * 4));
    k.loop(0, words, 1, [&](Value word) {
      Value at = k.mul(word, 4);
      k.store(k.load(k.i32, k.offset(source, at), 0, 1), k.offset(target, at), 0, 4);
    });
    Value last = k.load(k.i16, k.offset(source, words * 4), 0, 1);
    k.store(k.create<arith::ExtUIOp>(k.i32, last), k.offset(target, words * 4), 0, 4);
  });
}

// Rows 2i and 2i + 1 interleaved; a missing last row counts as zeros.
void TileKernel::pairValues(Tile from, Value rowCount, Value to) {
  const int columns = config.valueDim, width = 2 * k.lanes, whole = columns / width * width;
  auto halves = VectorType::get({width}, k.i16);
  Value pairs = k.create<arith::ShRSIOp>(rowCount, k.constI64(1));
  auto target = [&](Value pair, Value column) {
    return k.offset(k.offset(to, k.mul(pair, columns * 4)), k.mul(column, 4));
  };
  k.loop(k.constI64(0), pairs, 1, [&](Value pair) {
    Value even = k.offset(from.base, k.mul(k.mul(pair, 2), from.strideBytes));
    Value odd = k.offset(even, from.strideBytes);
    k.loop(0, whole, width, [&](Value column) {
      Value a = k.load(halves, k.offset(even, k.mul(column, 2)), 0, 1);
      Value b = k.load(halves, k.offset(odd, k.mul(column, 2)), 0, 1);
      Value at = target(pair, column);
      k.store(k.interleave(a, b, /*high=*/false), at, 0, 4);
      k.store(k.interleave(a, b, /*high=*/true), at, width * 2, 4);
    });
    k.loop(whole, columns, 1, [&](Value column) {
      auto element = [&](Value row) {
        return k.create<arith::ExtUIOp>(k.i32, k.load(k.i16, k.offset(row, k.mul(column, 2)), 0, 1));
      };
      Value high = k.create<arith::ShLIOp>(element(odd).getResult(), k.constI32(16));
      k.store(k.create<arith::OrIOp>(element(even).getResult(), high), target(pair, column), 0, 4);
    });
  });
  Value isOdd = k.cmpi(arith::CmpIPredicate::ne, k.mul(pairs, 2), rowCount);
  k.ifElse(
      isOdd,
      [&] {
        Value last = k.offset(from.base, k.mul(k.mul(pairs, 2), from.strideBytes));
        k.loop(0, columns, 1, [&](Value column) {
          Value element = k.load(k.i16, k.offset(last, k.mul(column, 2)), 0, 1);
          k.store(k.create<arith::ExtUIOp>(k.i32, element), target(pairs, column), 0, 4);
        });
      },
      nullptr);
}

// Whether a tile of values holds a NaN or an infinity: the largest exponent field is full.
Value TileKernel::hasNonFinite(Tile values, Value keyCount) {
  const int columns = config.valueDim, whole = columns / k.lanes * k.lanes;
  Value rows = keyCount;
  if (isPaired())
    rows = k.create<arith::ShRSIOp>(k.add(keyCount, 1), k.constI64(1));
  // Of a word of two bf16 both halves count.
  auto largest = [&](Value words, Value so_far) {
    auto keep = [&](Value bits) { return k.create<arith::AndIOp>(bits, k.intLike(bits, 0x7FFFFFFF)); };
    Value next = k.create<arith::MaxSIOp>(keep(words), so_far);
    if (isPaired())
      next = k.create<arith::MaxSIOp>(keep(k.create<arith::ShLIOp>(words, k.intLike(words, 16))).getResult(), next);
    return next;
  };
  SmallVector<Value> start = {k.splatI32(0), k.constI32(0)};
  SmallVector<Value> found = k.loop(k.constI64(0), rows, 1, start, [&](Value row, ValueRange carried) {
    Value from = k.offset(values.base, k.mul(row, values.strideBytes));
    Value lanes = carried[0], single = carried[1];
    if (whole > 0)
      lanes = k.loop(k.constI64(0), k.constI64(whole), k.lanes, ValueRange{lanes}, [&](Value column, ValueRange inner) {
        Value words = k.load(k.vi32, k.offset(from, k.mul(column, 4)), 0, 1);
        return SmallVector<Value>{largest(words, inner[0])};
      })[0];
    if (whole < columns)
      single =
          k.loop(k.constI64(whole), k.constI64(columns), 1, ValueRange{single}, [&](Value column, ValueRange inner) {
            Value word = k.load(k.i32, k.offset(from, k.mul(column, 4)), 0, 1);
            return SmallVector<Value>{largest(word, inner[0])};
          })[0];
    return SmallVector<Value>{lanes, single};
  });
  Value widest = k.create<vector::ReductionOp>(vector::CombiningKind::MAXSI, found[0]);
  Value most = k.create<arith::MaxSIOp>(widest, found[1]);
  return k.cmpi(arith::CmpIPredicate::sge, most, k.constI32(0x7F800000));
}

} // namespace attnc::cpu

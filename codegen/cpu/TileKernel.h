// Emits the tile kernel of a staged variant: four functions a schedule (KernelAbi.h).
//
// Orientation: lanes are queries. A tile of scores is S^T, 64 keys by blockM queries, so
// keys and values are read as they lie in memory, broadcast element by element, and no
// reduction ever crosses lanes: each lane is one query's scalar chain, whatever the width.
//
//   begin   Q^T[d][q] <- query rows, transposed (scaled, unless bf16)
//   split   for each tile, upward:
//             S[kv][q]   = sum_d K[kv][d] Q^T[d][q]            emitScores
//             S          = score_mod, mask; row max            emitScorePass
//             P[kv][q]   = exp2(S - m); l; alpha               emitExponentials
//             O[d][q]    = O alpha + sum_kv V[kv][d] P[kv][q]  emitOutput
//   merge   carry <- merge(carry, partial)
//   finish  sink, O / l, log-sum-exp, transposed back to rows
//
// Parts: TileKernel.cpp (split), Begin.cpp, Products.cpp, Softmax.cpp, Finish.cpp, Load.cpp.
#pragma once

#include "codegen/cpu/KernelAbi.h"
#include "codegen/cpu/KernelBuilder.h"
#include "codegen/cpu/KernelConfig.h"
#include "codegen/cpu/ModEmitter.h"

namespace attnc::cpu {

// How the two products are computed; follows from dtype and instruction set.
enum class Products {
  Single,       // f32, read where it lies
  SingleStaged, // f16: tiles of keys and values are widened to f32 first
  Pairs,        // bf16 by the two-element dot product of AVX512-BF16
  PairsStaged,  // bf16 by two fused multiply-adds a pair in the same order: equal bits
};

// Byte offsets of one worker's scratch memory.
struct ScratchLayout {
  int64_t query, scores, probabilities, keys, values, alpha;
  int64_t partial, carry; // m[blockM], l[blockM], O[valueDim][blockM]
  int64_t headValues, rowIndices, rowValues, columnValues, gather;
  int64_t total;
};

class TileKernel {
public:
  TileKernel(const KernelConfig &config, const Schedule &schedule, StagedOp staged, mlir::ModuleOp module);
  ScheduleInfo emit();

private:
  using Value = mlir::Value;

  // Begin.cpp
  void emitBegin();
  void packQueries(Value rowCount);
  void evaluateStages(Value rowCount);

  // TileKernel.cpp
  void emitSplit();
  void emitTile(Value tile, Value isPartial);
  void evaluateColumns(Value firstKey);
  ScratchLayout layOut() const;
  void describe(const ScheduleInfo &info);

  // Products.cpp
  void emitScores(Value keys, Value strideBytes, Value keyCount);
  void scoreBlock(Value firstKey, int rows, Value keys, Value strideBytes, Value keyCount);
  void emitOutput(Value values, Value strideBytes, Value keyCount);
  void outputBlock(Value column, int rows, Value values, Value strideBytes, Value keyCount);
  void emitGuardedOutput(Value values, Value strideBytes, Value keyCount);
  Value multiplyPair(Value accumulator, Value a, Value b);

  // Softmax.cpp
  void emitScorePass(Value firstKey, bool isPartial);
  void emitExponentials();
  Value referenceMax(Value rowMax);    // 0 where no key was seen
  Value pairOf(Value even, Value odd); // words of two bf16
  Value roundedToBf16(Value x);        // nearest even, still f32

  // Load.cpp: tiles of keys and values as the products want them.
  struct Tile {
    Value base, strideBytes;
  };
  Tile keyTile(Value firstKey, Value keyCount);
  Tile valueTile(Value firstKey, Value keyCount);
  void widenRows(Tile from, int64_t columns, Value rowCount, Value to);
  void pairKeys(Tile from, Value rowCount, Value to);
  void pairValues(Tile from, Value rowCount, Value to);
  Value hasNonFinite(Tile values, Value keyCount);
  Value loadWidened(Value pointer, bool lanes); // one element or lanes of dtype, as f32
  Value narrowed(Value f32);                    // f32 to dtype, nearest even

  // Finish.cpp
  void emitMerge();
  void emitFinish();
  void mergeInto(Value carry, Value partial);
  void storeRows(Value rowCount, Value carry);

  // Shared by the functions.
  void openFunction(llvm::StringRef name, int pointers);
  Value argument(int64_t byteOffset, mlir::Type type);
  Value taskField(int64_t byteOffset, mlir::Type type);
  Value inScratch(int64_t byteOffset) { return k.offset(scratch, byteOffset); }
  // Start of one (batch, head) of a tensor, in bytes from its pointer.
  Value headBase(int64_t pointerOffset, int64_t stridesOffset, Value head, int64_t elementSize);
  Value keyValueHead();
  int elementSize() const { return static_cast<int>(dtypeBytes(config.dtype)); }
  bool isPaired() const { return products == Products::Pairs; }
  bool isBf16() const { return config.dtype == DType::BF16; }
  int pairWords(int dim) const { return (dim + 1) / 2; }
  int64_t rowBytes() const { return int64_t(schedule.blockM) * 4; } // of one row of S or O

  const KernelConfig &config;
  Schedule schedule;
  StagedOp staged;
  mlir::ModuleOp module;
  KernelBuilder k;
  ModEmitter mods;
  Products products;
  ScratchLayout layout;

  // Of the function being emitted.
  Value args, task, scratch;
};

// The table of schedules, widest first.
llvm::ArrayRef<Schedule> schedulesFor(Isa isa);

} // namespace attnc::cpu

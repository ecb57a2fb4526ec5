// Emits the stages of a variant (attn.staged) as scalar or lane-wise code. A value stays
// scalar while all it depends on is the same in every lane.
#pragma once

#include "codegen/cpu/KernelBuilder.h"
#include "codegen/cpu/KernelConfig.h"
#include "ir/AttnOps.h"

namespace attnc::cpu {

class ModEmitter {
public:
  ModEmitter(KernelBuilder &k, const KernelConfig &config, StagedOp staged);

  // What the variant does.
  bool modifiesScore() const { return changesScore; }
  bool masks() const { return hasMask; }
  bool hasSink() const { return bool(sinkStage); }
  int64_t headValueCount() const { return yieldCount(headStage); }
  int64_t rowValueCount() const { return yieldCount(rowStage); }
  int64_t columnValueCount() const { return yieldCount(columnStage); }

  // Call at the start of every function: the call's arguments, a small buffer of two
  // vectors, batch and head (i64).
  void enterFunction(mlir::Value args, mlir::Value gatherBuffer, mlir::Value batch, mlir::Value head);

  // The scale that scores are multiplied with, a scalar f32: times log2(e) where no
  // score_mod needs the natural unit.
  mlir::Value scoreScale();

  llvm::SmallVector<mlir::Value> emitHead();
  llvm::SmallVector<mlir::Value> emitRows(mlir::Value queryIndices);
  llvm::SmallVector<mlir::Value> emitColumns(mlir::Value keyIndices);
  mlir::Value emitSink();
  struct Element {
    mlir::Value score;        // lanes
    mlir::Value queryIndices; // lanes
    mlir::Value keyIndex;     // scalar
    llvm::ArrayRef<mlir::Value> rowValues, columnValues;
  };
  struct Modified {
    mlir::Value score, keep; // null where not wanted or without effect
  };
  Modified emitElement(const Element &element, bool wantsMask);

  // Values between stages are stored as 32-bit words (booleans as 0 or 1).
  mlir::Value asStored(mlir::Value value);       // lanes
  mlir::Value asStoredScalar(mlir::Value value); // scalar
  void loadHeadValues(mlir::Value pointer);
  llvm::SmallVector<mlir::Value> loadRowValues(mlir::Value pointer, int64_t bytes, int64_t step);
  llvm::SmallVector<mlir::Value> loadColumnValues(mlir::Value pointer, int64_t step);

private:
  using Value = mlir::Value;

  static int64_t yieldCount(mlir::Block *stage);
  // Emits what the wanted results of `stage` depend on.
  llvm::SmallVector<Value> emit(mlir::Block *stage, llvm::ArrayRef<Value> arguments, llvm::ArrayRef<unsigned> wanted);
  Value emitOp(mlir::Operation *op, llvm::ArrayRef<Value> operands);
  Value emitLoad(LoadOp op, llvm::ArrayRef<Value> indices);
  Value loadElement(Value pointer, DType dtype, bool isFloat);
  Value gather(Value base, Value offsets, DType dtype, mlir::Type element);
  Value emitDivision(Value a, Value b, bool isModulo);
  Value toInteger(Value x);
  Value field(int64_t byteOffset, mlir::Type type) { return k.load(type, args, byteOffset); }
  Value restored(Value word, mlir::Type type);
  void matchShapes(llvm::SmallVectorImpl<Value> &operands);

  KernelBuilder &k;
  const KernelConfig &config;
  StagedOp staged;
  mlir::Block *headStage, *rowStage, *columnStage, *elementStage, *sinkStage = nullptr;
  bool changesScore = false, hasMask = false;

  Value args, gatherBuffer, batch, head; // of the current function; batch and head as i32
  llvm::SmallVector<Value> headValues;
};

} // namespace attnc::cpu

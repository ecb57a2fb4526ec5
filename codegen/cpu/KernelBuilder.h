// A thin layer over OpBuilder for the CPU emitter: constants kept at the function's
// entry, 64-bit address arithmetic, loads and stores through raw pointers, counted loops,
// and the few vector operations a kernel is made of. Lanes are queries unless said otherwise.
#pragma once

#include <functional>
#include <map>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace attnc::cpu {

class KernelBuilder {
public:
  KernelBuilder(mlir::MLIRContext *context, int lanes);

  // Types.
  mlir::Type f32, i1, i8, i16, i32, i64, f16, bf16, ptr;
  mlir::VectorType vf32, vi32, vi1; // of `lanes`
  int lanes;

  // Opens a function of pointer arguments inside `module` and leaves the insertion point
  // at its end; finishFunction() closes it with a return.
  mlir::func::FuncOp startFunction(mlir::ModuleOp module, llvm::StringRef name, int pointers);
  void finishFunction();
  // Operations made inside carry this location (the user's, where a mod is emitted).
  void setLocation(mlir::Location location) { loc = location; }
  mlir::Location location() const { return loc; }

  // Constants, one of each value a function.
  mlir::Value constI64(int64_t value);
  mlir::Value constI32(int32_t value);
  mlir::Value constI1(bool value);
  mlir::Value constF32(float value);
  mlir::Value constF32Bits(uint32_t bits);
  mlir::Value splatF32(float value);
  mlir::Value splatI32(int32_t value);
  mlir::Value laneIndices(); // 0, 1, 2, ...

  // A constant with the shape of `like` (scalar or vector, f32 or i32).
  mlir::Value floatLike(mlir::Value like, float value);
  mlir::Value intLike(mlir::Value like, int32_t value);

  // 64-bit integers.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  mlir::Value toI32(mlir::Value i64Value);
  mlir::Value toI64(mlir::Value i32Value);

  // Memory. Offsets in bytes.
  mlir::Value offset(mlir::Value pointer, mlir::Value bytes);
  mlir::Value offset(mlir::Value pointer, int64_t bytes);
  mlir::Value load(mlir::Type type, mlir::Value pointer, int64_t bytes = 0, unsigned align = 0);
  void store(mlir::Value value, mlir::Value pointer, int64_t bytes = 0, unsigned align = 0);
  // Aligned vectors of the scratch memory.
  mlir::Value loadLanes(mlir::Type type, mlir::Value pointer, int64_t bytes = 0);
  void storeLanes(mlir::Value value, mlir::Value pointer, int64_t bytes = 0);

  // Loops. The body gets the counter (i64) and the carried values and returns the next ones.
  using Body = std::function<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
  llvm::SmallVector<mlir::Value> loop(mlir::Value from, mlir::Value to, int64_t step, mlir::ValueRange carried,
                                      const Body &body);
  void loop(mlir::Value from, mlir::Value to, int64_t step, const std::function<void(mlir::Value)> &body);
  void loop(int64_t from, int64_t to, int64_t step, const std::function<void(mlir::Value)> &body);
  void ifElse(mlir::Value condition, const std::function<void()> &then, const std::function<void()> &otherwise);

  // Lanes.
  mlir::Value broadcast(mlir::Value scalar);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value addf(mlir::Value a, mlir::Value b);
  mlir::Value subf(mlir::Value a, mlir::Value b);
  mlir::Value mulf(mlir::Value a, mlir::Value b);
  mlir::Value divf(mlir::Value a, mlir::Value b);
  mlir::Value cmpf(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value cmpi(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value bitcast(mlir::Value value, mlir::Type element);
  // a > b ? a : b, so a NaN in `a` is passed over and a NaN in `b` kept: one instruction
  // on x86, unlike the IEEE maximum.
  mlir::Value maxKeepingSecond(mlir::Value a, mlir::Value b);

  // Transposes lanes x lanes values held in `rows`: log2(lanes) rounds of interleaving.
  void transpose(llvm::SmallVectorImpl<mlir::Value> &rows);
  // Two vectors interleaved element by element, low and high half.
  mlir::Value interleave(mlir::Value a, mlir::Value b, bool high);

  mlir::OpBuilder &ops() { return builder; }
  template <typename Op, typename... Args> Op create(Args &&...args) {
    return Op::create(builder, loc, std::forward<Args>(args)...);
  }

private:
  mlir::Value constant(mlir::TypedAttr value);
  mlir::Type withElement(mlir::Type shape, mlir::Type element) const;

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
};

} // namespace attnc::cpu

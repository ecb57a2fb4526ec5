// Elementary functions as fixed polynomials, so that every instruction set computes the
// same bits: only additions, multiplications, divisions, square roots, explicit fused
// multiply-adds and integer operations. Each works on a scalar f32 or on lanes of it.
// Largest error in ulp, measured over the whole range by tests/unit/codegen/MathTest:
// see the table in docs/language.md. Constants: fit_coefficients.py.
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace attnc::cpu {

// 2^x for the softmax: x <= 0 or NaN; exactly 1 at 0; 0 below -126.5. `degree` 5 or 3.
mlir::Value emitSoftmaxExp2(KernelBuilder &k, mlir::Value x, int degree);

mlir::Value emitExp2(KernelBuilder &k, mlir::Value x);
mlir::Value emitExp(KernelBuilder &k, mlir::Value x);
mlir::Value emitLog2(KernelBuilder &k, mlir::Value x);
mlir::Value emitLog(KernelBuilder &k, mlir::Value x);
mlir::Value emitTanh(KernelBuilder &k, mlir::Value x);
mlir::Value emitErf(KernelBuilder &k, mlir::Value x);
// Computed in double and rounded once.
mlir::Value emitSin(KernelBuilder &k, mlir::Value x);
mlir::Value emitCos(KernelBuilder &k, mlir::Value x);
mlir::Value emitPow(KernelBuilder &k, mlir::Value x, mlir::Value y);

} // namespace attnc::cpu

// Conversions between f32 and the 16-bit formats, on scalars or lanes. Rounding is to
// nearest even, and equal on every instruction set: f16 uses the hardware's conversion
// where there is one, bf16 integer operations everywhere.
#pragma once

#include "codegen/cpu/KernelBuilder.h"
#include "codegen/cpu/KernelConfig.h"

namespace attnc::cpu {

// Loads one element (or `lanes` contiguous ones) of F32, F16 or BF16 as f32.
mlir::Value loadAsFloat(KernelBuilder &k, mlir::Value pointer, DType dtype, Isa isa, bool lanes);
// f32 to the storage form of F32, F16 or BF16 (16-bit formats may come as integers).
mlir::Value toStorage(KernelBuilder &k, mlir::Value value, DType dtype, Isa isa);

} // namespace attnc::cpu

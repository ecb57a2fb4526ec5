// The part of a mask that is an interval of keys for each query: comparisons of kv_idx
// with what does not depend on it. Such limits are computed once a row and applied as
// bits; the rest of the mask is evaluated for every element of a partial tile.
#pragma once

#include "ir/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attnc::cuda {

// kv_idx `predicate` bound, or, with isMirrored, base - kv_idx `predicate` bound. In wide
// integers neither overflows, and in the language's 32 bits these forms do not either.
struct KeyLimit {
  mlir::arith::CmpIPredicate predicate;
  mlir::Value bound;
  mlir::Value base; // null without one; with isMirrored false: kv_idx - base
  bool isMirrored = false;
};

struct IntervalMask {
  llvm::SmallVector<KeyLimit> limits;
  llvm::SmallVector<mlir::Value> rowConditions; // conditions that do not depend on the key
  llvm::SmallVector<mlir::Value> rest;          // what is left for every element
};

// Splits the conjunction that `element` (a per_element body) yields as its mask.
IntervalMask splitMask(mlir::Block &element, unsigned columnArguments);

} // namespace attnc::cuda

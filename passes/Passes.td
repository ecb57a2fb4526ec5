#ifndef ATTNC_PASSES_PASSES_TD
#define ATTNC_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

def SimplifyVariant : Pass<"attn-simplify"> {
  let summary = "rewrites bodies into simpler, equal forms";
  let description = [{
    Canonicalisation of the body operations plus a few identities that masks are full of:
    `x - x`, absorption (`a and (a or b)`), double negation, comparisons against a sum with a
    constant moved to one side where nothing can wrap, and `select` of equal arms. Results stay
    equal bit for bit, NaN included.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ExtractMask : Pass<"attn-extract-mask", "::attnc::VariantOp"> {
  let summary = "moves masking by -inf from score_mod into mask_mod";
  let description = [{
    `select(c, s, -inf)` at the root of score_mod, with `c` independent of the score, says the
    same as the score `s` under the mask `c`; as a mask it gives block sparsity. Either arm may
    hold the -inf and the pattern may be nested. Scores of kept pairs keep their bits.

    ```mlir
    attn.score_mod (%score: f32, ...) {
      %c = arith.cmpi sge, %q_idx, %kv_idx : i32
      %s = arith.select %c, %score, %ninf : f32
      attn.yield %s : f32
    }
    ```
    becomes an identity score_mod, which is dropped, and a mask_mod that yields `%c`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SplitDependence : Pass<"attn-split-dependence", "::mlir::ModuleOp"> {
  let summary = "turns attn.variant into attn.staged";
  let description = [{
    Every value depends on batch and head only, on the query row, on the key column, or on the
    element. Maximal subexpressions of the first three kinds move to a stage of their own and
    are computed once per head, row or column; only what a later stage uses is yielded.
    Expressions that score_mod and mask_mod share are computed once.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // ATTNC_PASSES_PASSES_TD

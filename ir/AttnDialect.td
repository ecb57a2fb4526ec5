#ifndef ATTNC_IR_ATTNDIALECT_TD
#define ATTNC_IR_ATTNDIALECT_TD

include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::attnc";
  let summary = "Attention variants as total scalar functions of one (query, key) pair";
  let description = [{
    A variant is made of small functions over scalars: `score_mod` rewrites the score of a
    pair (query, key), `mask_mod` says whether the pair is kept, `sink` gives the logit of an
    extra key without a value. All are straight-line code over `i1`, `i32` and `f32`; every
    operation is total and free of effects, so a back end may evaluate it for one element, a
    vector of queries or a tile, early, late or twice.

    Function bodies use `arith`, `math` and `attn` operations from one closed list
    (`ir/Opcodes.def`), which the verifier enforces.

    Two forms exist. `attn.variant` is what front ends make. `attn.staged` is the same variant
    after the dependence split: four regions that run once per (batch, head), once per query
    row, once per key column and once per element.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let hasConstantMaterializer = 1;
}

class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits>;

#endif // ATTNC_IR_ATTNDIALECT_TD

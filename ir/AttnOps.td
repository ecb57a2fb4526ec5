#ifndef ATTNC_IR_ATTNOPS_TD
#define ATTNC_IR_ATTNOPS_TD

include "ir/AttnDialect.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_Scalar : AnyTypeOf<[I1, I32, F32], "i1, i32 or f32">;
def Attn_Number : AnyTypeOf<[I32, F32], "i32 or f32">;

def Attn_Dim : I32EnumAttr<"Dim", "a size of the call", [
    I32EnumAttrCase<"B", 0>, I32EnumAttrCase<"H", 1>, I32EnumAttrCase<"Hkv", 2>,
    I32EnumAttrCase<"Q", 3>, I32EnumAttrCase<"KV", 4>, I32EnumAttrCase<"D", 5>]> {
  let cppNamespace = "::attnc";
}

//===----------------------------------------------------------------------===//
// Variants and their declarations
//===----------------------------------------------------------------------===//

class Attn_ContainerOp<string mnemonic> : Attn_Op<mnemonic, [
    IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments, Symbol, SymbolTable]> {
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def VariantOp : Attn_ContainerOp<"variant"> {
  let summary = "an attention variant as a front end made it";
  let description = [{
    Holds declarations (`attn.capture`, `attn.scalar`, `attn.scale`) and at most one each of
    `attn.score_mod`, `attn.mask_mod` and `attn.sink`. What is missing has no effect: no
    `score_mod` leaves the score, no `mask_mod` keeps every pair, no `sink` adds no key.

    ```mlir
    attn.variant @alibi {
      attn.capture @slopes : f32 [H]
      attn.score_mod (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
        %0 = attn.load @slopes[%h] : f32
        %1 = arith.subi %kv_idx, %q_idx : i32
        %2 = arith.sitofp %1 : i32 to f32
        %3 = arith.mulf %0, %2 : f32
        %4 = arith.addf %score, %3 : f32
        attn.yield %4 : f32
      }
    }
    ```
  }];
}

def StagedOp : Attn_ContainerOp<"staged"> {
  let summary = "a variant split by what its values depend on";
  let description = [{
    The same declarations, and four stages. `attn.per_head` runs once per (batch, head),
    `attn.per_row` once per query, `attn.per_column` once per key, `attn.per_element` once per
    pair. Each stage yields what later stages use; those take the values as trailing
    arguments, in the order head, row, column. The element stage yields the new score and
    whether the pair is kept; an untouched score is the argument itself, a missing mask the
    constant `true`.

    ```mlir
    attn.staged @document {
      attn.capture @doc : i32 [Q]
      attn.per_head (%b: i32, %h: i32) {
        attn.yield
      }
      attn.per_row (%b: i32, %h: i32, %q_idx: i32) {
        %0 = attn.load @doc[%q_idx] : i32
        attn.yield %0 : i32
      }
      attn.per_column (%b: i32, %h: i32, %kv_idx: i32) {
        %0 = attn.load @doc[%kv_idx] : i32
        attn.yield %0 : i32
      }
      attn.per_element (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32,
                        %row0: i32, %column0: i32) {
        %0 = arith.cmpi eq, %row0, %column0 : i32
        attn.yield %score, %0 : f32, i1
      }
    }
    ```
  }];
  let extraClassDeclaration = [{
    template <typename Stage> Stage getStage() {
      auto stages = getBody().getOps<Stage>();
      return stages.empty() ? Stage() : *stages.begin();
    }
    // Positions of a declaration among those of its kind.
    int64_t captureIndex(::llvm::StringRef name);
    int64_t scalarIndex(::llvm::StringRef name);
  }];
}

def CaptureOp : Attn_Op<"capture", [Symbol, ParentOneOf<["VariantOp", "StagedOp"]>]> {
  let summary = "declares a captured tensor";
  let description = [{
    A tensor that is given at launch and never written while the variant runs. Each dimension
    is a size, the name of one of the call's sizes, or `?`. `sorted` promises ascending values
    along the last axis; `grad` asks for a gradient.

    ```mlir
    attn.capture @doc : i32 [Q] sorted
    attn.capture @table : f32 [H, 257, ?] grad
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Attn_Scalar>:$type,
                       StrArrayAttr:$dims, UnitAttr:$sorted, UnitAttr:$grad);
  let assemblyFormat = [{
    $sym_name `:` $type custom<Dims>($dims) (`sorted` $sorted^)? (`grad` $grad^)? attr-dict
  }];
}

def ScalarOp : Attn_Op<"scalar", [Symbol, ParentOneOf<["VariantOp", "StagedOp"]>]> {
  let summary = "declares a run-time scalar";
  let description = [{
    A number that is given at launch, so that changing it compiles nothing.

    ```mlir
    attn.scalar @cap : f32 = 5.000000e+01 : f32
    attn.scalar @window : i32
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Attn_Scalar>:$type,
                       OptionalAttr<TypedAttrInterface>:$default_value);
  let assemblyFormat = "$sym_name `:` $type (`=` $default_value^)? attr-dict";
  let hasVerifier = 1;
}

def ScaleOp : Attn_Op<"scale", [ParentOneOf<["VariantOp", "StagedOp"]>]> {
  let summary = "sets the factor of the dot product";
  let description = [{
    Without it the factor is one over the square root of the head dimension. A call may give
    another.

    ```mlir
    attn.scale 1.250000e-01 : f32
    ```
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let assemblyFormat = "$value attr-dict";
}

//===----------------------------------------------------------------------===//
// Functions and stages
//===----------------------------------------------------------------------===//

class Attn_BodyOp<string mnemonic, string parent> : Attn_Op<mnemonic, [
    HasParent<parent>, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "custom<Body>($body) attr-dict";
  let hasRegionVerifier = 1;
}

def ScoreModOp : Attn_BodyOp<"score_mod", "VariantOp"> {
  let summary = "rewrites the score of a pair";
  let description = [{
    The score is the scaled dot product. Minus infinity drops the pair.

    ```mlir
    attn.score_mod (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
      attn.yield %score : f32
    }
    ```
  }];
}

def MaskModOp : Attn_BodyOp<"mask_mod", "VariantOp"> {
  let summary = "says whether a pair is kept";
  let description = [{
    ```mlir
    attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
      %0 = arith.cmpi sge, %q_idx, %kv_idx : i32
      attn.yield %0 : i1
    }
    ```
  }];
}

def SinkOp : Attn_Op<"sink", [
    ParentOneOf<["VariantOp", "StagedOp"]>, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "gives the logit of an extra key without a value";
  let description = [{
    Takes part in the softmax's denominator (and the log-sum-exp) and adds nothing to the
    output, so that a head may attend to nothing.

    ```mlir
    attn.sink (%b: i32, %h: i32) {
      %0 = attn.load @sinks[%h] : f32
      attn.yield %0 : f32
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "custom<Body>($body) attr-dict";
  let hasRegionVerifier = 1;
}

def PerHeadOp : Attn_BodyOp<"per_head", "StagedOp"> {
  let summary = "values that depend on batch and head only";
  let description = [{
    ```mlir
    attn.per_head (%b: i32, %h: i32) {
      %0 = attn.load @slopes[%h] : f32
      attn.yield %0 : f32
    }
    ```
  }];
}

def PerRowOp : Attn_BodyOp<"per_row", "StagedOp"> {
  let summary = "values that depend on the query, not on the key";
  let description = [{
    ```mlir
    attn.per_row (%b: i32, %h: i32, %q_idx: i32) {
      %0 = attn.load @doc[%q_idx] : i32
      attn.yield %0 : i32
    }
    ```
  }];
}

def PerColumnOp : Attn_BodyOp<"per_column", "StagedOp"> {
  let summary = "values that depend on the key, not on the query";
  let description = [{
    ```mlir
    attn.per_column (%b: i32, %h: i32, %kv_idx: i32) {
      %0 = attn.load @doc[%kv_idx] : i32
      attn.yield %0 : i32
    }
    ```
  }];
}

def PerElementOp : Attn_BodyOp<"per_element", "StagedOp"> {
  let summary = "what is left: depends on the score, or on query and key together";
  let description = [{
    ```mlir
    attn.per_element (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
      %0 = arith.cmpi sge, %q_idx, %kv_idx : i32
      attn.yield %score, %0 : f32, i1
    }
    ```
  }];
}

def YieldOp : Attn_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends a function or stage with its results";
  let description = [{
    ```mlir
    attn.yield %score, %keep : f32, i1
    ```
  }];
  let arguments = (ins Variadic<Attn_Scalar>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

def ParamOp : Attn_Op<"param", [Pure]> {
  let summary = "reads a run-time scalar";
  let description = [{
    ```mlir
    %0 = attn.param @cap : f32
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param);
  let results = (outs Attn_Scalar:$result);
  let assemblyFormat = "$param attr-dict `:` type($result)";
}

def DimOp : Attn_Op<"dim", [Pure]> {
  let summary = "reads a size of the call";
  let description = [{
    `B` batch, `H` query heads, `Hkv` key-value heads, `Q` query length, `KV` key length, `D`
    head dimension.

    ```mlir
    %0 = attn.dim KV : i32
    ```
  }];
  let arguments = (ins Attn_Dim:$dim);
  let results = (outs I32:$result);
  let assemblyFormat = "$dim attr-dict `:` type($result)";
}

def LoadOp : Attn_Op<"load", [Pure]> {
  let summary = "reads one element of a captured tensor";
  let description = [{
    Each index is clamped to its axis, so the read is always in bounds and may be speculated,
    hoisted, duplicated or dropped.

    ```mlir
    %0 = attn.load @table[%h, %i] : f32
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$capture, Variadic<I32>:$indices);
  let results = (outs Attn_Scalar:$result);
  let assemblyFormat = "$capture `[` $indices `]` attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Arithmetic that arith leaves undefined somewhere, made total
//===----------------------------------------------------------------------===//

class Attn_IntegerOp<string mnemonic> : Attn_Op<mnemonic, [Pure, SameOperandsAndResultType]> {
  let arguments = (ins I32:$lhs, I32:$rhs);
  let results = (outs I32:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
  let hasFolder = 1;
}

def FloorDivOp : Attn_IntegerOp<"floordiv"> {
  let summary = "integer division, rounded down";
  let description = [{
    Division by zero gives 0; the least integer divided by -1 is itself.

    ```mlir
    %0 = attn.floordiv %a, %b : i32
    ```
  }];
}

def FloorModOp : Attn_IntegerOp<"floormod"> {
  let summary = "remainder of the division rounded down";
  let description = [{
    Has the sign of the divisor. By zero it is 0.

    ```mlir
    %0 = attn.floormod %a, %b : i32
    ```
  }];
}

def ShlOp : Attn_IntegerOp<"shl"> {
  let summary = "shift left by the amount modulo 32";
  let description = [{
    ```mlir
    %0 = attn.shl %a, %n : i32
    ```
  }];
}

def ShrOp : Attn_IntegerOp<"shr"> {
  let summary = "arithmetic shift right by the amount modulo 32";
  let description = [{
    ```mlir
    %0 = attn.shr %a, %n : i32
    ```
  }];
}

def ClampOp : Attn_Op<"clamp", [Pure, SameOperandsAndResultType]> {
  let summary = "min(max(x, low), high)";
  let description = [{
    An operation of its own because its derivative at the bounds differs from that of min and
    max. A NaN among the operands gives NaN.

    ```mlir
    %0 = attn.clamp %x, %low, %high : f32
    ```
  }];
  let arguments = (ins Attn_Number:$operand, Attn_Number:$low, Attn_Number:$high);
  let results = (outs Attn_Number:$result);
  let assemblyFormat = "$operand `,` $low `,` $high attr-dict `:` type($result)";
  let hasFolder = 1;
}

def ReluOp : Attn_Op<"relu", [Pure, SameOperandsAndResultType]> {
  let summary = "max(x, 0)";
  let description = [{
    ```mlir
    %0 = attn.relu %x : f32
    ```
  }];
  let arguments = (ins F32:$operand);
  let results = (outs F32:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasFolder = 1;
}

def ToI32Op : Attn_Op<"to_i32", [Pure]> {
  let summary = "float to integer, toward zero";
  let description = [{
    Saturates at the ends of the range; NaN gives 0.

    ```mlir
    %0 = attn.to_i32 %x : f32
    ```
  }];
  let arguments = (ins F32:$operand);
  let results = (outs I32:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
  let hasFolder = 1;
}

#endif // ATTNC_IR_ATTNOPS_TD

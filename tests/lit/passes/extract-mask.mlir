// attn-extract-mask: select(c, s, -inf) at the root of score_mod becomes part of mask_mod when c
// does not depend on the score.
// RUN: attnc-opt --pass-pipeline='builtin.module(attn.variant(attn-extract-mask),canonicalize)' %s | FileCheck %s

// CHECK-LABEL: @causal_by_score
attn.variant @causal_by_score {
  // The identity that is left over is dropped.
  // CHECK-NOT: attn.score_mod
  // CHECK: attn.mask_mod
  // CHECK: %[[C:.*]] = arith.cmpi sge, %q_idx, %kv_idx : i32
  // CHECK: attn.yield %[[C]] : i1
  attn.score_mod (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    %ninf = arith.constant 0xFF800000 : f32
    %c = arith.cmpi sge, %q_idx, %kv_idx : i32
    %s = arith.select %c, %score, %ninf : f32
    attn.yield %s : f32
  }
}

// -inf in the first arm: the condition is negated; nested selects are all taken.
// CHECK-LABEL: @nested
attn.variant @nested {
  // CHECK: attn.score_mod
  // CHECK-NOT: arith.select
  // CHECK: attn.yield
  // CHECK: attn.mask_mod
  // CHECK: %[[A:.*]] = arith.cmpi sge, %kv_idx, %h
  // CHECK: %[[B:.*]] = arith.cmpi eq, %q_idx, %kv_idx
  // CHECK: arith.andi %[[A]], %[[B]] : i1
  attn.score_mod (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    %ninf = arith.constant 0xFF800000 : f32
    %two = arith.constant 2.0 : f32
    %d = arith.mulf %score, %two : f32
    %c1 = arith.cmpi eq, %q_idx, %kv_idx : i32
    %s1 = arith.select %c1, %d, %ninf : f32
    %c2 = arith.cmpi slt, %kv_idx, %h : i32
    %s2 = arith.select %c2, %ninf, %s1 : f32
    attn.yield %s2 : f32
  }
}

// A condition on the score stays where it is.
// CHECK-LABEL: @by_score
attn.variant @by_score {
  // CHECK-NOT: attn.mask_mod
  // CHECK: arith.select
  attn.score_mod (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    %ninf = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %c = arith.cmpf ogt, %score, %zero : f32
    %s = arith.select %c, %score, %ninf : f32
    attn.yield %s : f32
  }
}

// An existing mask is kept in conjunction.
// CHECK-LABEL: @both
attn.variant @both {
  attn.score_mod (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    %ninf = arith.constant 0xFF800000 : f32
    %c = arith.cmpi sge, %q_idx, %kv_idx : i32
    %s = arith.select %c, %score, %ninf : f32
    attn.yield %s : f32
  }
  // CHECK: attn.mask_mod
  // CHECK: %[[OLD:.*]] = arith.cmpi eq, %b, %h : i32
  // CHECK: %[[NEW:.*]] = arith.cmpi sge, %q_idx, %kv_idx : i32
  // CHECK: arith.andi %[[OLD]], %[[NEW]] : i1
  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    %0 = arith.cmpi eq, %b, %h : i32
    attn.yield %0 : i1
  }
}

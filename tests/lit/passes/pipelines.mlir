// The two pipelines in order: a causal mask hidden in score_mod ends as the keep of the element.
// RUN: attnc-opt --attn-variant-pipeline --attn-staged-pipeline %s | FileCheck %s

// CHECK-LABEL: attn.staged @causal
attn.variant @causal {
  // CHECK: attn.per_element
  // CHECK-NEXT: %[[K:.*]] = arith.cmpi sge, %q_idx, %kv_idx : i32
  // CHECK-NEXT: attn.yield %score, %[[K]] : f32, i1
  attn.score_mod (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    %ninf = arith.constant 0xFF800000 : f32
    %c0 = arith.constant 0 : i32
    %d = arith.subi %q_idx, %kv_idx : i32
    %c = arith.cmpi sge, %d, %c0 : i32
    %s = arith.select %c, %score, %ninf : f32
    attn.yield %s : f32
  }
}

// attn-split-dependence: maximal subexpressions of one kind move to the stage that runs least
// often; only what a later stage uses is yielded.
// RUN: attnc-opt --attn-split-dependence %s | FileCheck %s

// CHECK-LABEL: attn.staged @documents
attn.variant @documents {
  // CHECK-NEXT: attn.capture @doc
  attn.capture @doc : i32 [Q]
  attn.capture @slopes : f32 [H]
  // CHECK: attn.per_head (%b: i32, %h: i32) {
  // CHECK-NEXT: %[[S:.*]] = attn.load @slopes[%h] : f32
  // CHECK-NEXT: attn.yield %[[S]] : f32
  // CHECK: attn.per_row (%b: i32, %h: i32, %q_idx: i32, %head: f32) {
  // CHECK-NEXT: %[[Q:.*]] = attn.load @doc[%q_idx] : i32
  // CHECK-NEXT: attn.yield %[[Q]] : i32
  // CHECK: attn.per_column (%b: i32, %h: i32, %kv_idx: i32, %head: f32) {
  // CHECK-NEXT: %[[K:.*]] = attn.load @doc[%kv_idx] : i32
  // CHECK-NEXT: attn.yield %[[K]] : i32
  // CHECK: attn.per_element (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32, %head: f32, %row: i32, %column: i32) {
  // The difference is shared by score and mask, and computed once.
  // CHECK-COUNT-1: arith.subi
  // CHECK-NOT: arith.subi
  // CHECK: arith.cmpi eq, %row, %column : i32
  // CHECK: attn.yield %{{.*}}, %{{.*}} : f32, i1
  attn.score_mod (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    %0 = attn.load @slopes[%h] : f32
    %1 = arith.subi %kv_idx, %q_idx : i32
    %2 = arith.sitofp %1 : i32 to f32
    %3 = arith.mulf %0, %2 : f32
    %4 = arith.addf %score, %3 : f32
    attn.yield %4 : f32
  }
  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    %0 = attn.load @doc[%q_idx] : i32
    %1 = attn.load @doc[%kv_idx] : i32
    %2 = arith.cmpi eq, %0, %1 : i32
    %3 = arith.subi %kv_idx, %q_idx : i32
    %c64 = arith.constant 64 : i32
    %4 = arith.cmpi slt, %3, %c64 : i32
    %5 = arith.andi %2, %4 : i1
    attn.yield %5 : i1
  }
}

// No functions: the score is the argument, and every pair is kept.
// CHECK-LABEL: attn.staged @plain
attn.variant @plain {
  // CHECK: attn.per_element
  // CHECK: %[[T:.*]] = arith.constant true
  // CHECK: attn.yield %score, %[[T]] : f32, i1
}

// A sink stays a function of its own.
// CHECK-LABEL: attn.staged @sink
attn.variant @sink {
  // CHECK: attn.sink (%b: i32, %h: i32) {
  attn.sink (%b: i32, %h: i32) {
    %0 = arith.constant 0.0 : f32
    attn.yield %0 : f32
  }
}

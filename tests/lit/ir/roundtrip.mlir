// The text form reads back as it was printed, declarations, functions and stages included.
// RUN: attnc-opt %s | attnc-opt | FileCheck %s

// CHECK-LABEL: attn.variant @everything
attn.variant @everything {
  // CHECK-NEXT: attn.capture @table : f32 [H, 257, ?] grad
  attn.capture @table : f32 [H, 257, ?] grad
  // CHECK-NEXT: attn.capture @doc : i32 [Q] sorted
  attn.capture @doc : i32 [Q] sorted
  // CHECK-NEXT: attn.scalar @cap : f32 = 5.000000e+01 : f32
  attn.scalar @cap : f32 = 5.000000e+01 : f32
  // CHECK-NEXT: attn.scalar @window : i32
  attn.scalar @window : i32
  // CHECK-NEXT: attn.scale 1.250000e-01 : f32
  attn.scale 1.250000e-01 : f32
  // CHECK-NEXT: attn.score_mod (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
  attn.score_mod (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    // CHECK-NEXT: attn.dim KV : i32
    %0 = attn.dim KV : i32
    // CHECK-NEXT: attn.floordiv %kv_idx, %{{.*}} : i32
    %1 = attn.floordiv %kv_idx, %0 : i32
    // CHECK-NEXT: attn.load @table[%h, %q_idx, %{{.*}}] : f32
    %2 = attn.load @table[%h, %q_idx, %1] : f32
    // CHECK-NEXT: attn.param @cap : f32
    %3 = attn.param @cap : f32
    // CHECK-NEXT: attn.clamp %score, %{{.*}}, %{{.*}} : f32
    %4 = attn.clamp %score, %2, %3 : f32
    // CHECK-NEXT: attn.relu
    %5 = attn.relu %4 : f32
    // CHECK-NEXT: attn.yield %{{.*}} : f32
    attn.yield %5 : f32
  }
  // CHECK: attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    %0 = attn.param @window : i32
    // CHECK: attn.floormod
    %1 = attn.floormod %q_idx, %0 : i32
    // CHECK-NEXT: attn.shl
    %2 = attn.shl %1, %b : i32
    // CHECK-NEXT: attn.shr
    %3 = attn.shr %2, %h : i32
    %4 = arith.sitofp %3 : i32 to f32
    // CHECK: attn.to_i32 %{{.*}} : f32
    %5 = attn.to_i32 %4 : f32
    %6 = arith.cmpi sge, %5, %kv_idx : i32
    attn.yield %6 : i1
  }
  // CHECK: attn.sink (%b: i32, %h: i32) {
  attn.sink (%b: i32, %h: i32) {
    %0 = attn.param @cap : f32
    attn.yield %0 : f32
  }
}

// CHECK-LABEL: attn.staged @stages
attn.staged @stages {
  attn.capture @doc : i32 [Q]
  // CHECK: attn.per_head (%b: i32, %h: i32) {
  attn.per_head (%b: i32, %h: i32) {
    // CHECK-NEXT: attn.yield %h : i32
    attn.yield %h : i32
  }
  // CHECK: attn.per_row (%b: i32, %h: i32, %q_idx: i32, %head: i32) {
  attn.per_row (%b: i32, %h: i32, %q_idx: i32, %head: i32) {
    %0 = attn.load @doc[%q_idx] : i32
    attn.yield %0 : i32
  }
  attn.per_column (%b: i32, %h: i32, %kv_idx: i32, %head: i32) {
    attn.yield
  }
  // CHECK: attn.per_element (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32, %head: i32, %row: i32) {
  attn.per_element (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32, %head: i32, %row: i32) {
    %0 = arith.cmpi eq, %row, %head : i32
    attn.yield %score, %0 : f32, i1
  }
}

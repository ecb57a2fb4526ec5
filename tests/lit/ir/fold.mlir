// Constants fold by the total rules of the language: division by zero, wrap-around, shift
// amounts modulo 32, saturating conversion.
// RUN: attnc-opt --canonicalize --split-input-file %s | FileCheck %s

// div_c1
// CHECK-LABEL: @floordiv
attn.variant @floordiv {
  attn.sink (%b: i32, %h: i32) {
    %c7 = arith.constant -7 : i32
    %c2 = arith.constant 2 : i32
    %q = attn.floordiv %c7, %c2 : i32
    %f = arith.sitofp %q : i32 to f32
    // CHECK: %[[R:.*]] = arith.constant -4.000000e+00 : f32
    // CHECK-NEXT: attn.yield %[[R]]
    attn.yield %f : f32
  }
}

// -----
// CHECK-LABEL: @by_zero
attn.variant @by_zero {
  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    %c0 = arith.constant 0 : i32
    %m = attn.floormod %q_idx, %c0 : i32
    %k = arith.cmpi eq, %m, %c0 : i32
    // CHECK: %[[T:.*]] = arith.constant true
    // CHECK-NEXT: attn.yield %[[T]]
    attn.yield %k : i1
  }
}

// -----
// CHECK-LABEL: @by_one
attn.variant @by_one {
  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    %c1 = arith.constant 1 : i32
    %d = attn.floordiv %q_idx, %c1 : i32
    // CHECK: arith.cmpi sge, %q_idx, %kv_idx
    %k = arith.cmpi sge, %d, %kv_idx : i32
    attn.yield %k : i1
  }
}

// -----
// CHECK-LABEL: @least_by_minus_one
attn.variant @least_by_minus_one {
  attn.sink (%b: i32, %h: i32) {
    %least = arith.constant -2147483648 : i32
    %m1 = arith.constant -1 : i32
    %q = attn.floordiv %least, %m1 : i32
    %f = arith.sitofp %q : i32 to f32
    // CHECK: arith.constant -2.14748365E+9 : f32
    attn.yield %f : f32
  }
}

// -----
// CHECK-LABEL: @shift
attn.variant @shift {
  attn.sink (%b: i32, %h: i32) {
    %c1 = arith.constant 1 : i32
    %c33 = arith.constant 33 : i32
    %s = attn.shl %c1, %c33 : i32
    %f = arith.sitofp %s : i32 to f32
    // CHECK: arith.constant 2.000000e+00 : f32
    attn.yield %f : f32
  }
}

// -----
// CHECK-LABEL: @saturate
attn.variant @saturate {
  attn.sink (%b: i32, %h: i32) {
    %inf = arith.constant 0x7F800000 : f32
    %i = attn.to_i32 %inf : f32
    %nan = arith.constant 0x7FC00000 : f32
    %z = attn.to_i32 %nan : f32
    %s = arith.xori %i, %z : i32
    %c31 = arith.constant 30 : i32
    %t = attn.shr %s, %c31 : i32
    %f = arith.sitofp %t : i32 to f32
    // CHECK: arith.constant 1.000000e+00 : f32
    attn.yield %f : f32
  }
}

// -----
// CHECK-LABEL: @relu_twice
attn.variant @relu_twice {
  attn.score_mod (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    // CHECK-COUNT-1: attn.relu
    // CHECK-NOT: attn.relu
    %0 = attn.relu %score : f32
    %1 = attn.relu %0 : f32
    attn.yield %1 : f32
  }
}

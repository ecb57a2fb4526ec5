// attn-simplify keeps results bit for bit and stays within the closed list of operations.
// RUN: attnc-opt --attn-simplify %s | FileCheck %s

// A difference of positions against zero becomes a comparison of the positions.
// CHECK-LABEL: @difference
attn.variant @difference {
  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    // CHECK-NOT: arith.subi
    // CHECK: arith.cmpi sge, %q_idx, %kv_idx : i32
    %c0 = arith.constant 0 : i32
    %0 = arith.subi %q_idx, %kv_idx : i32
    %1 = arith.cmpi sge, %0, %c0 : i32
    attn.yield %1 : i1
  }
}

// a and (a or b) is a.
// CHECK-LABEL: @absorb
attn.variant @absorb {
  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    // CHECK: %[[A:.*]] = arith.cmpi sge, %q_idx, %kv_idx : i32
    // CHECK-NEXT: attn.yield %[[A]]
    %0 = arith.cmpi sge, %q_idx, %kv_idx : i32
    %1 = arith.cmpi eq, %q_idx, %h : i32
    %2 = arith.ori %1, %0 : i1
    %3 = arith.andi %0, %2 : i1
    attn.yield %3 : i1
  }
}

// Constants stay inside of the function.
// CHECK-LABEL: @constants
attn.variant @constants {
  // CHECK-NEXT: attn.mask_mod
  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    // CHECK-NEXT: arith.constant 64 : i32
    %c = arith.constant 64 : i32
    %0 = arith.cmpi slt, %kv_idx, %c : i32
    attn.yield %0 : i1
  }
}

// x - x is 0, and not not a is a.
// CHECK-LABEL: @trivial
attn.variant @trivial {
  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    // CHECK: %[[T:.*]] = arith.constant true
    // CHECK-NEXT: attn.yield %[[T]]
    %true = arith.constant true
    %c0 = arith.constant 0 : i32
    %0 = arith.subi %q_idx, %q_idx : i32
    %1 = arith.cmpi eq, %0, %c0 : i32
    %2 = arith.xori %1, %true : i1
    %3 = arith.xori %2, %true : i1
    attn.yield %3 : i1
  }
}

// Wrong variants are refused, each with what was expected and found, and where.
// RUN: attnc-opt --split-input-file --verify-diagnostics %s

// body_c1
// expected-note @below {{in @foreign}}
attn.variant @foreign {
  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    // expected-error @below {{is not allowed in a variant: expected an operation of ir/Opcodes.def}}
    %0 = arith.divsi %q_idx, %kv_idx : i32
    %1 = arith.cmpi eq, %0, %b : i32
    attn.yield %1 : i1
  }
}

// -----
// body_c2
// expected-note @below {{in @wide}}
attn.variant @wide {
  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    // expected-error @below {{has type 'i64', expected i1, i32 or f32}}
    %0 = arith.constant 5 : i64
    %1 = arith.constant true
    attn.yield %1 : i1
  }
}

// -----
// body_c3: an unknown capture
// expected-note @below {{in @unknown}}
attn.variant @unknown {
  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    // expected-error @below {{reads 'doc', which is not a declared capture}}
    %0 = attn.load @doc[%q_idx] : i32
    %1 = arith.cmpi eq, %0, %b : i32
    attn.yield %1 : i1
  }
}

// -----
// body_c3: the rank
// expected-note @below {{in @rank}}
attn.variant @rank {
  attn.capture @t : i32 [H, ?]
  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    // expected-error @below {{indexes 't' with 1 values, expected 2}}
    %0 = attn.load @t[%q_idx] : i32
    %1 = arith.cmpi eq, %0, %b : i32
    attn.yield %1 : i1
  }
}

// -----
// body_c3: the type of a capture
// expected-note @below {{in @type}}
attn.variant @type {
  attn.capture @t : i32 [H]
  attn.score_mod (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    // expected-error @below {{reads 't' as 'f32', expected 'i32'}}
    %0 = attn.load @t[%h] : f32
    attn.yield %0 : f32
  }
}

// -----
// body_c3: a scalar
// expected-note @below {{in @scalar}}
attn.variant @scalar {
  attn.score_mod (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    // expected-error @below {{reads 'cap', which is not a declared scalar}}
    %0 = attn.param @cap : f32
    attn.yield %0 : f32
  }
}

// -----
// body_c4
// expected-note @below {{in @arguments}}
attn.variant @arguments {
  // expected-error @below {{takes ('i32', 'i32'), expected ('i32', 'i32', 'i32', 'i32')}}
  attn.mask_mod (%b: i32, %h: i32) {
    %0 = arith.constant true
    attn.yield %0 : i1
  }
}

// -----
// body_c5
// expected-note @below {{in @result}}
attn.variant @result {
  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    // expected-error @below {{yields ('i32'), expected ('i1')}}
    attn.yield %b : i32
  }
}

// -----
// variant_c1
attn.variant @twice {
  attn.sink (%b: i32, %h: i32) {
    %0 = arith.constant 0.0 : f32
    attn.yield %0 : f32
  }
  // expected-error @below {{appears twice in @twice}}
  attn.sink (%b: i32, %h: i32) {
    %0 = arith.constant 0.0 : f32
    attn.yield %0 : f32
  }
}

// -----
// scalar_c1
attn.variant @default {
  // expected-error @below {{has a default of type 'i32', expected 'f32'}}
  attn.scalar @cap : f32 = 5 : i32
}

// -----
// staged_c1
// expected-error @below {{needs per_head, per_row, per_column and per_element}}
attn.staged @incomplete {
  attn.per_head (%b: i32, %h: i32) {
    attn.yield
  }
}

// -----
// staged_c2
attn.staged @mismatch {
  attn.per_head (%b: i32, %h: i32) {
    attn.yield %h : i32
  }
  // expected-error @below {{must take the values that per_head yields}}
  attn.per_row (%b: i32, %h: i32, %q_idx: i32) {
    attn.yield
  }
  attn.per_column (%b: i32, %h: i32, %kv_idx: i32, %x: i32) {
    attn.yield
  }
  attn.per_element (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32, %x: i32) {
    %0 = arith.constant true
    attn.yield %score, %0 : f32, i1
  }
}

// -----
attn.variant @dims {
  // expected-error @below {{unknown dimension 'Z': expected B, H, Hkv, Q, KV or D}}
  attn.capture @t : i32 [Z]
}

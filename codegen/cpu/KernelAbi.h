// What the runtime and a compiled CPU kernel agree on. Plain C layout, every field
// eight bytes wide: the emitter addresses fields by index (see the k... constants).
//
// An object exports, for each schedule suffix (`_wide`, `_narrow`):
//   attnc_begin(args, task)           packs the query block, evaluates per-(b,h) and per-row
//                                     values, sets the carry to (m = -inf, l = 0, O = 0)
//   attnc_split(args, task)           walks task->runs, tiles upward, into the partial
//   attnc_merge(args, task, partial)  carry = merge(carry, partial)
//   attnc_finish(args, task)          sink, division, output rows and log-sum-exp
//   attnc_info                        int64_t[4]: blockM, scratchBytes, partialOffset, partialFloats
// The partial of the last attnc_split lies at task->scratch + partialOffset and is
// `partialFloats` long: m[blockM], l[blockM], O[valueDim][blockM]. It may be copied away
// and merged later, by another thread, in ascending split order: same function, same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attnc::cpu {

inline constexpr int kMaxCaptureRank = 8;

// A captured tensor: strides in elements, 0 on a broadcast axis.
struct CaptureArg {
  const void *data;
  int64_t shape[kMaxCaptureRank];
  int64_t strides[kMaxCaptureRank];
};

// One call. Strides in elements; the last axis of every tensor is contiguous.
struct KernelArgs {
  const void *query; // [batch, heads, queryLength, headDim]
  const void *key;   // [batch, kvHeads, kvLength, headDim]
  const void *value; // [batch, kvHeads, kvLength, valueDim]
  void *output;      // [batch, heads, queryLength, valueDim]
  float *lse;        // [batch, heads, queryLength], natural logarithm; may be null
  int64_t queryStrides[3];
  int64_t keyStrides[3];
  int64_t valueStrides[3];
  int64_t outputStrides[3];
  int64_t lseStrides[3];
  int64_t batch, heads, kvHeads, queryLength, kvLength;
  int64_t queryOffset;    // q_idx of row 0
  int64_t scaleBits;      // the float in the low 32 bits
  const uint32_t *params; // bits of f32, i32 or 0/1, in declaration order
  const CaptureArg *captures;
};

// `count` kv tiles from tile `first`; a full run needs no mask.
struct TileRun {
  int32_t first;
  int32_t count;
  int64_t isPartial;
};

// One block of query rows of one (batch, head), within one split of kv.
struct KernelTask {
  int64_t batchIndex, headIndex;
  int64_t firstRow; // within the call
  int64_t rowCount; // 1 to blockM
  void *scratch;    // scratchBytes, aligned to 64
  const TileRun *runs;
  int64_t runCount;
};

using TaskFunction = void (*)(const KernelArgs *, const KernelTask *);
using MergeFunction = void (*)(const KernelArgs *, const KernelTask *, const float *partial);

} // namespace attnc::cpu

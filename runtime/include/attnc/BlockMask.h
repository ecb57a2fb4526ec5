// Which (query block, kv block) tiles a mask leaves empty, full or partial, as runs per
// query block. Only proofs make a tile empty or full; what is not proven is partial, so a
// block mask decides speed and never results.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnc/Status.h"
#include "attnc/Tensor.h"
#include "attnc/Variant.h"

namespace attnc {

// Sizes of one attention call.
struct Problem {
  int64_t batch = 1, heads = 1, kvHeads = 1;
  int64_t queryLength = 0, kvLength = 0;
  int headDim = 0, valueDim = 0;
  int64_t queryOffset = 0; // q_idx of the first query row
};

// A captured tensor or run-time scalar by the name that the variant gave it.
struct NamedTensor {
  std::string name;
  TensorView view;
};
struct NamedScalar {
  std::string name;
  double value; // converted to the declared i32, f32 or bool; must be exact for i32
};
struct Bindings {
  std::vector<NamedTensor> captures = {};
  std::vector<NamedScalar> params = {};
};

// Tiles [first, first + count) of one query block; ascending, never overlapping.
struct BlockRun {
  int32_t first;
  int32_t count;
  bool isFull;
};

class ATTNC_EXPORT BlockMask {
public:
  // Analyses the variant's mask_mod. Captures are read now: a mask made for captured
  // values that have changed since must be made again. Memory O(queryLength + kvLength).
  static Result<BlockMask> create(const Variant &variant, const Problem &problem, const Bindings &bindings,
                                  int blockM = 64, int blockN = 64);

  const Problem &problem() const;
  int blockM() const;
  int blockN() const;
  int64_t queryBlocks() const;
  int64_t kvBlocks() const;

  // The runs of one query block of one (batch, head).
  struct Runs {
    const BlockRun *begin;
    const BlockRun *end;
  };
  Runs runs(int64_t batch, int64_t head, int64_t queryBlock) const;
  // Batches and heads whose masks are equal share one slice of storage.
  int64_t sliceCount() const;
  int64_t slice(int64_t batch, int64_t head) const;

  struct Counts {
    int64_t empty = 0, full = 0, partial = 0;
  };
  Counts counts(int64_t batch, int64_t head) const;
  Counts counts() const;   // over all batches and heads
  double sparsity() const; // share of tiles skipped, 0 to 1
  size_t bytes() const;    // memory held

  struct State;
  explicit BlockMask(std::shared_ptr<const State> state) : state(std::move(state)) {}

private:
  std::shared_ptr<const State> state;
};

} // namespace attnc

// Random well-typed variants with the captures they read: nested division, modulo, min, max,
// abs, clamp, lookups of one to three dimensions, comparisons and logic, and for scores float
// arithmetic that stays in a sane range. The same seed gives the same variant.
#pragma once

#include <memory>
#include <random>

#include "attnc/BlockMask.h"
#include "ir/Program.h"

namespace attnc::test {

struct RandomOptions {
  int64_t batch = 2, heads = 2, queries = 64, keys = 64;
  bool hasMask = true, hasScore = false;
  int depth = 4; // of expressions
};

struct RandomVariant {
  std::shared_ptr<const Program> program;
  Bindings bindings;
  std::vector<std::shared_ptr<std::vector<int32_t>>> memory; // of the captures, any type
};

RandomVariant randomVariant(unsigned seed, const RandomOptions &options);

} // namespace attnc::test

// One measured call: a compiled variant with pseudo-random tensors and its block mask.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <attnc/attnc.h>

namespace attnc::bench {

struct Case {
  std::string variant;     // of bench.attn
  std::string target = {}; // "cpu:avx2"
  DType dtype = DType::F32;
  int headDim = 64;
  int64_t queries = 2048, keys = 2048;
  int64_t batch = 1, heads = 8, kvHeads = 8;
  double density = 1.0; // of "blocks" and "key_mask"

  double points() const; // visible (query, key) pairs over all batches and heads
  double flops() const { return 4.0 * headDim * points(); }
  double bytes() const; // of the four tensors
};

// Ends the program with the message of an error.
[[noreturn]] void die(const std::string &message);
template <typename T> T take(Result<T> result) {
  if (!result)
    die(result.error().message);
  return std::move(*result);
}
inline void check(const Status &status) {
  if (!status)
    die(status.error().message);
}

Variant loadVariant(const std::string &name);

// Values of about a normal distribution, the same for the same seed.
OwnedTensor randomTensor(DType dtype, std::vector<int64_t> shape, unsigned seed);

class PreparedCase {
public:
  // Compiles, fills the tensors and makes the block mask.
  PreparedCase(const Context &context, const Case &measured);

  void run();            // with the block mask made before
  void runWithoutMask(); // makes the block mask, as a call without one does
  void makeMask() const; // the analysis alone
  const RunStats &stats() const { return lastStats; }
  const Kernel &kernel() const { return *compiled; }
  const Bindings &bindings() const { return arguments.bindings; }
  const Case &description() const { return measured; }

private:
  OwnedTensor &hold(OwnedTensor tensor);
  Problem problem() const;

  Case measured;
  std::unique_ptr<Kernel> compiled;
  std::vector<std::unique_ptr<OwnedTensor>> memory;
  RunArguments arguments;
  std::unique_ptr<BlockMask> mask;
  RunStats lastStats;
};

// Captures that a variant of bench.attn wants, for these sizes.
void appendCaptures(const Case &measured, std::vector<std::unique_ptr<OwnedTensor>> &memory, Bindings &bindings);

} // namespace attnc::bench

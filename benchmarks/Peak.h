// What this machine can do at most: the measure that kernels are held against.
#pragma once

#include <string>
#include <vector>

namespace attnc::bench {

struct Peak {
  std::string what; // "fma_avx2", "fma_avx512", "dot_bf16", "read"
  std::string unit; // "GFLOP/s", "GB/s"
  int threads = 0;
  bool isSupported = false;
  double best = 0, median = 0;
};

// Multiply-add rates of the instruction families that the processor has, and read
// bandwidth from memory where `readsMemory`; a few seconds for each thread count.
std::vector<Peak> measurePeaks(const std::vector<int> &threadCounts, bool readsMemory = true);

// The arithmetic that a kernel of this target and dtype could use: "fma_avx2",
// "fma_avx512" or "dot_bf16". 16-bit floats are widened where there is no dot product.
std::string peakFor(const std::string &target, const std::string &dtype);

// The target that "cpu" means on this machine: "cpu:avx512_bf16".
std::string bestTarget();
bool hasTarget(const std::string &target);

// "AMD EPYC, family 25 model 17 stepping 1"
std::string processorName();

} // namespace attnc::bench

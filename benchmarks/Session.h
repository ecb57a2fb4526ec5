// What the groups of measurements share: context, timing, peaks, and the rows they write.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "benchmarks/Clock.h"
#include "benchmarks/Inputs.h"
#include "benchmarks/Peak.h"

namespace attnc::bench {

struct Session {
  Context context; // keeps kernels in memory only
  int threads = 1;
  std::vector<std::string> targets; // best first
  bool isQuick = false;             // small sizes, to try the program
  TimingOptions timing = {};
  std::vector<Peak> peaks = {};
  nlohmann::json rows = nlohmann::json::array();

  // Adds a row and says it on stderr.
  void add(nlohmann::json row);
  // Measures the arithmetic peaks again: clocks change, and the best ever seen counts.
  void refreshPeaks();
};

// A row's fields for a case and its timing.
nlohmann::json describe(const char *group, const Case &measured, const Timing &timing, int threads);

// The groups.
void measureForward(Session &session); // throughput by variant, dtype, size and target
void measureMods(Session &session);    // what mods add to plain attention
void measureSparse(Session &session);  // rate on visited tiles by density
void measureDecode(Session &session);  // one query, many keys
void measureLatency(Session &session); // compile, cache hit, tiny calls
void measureMemory(Session &session);  // resident memory beyond the tensors

} // namespace attnc::bench

// Timing on a machine that may be shared: calls take turns, and blocks of rounds in which
// other processes were busy are thrown away.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace attnc::bench {

double now(); // seconds

// Seconds that all processors were busy, and that this process used.
struct CpuUse {
  double machine = 0, own = 0;
};
CpuUse cpuUse();

struct Timing {
  double best = 0, median = 0; // seconds
  int rounds = 0;
  bool isQuiet = true; // false: other processes were busy all along
};

struct TimingOptions {
  double seconds = 1.0; // of quiet rounds wanted for each call
  int minRounds = 5;
  int maxRounds = 200;
  double patience = 20.0; // seconds to wait for quiet ones
};

// Times the calls round-robin, each warmed up once, so that noise meets all alike.
std::vector<Timing> timeTogether(const std::vector<std::function<void()>> &calls, const TimingOptions &options);

} // namespace attnc::bench

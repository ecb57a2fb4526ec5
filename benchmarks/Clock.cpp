#include "benchmarks/Clock.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

namespace attnc::bench {

namespace {
constexpr double kBlockSeconds = 0.15; // long against the 10 ms resolution of /proc/stat
constexpr double kOthersAllowed = 0.1; // cores
} // namespace

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

CpuUse cpuUse() {
  CpuUse use;
  // user nice system idle iowait irq softirq steal
  std::ifstream file("/proc/stat");
  std::string name;
  double fields[8] = {};
  file >> name;
  for (double &field : fields)
    file >> field;
  for (int i : {0, 1, 2, 5, 6, 7})
    use.machine += fields[i] / double(sysconf(_SC_CLK_TCK));
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval &time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
  use.own = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  return use;
}

static Timing summary(std::vector<double> &times, bool isQuiet) {
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2], static_cast<int>(times.size()), isQuiet};
}

std::vector<Timing> timeTogether(const std::vector<std::function<void()>> &calls, const TimingOptions &options) {
  for (const auto &call : calls)
    call();
  const size_t count = calls.size();
  std::vector<std::vector<double>> quiet(count), noisy(count);
  double used = 0;
  const double begin = now();
  for (;;) {
    std::vector<std::vector<double>> block(count);
    const double blockBegin = now();
    const CpuUse before = cpuUse();
    while (now() - blockBegin < kBlockSeconds)
      for (size_t i = 0; i < count; ++i) {
        const double start = now();
        calls[i]();
        block[i].push_back(now() - start);
      }
    const double wall = now() - blockBegin;
    const CpuUse after = cpuUse();
    const double others = (after.machine - before.machine) - (after.own - before.own);
    const bool isQuiet = others < std::max(kOthersAllowed * wall, 0.02);
    for (size_t i = 0; i < count; ++i) {
      auto &target = isQuiet ? quiet[i] : noisy[i];
      target.insert(target.end(), block[i].begin(), block[i].end());
    }
    used += isQuiet ? wall : 0;
    const int rounds = static_cast<int>(quiet[0].size());
    if (rounds >= options.minRounds && (used >= options.seconds * double(count) || rounds >= options.maxRounds))
      break;
    if (now() - begin > options.patience + options.seconds * double(count))
      break;
    if (!isQuiet)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  const bool isQuiet = static_cast<int>(quiet[0].size()) >= std::min(3, options.minRounds);
  std::vector<Timing> timings;
  for (size_t i = 0; i < count; ++i) {
    if (!isQuiet)
      noisy[i].insert(noisy[i].end(), quiet[i].begin(), quiet[i].end());
    timings.push_back(summary(isQuiet ? quiet[i] : noisy[i], isQuiet));
  }
  return timings;
}

} // namespace attnc::bench

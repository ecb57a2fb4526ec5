// attnc_bench [group ...]: measures this machine's peaks and attnc's kernels in one run.
// Progress goes to stderr, one JSON document to stdout; report.py makes tables of it.
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>

#include <fmt/format.h>

#include "benchmarks/Session.h"

using namespace attnc;
using namespace attnc::bench;

namespace {
struct Group {
  const char *name;
  void (*measure)(Session &);
};
// Latency comes first: its first row is the first compile of the process.
constexpr Group kGroups[] = {{"latency", measureLatency}, {"memory", measureMemory}, {"forward", measureForward},
                             {"mods", measureMods},       {"sparse", measureSparse}, {"decode", measureDecode}};

struct Options {
  std::vector<std::string> groups, targets;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  double seconds = 1.0;
  bool isQuick = false;
};
} // namespace

static const char *kUsage = "usage: attnc_bench [latency|memory|forward|mods|sparse|decode|peaks ...]\n"
                            "                   [--threads N] [--target cpu:NAME ...] [--seconds S] [--quick]\n";

static Options parseOptions(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    auto value = [&] {
      if (i + 1 == argc)
        die(fmt::format("{} expects a value\n{}", argument, kUsage));
      return std::string(argv[++i]);
    };
    if (argument == "--threads")
      options.threads = std::max(1, std::atoi(value().c_str()));
    else if (argument == "--seconds")
      options.seconds = std::atof(value().c_str());
    else if (argument == "--target")
      options.targets.push_back(value());
    else if (argument == "--quick")
      options.isQuick = true;
    else if (argument == "--help" || argument.starts_with("-"))
      die(kUsage);
    else
      options.groups.push_back(argument);
  }
  for (const std::string &target : options.targets)
    if (!hasTarget(target))
      die(fmt::format("this processor cannot run '{}', its best is '{}'", target, bestTarget()));
  if (options.targets.empty()) {
    options.targets = {bestTarget()};
    if (hasTarget("cpu:avx2") && bestTarget() != "cpu:avx2")
      options.targets.push_back("cpu:avx2");
  }
  return options;
}

void Session::add(nlohmann::json row) {
  fmt::print(stderr, "{}\n", row.dump());
  rows.push_back(std::move(row));
}

void Session::refreshPeaks() {
  for (const Peak &again : measurePeaks({threads}, false))
    for (Peak &peak : peaks)
      if (peak.what == again.what && peak.threads == again.threads)
        peak.best = std::max(peak.best, again.best);
}

static nlohmann::json peakRows(const std::vector<Peak> &peaks) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Peak &peak : peaks)
    if (peak.isSupported)
      rows.push_back({{"what", peak.what},
                      {"unit", peak.unit},
                      {"threads", peak.threads},
                      {"best", peak.best},
                      {"median", peak.median}});
  return rows;
}

int main(int argc, char **argv) {
  const Options options = parseOptions(argc, argv);
  auto wants = [&](const char *name) {
    return options.groups.empty() ||
           std::find(options.groups.begin(), options.groups.end(), name) != options.groups.end();
  };
  ContextOptions contextOptions;
  contextOptions.cacheDir = "none";
  contextOptions.executor = makeThreadPool(options.threads);
  Session session{.context = take(Context::create(contextOptions)),
                  .threads = options.threads,
                  .targets = options.targets,
                  .isQuick = options.isQuick};
  session.timing.seconds = options.isQuick ? 0.1 : options.seconds;
  session.timing.patience = options.isQuick ? 0.1 : session.timing.patience;
  if (wants("latency"))
    measureLatency(session);

  std::vector<int> threadCounts{1};
  if (options.threads != 1)
    threadCounts.push_back(options.threads);
  session.peaks = measurePeaks(threadCounts);
  for (const Group &group : kGroups)
    if (wants(group.name) && std::strcmp(group.name, "latency") != 0)
      group.measure(session);

  const nlohmann::json document{{"processor", processorName()},
                                {"best_target", bestTarget()},
                                {"processors", std::thread::hardware_concurrency()},
                                {"threads", options.threads},
                                {"quick", options.isQuick},
                                {"peaks", peakRows(session.peaks)},
                                {"rows", session.rows}};
  fmt::print("{}\n", document.dump(1));
  return 0;
}

// The costs around a kernel: compiling it, finding it in the cache, and calling it.
#include <filesystem>
#include <unistd.h>

#include "benchmarks/Session.h"

namespace attnc::bench {

namespace {
struct LatencyCase {
  const char *variant;
  DType dtype;
  int headDim;
};
constexpr LatencyCase kCases[] = {{"full", DType::F32, 64},    {"causal", DType::F32, 64},
                                  {"alibi", DType::F32, 64},   {"softcap", DType::F32, 128},
                                  {"causal", DType::BF16, 64}, {"documents", DType::F32, 64}};
constexpr int kRepeats = 5;
} // namespace

static CompileOptions optionsOf(const LatencyCase &c, const std::string &target) {
  return {.dtype = c.dtype, .headDim = c.headDim, .valueDim = c.headDim, .target = target};
}

static Context contextWith(const std::string &cacheDir) {
  ContextOptions options;
  options.cacheDir = cacheDir;
  return take(Context::create(options));
}

static nlohmann::json row(const char *what, const LatencyCase &c, const std::string &target,
                          std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return {{"group", "latency"},
          {"what", what},
          {"variant", c.variant},
          {"dtype", dtypeName(c.dtype)},
          {"D", c.headDim},
          {"target", target},
          {"best_ms", seconds.front() * 1e3},
          {"median_ms", seconds[seconds.size() / 2] * 1e3}};
}

// Source text to a kernel that can be called, nothing cached; a fresh context each time.
static double compileOnce(const LatencyCase &c, const std::string &target) {
  const double begin = now();
  const Context context = contextWith("none");
  take(context.compile(loadVariant(c.variant), optionsOf(c, target)));
  return now() - begin;
}

static void callOnce(const Kernel &kernel, const LatencyCase &c) {
  Case tiny{.variant = c.variant,
            .dtype = c.dtype,
            .headDim = c.headDim,
            .queries = 64,
            .keys = 64,
            .heads = 1,
            .kvHeads = 1};
  std::vector<std::unique_ptr<OwnedTensor>> memory;
  RunArguments arguments;
  auto tensor = [&] {
    memory.push_back(std::make_unique<OwnedTensor>(take(OwnedTensor::zeros(c.dtype, {1, 1, tiny.queries, c.headDim}))));
    return memory.back()->view;
  };
  arguments.query = tensor(), arguments.key = tensor(), arguments.value = tensor(), arguments.output = tensor();
  appendCaptures(tiny, memory, arguments.bindings);
  check(kernel.run(arguments));
}

// In a new context over a filled directory: source text to the end of the first call.
static double hitOnce(const LatencyCase &c, const std::string &target, const std::string &directory) {
  const Context context = contextWith(directory);
  const double begin = now();
  const Kernel kernel = take(context.compile(loadVariant(c.variant), optionsOf(c, target)));
  if (!kernel.info().fromDisk)
    die("a kernel that was just compiled is not in the cache");
  callOnce(kernel, c);
  return now() - begin;
}

static void measureCompiles(Session &session, const std::string &target) {
  namespace fs = std::filesystem;
  const fs::path directory = fs::temp_directory_path() / ("attnc-bench-" + std::to_string(getpid()));
  for (const LatencyCase &c : kCases) {
    std::vector<double> cold, hit;
    for (int i = 0; i < kRepeats; ++i)
      cold.push_back(compileOnce(c, target));
    session.add(row("cold compile", c, target, cold));
    take(contextWith(directory.string()).compile(loadVariant(c.variant), optionsOf(c, target)));
    for (int i = 0; i < kRepeats; ++i)
      hit.push_back(hitOnce(c, target, directory.string()));
    session.add(row("cache hit to the end of the first call", c, target, hit));
  }
  std::error_code ignored;
  fs::remove_all(directory, ignored);
}

// The whole time of calls that compute almost nothing.
static void measureTinyCalls(Session &session, const std::string &target) {
  for (const char *variant : {"full", "causal", "alibi"})
    for (int64_t size : {1, 16}) {
      const Case tiny{.variant = variant, .target = target, .queries = size, .keys = size, .heads = 1, .kvHeads = 1};
      PreparedCase prepared(session.context, tiny);
      constexpr int kCalls = 1000;
      auto many = [&](auto &&call) {
        return [call] {
          for (int i = 0; i < kCalls; ++i)
            call();
        };
      };
      const auto timings =
          timeTogether({many([&] { prepared.run(); }), many([&] { prepared.runWithoutMask(); })}, session.timing);
      for (int i : {0, 1})
        session.add({{"group", "tiny"},
                     {"variant", variant},
                     {"target", target},
                     {"Q", size},
                     {"what", i ? "block mask made by the call" : "block mask given"},
                     {"best_us", timings[i].best * 1e6 / kCalls},
                     {"median_us", timings[i].median * 1e6 / kCalls},
                     {"quiet", timings[i].isQuiet}});
    }
}

void measureLatency(Session &session) {
  const std::string &target = session.targets.front();
  // The first compile of a process also loads the compiler library: a row of its own.
  session.add(row("first compile of a process", kCases[0], target, {compileOnce(kCases[0], target)}));
  measureCompiles(session, target);
  measureTinyCalls(session, target);
}

} // namespace attnc::bench

// attnc bench: compile and run times of one variant on pseudo-random tensors.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/attnc/Common.h"

namespace attnc::cli {

namespace {
struct BenchOptions {
  std::string variant, dtype = "f32", target;
  int64_t size = 2048, keys = 0, batch = 1, heads = 8, kvHeads = 0;
  int headDim = 64, rounds = 7;
  bool asJson = false;
  BindingOptions bindings;
};

double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
} // namespace

static OwnedTensor randomTensor(DType dtype, std::vector<int64_t> shape, unsigned seed) {
  OwnedTensor tensor = take(OwnedTensor::zeros(dtype, std::move(shape)));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.view.elements(); ++i) {
    const float value = static_cast<float>(static_cast<int>(random() % 2001) - 1000) * 1e-3f;
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    // Any 16-bit pattern of moderate size will do for a timing: bf16 is cut, f16 rebased.
    if (dtype == DType::F32)
      static_cast<float *>(tensor.view.data)[i] = value;
    else if (dtype == DType::BF16)
      static_cast<uint16_t *>(tensor.view.data)[i] = static_cast<uint16_t>(bits >> 16);
    else
      static_cast<uint16_t *>(tensor.view.data)[i] = static_cast<uint16_t>(0x3000 | (random() & 0x8BFF));
  }
  return tensor;
}

static void bench(BenchOptions &options, const GlobalOptions &global) {
  const Variant variant = loadVariant(options.variant);
  const DType dtype = parseDtype(options.dtype);
  const int64_t keys = options.keys ? options.keys : options.size;
  const int64_t kvHeads = options.kvHeads ? options.kvHeads : options.heads;
  const Problem problem{.batch = options.batch,
                        .heads = options.heads,
                        .kvHeads = kvHeads,
                        .queryLength = options.size,
                        .kvLength = keys,
                        .headDim = options.headDim,
                        .valueDim = options.headDim};
  Bindings bindings = options.bindings.load();
  std::vector<OwnedTensor> memory;
  memory.reserve(16);
  const auto filled = fillMissingCaptures(variant, problem, bindings, memory);
  CompileOptions compile{
      .dtype = dtype, .headDim = options.headDim, .valueDim = options.headDim, .target = options.target};
  for (const NamedTensor &capture : bindings.captures)
    compile.captureDtypes.emplace_back(capture.name, capture.view.dtype);

  GlobalOptions cold = global;
  cold.cacheDir = "none";
  Context context = makeContext(cold);
  progress("compiling");
  double start = now();
  const Kernel kernel = take(context.compile(variant, compile));
  const double coldMs = now() - start;
  start = now();
  take(context.compile(variant, compile));
  const double hitMs = now() - start;

  const int64_t d = options.headDim;
  const OwnedTensor query = randomTensor(dtype, {options.batch, options.heads, options.size, d}, 1);
  const OwnedTensor key = randomTensor(dtype, {options.batch, kvHeads, keys, d}, 2);
  const OwnedTensor value = randomTensor(dtype, {options.batch, kvHeads, keys, d}, 3);
  const OwnedTensor output = take(OwnedTensor::zeros(dtype, query.view.shape));
  start = now();
  const BlockMask mask = take(BlockMask::create(kernel.variant(), problem, bindings));
  const double maskMs = now() - start;
  const RunArguments arguments{.query = query.view,
                               .key = key.view,
                               .value = value.view,
                               .output = output.view,
                               .lse = {},
                               .bindings = bindings,
                               .scale = {},
                               .queryOffset = 0,
                               .blockMask = &mask};
  std::vector<double> times;
  RunStats stats;
  for (int round = 0; round <= options.rounds; ++round) {
    progress(fmt::format("round {} of {}", round, options.rounds));
    start = now();
    check(kernel.run(arguments, &stats));
    if (round > 0) // the first warms up
      times.push_back(now() - start);
  }
  progressDone();
  std::sort(times.begin(), times.end());
  const double best = times.front(), median = times[times.size() / 2];
  const double gflops = 4.0 * static_cast<double>(stats.tilesVisited) * 64 * 64 * static_cast<double>(d) / (best * 1e6);
  if (options.asJson) {
    fmt::print(
        "{{\"variant\": \"{}\", \"target\": \"{}\", \"dtype\": \"{}\", \"batch\": {}, \"heads\": {}, \"queries\": "
        "{}, \"keys\": {}, \"head_dim\": {}, \"compile_ms\": {:.3f}, \"hit_ms\": {:.4f}, \"mask_ms\": {:.4f}, "
        "\"best_ms\": {:.4f}, \"median_ms\": {:.4f}, \"gflops\": {:.2f}, \"tiles\": {}, \"tiles_visited\": {}}}\n",
        variant.name(), kernel.info().target, options.dtype, options.batch, options.heads, options.size, keys, d,
        coldMs, hitMs, maskMs, best, median, gflops, stats.tilesTotal, stats.tilesVisited);
    return;
  }
  fmt::print("{} on {}: {} batch {}, heads {}/{}, {} x {}, head dim {}\n", variant.name(), kernel.info().target,
             options.dtype, options.batch, options.heads, kvHeads, options.size, keys, d);
  if (!filled.empty())
    fmt::print("  made up captures: {} (floats small and random, integers 0, booleans true)\n",
               fmt::join(filled, ", "));
  fmt::print("  compile {:.1f} ms, again from memory {:.3f} ms, block mask {:.3f} ms\n", coldMs, hitMs, maskMs);
  fmt::print("  run: best {:.3f} ms, median {:.3f} ms; {:.1f} GFLOP/s on {} of {} tiles\n", best, median, gflops,
             stats.tilesVisited, stats.tilesTotal);
}

void addBench(CLI::App &app, const GlobalOptions &global) {
  CLI::App *command = app.add_subcommand("bench", "Time compile and run of a variant");
  command->footer("Captures that are not given are made up.\n\n"
                  "Examples:\n"
                  "  attnc bench std:causal --size 4096 --head-dim 128 --dtype bf16\n"
                  "  attnc bench std:alibi --size 2048 --threads 1 --json");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("VARIANT", options->variant, "FILE.attn, FILE.attn:NAME or std:NAME")->required();
  command->add_option("--size", options->size, "Query length")->check(CLI::PositiveNumber)->capture_default_str();
  command->add_option("--keys", options->keys, "Key length; default: the query length")->check(CLI::PositiveNumber);
  command->add_option("--batch", options->batch, "Batches")->check(CLI::PositiveNumber)->capture_default_str();
  command->add_option("--heads", options->heads, "Query heads")->check(CLI::PositiveNumber)->capture_default_str();
  command->add_option("--kv-heads", options->kvHeads, "Key heads; default: the query heads")
      ->check(CLI::PositiveNumber);
  command->add_option("--head-dim", options->headDim, "Of all tensors")->capture_default_str();
  command->add_option("--dtype", options->dtype, "f32, f16 or bf16")->capture_default_str();
  command->add_option("--target", options->target, "cpu, cpu:avx2, cpu:avx512, ...");
  command->add_option("--rounds", options->rounds, "Timed rounds")->check(CLI::PositiveNumber)->capture_default_str();
  options->bindings.addTo(*command);
  command->add_flag("--json", options->asJson, "Print one line of JSON");
  command->callback([options, &global] { bench(*options, global); });
}

} // namespace attnc::cli

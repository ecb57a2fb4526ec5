// attnc run: attention over tensors from files.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/attnc/Common.h"

namespace attnc::cli {

namespace {

struct RunOptions {
  std::string variant, query, key, value, output, lse, target;
  BindingOptions bindings;
  double scale = 0;
  bool hasScale = false, compares = false, asJson = false;
  int64_t queryOffset = 0;
  int splitSize = 1024;
};

struct Difference {
  double largest = 0, relative = 0; // relative: of norms
};

// What one rounding of the output and f32 arithmetic explain (docs/cli.md).
double tolerance(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return 2e-5;
  case DType::F16:
    return 2e-3;
  default:
    return 2e-2;
  }
}

} // namespace

// [H, S, D] counts as one batch.
static OwnedTensor loadOperand(const std::string &spec, const char *name) {
  OwnedTensor tensor = loadTensor(spec);
  if (tensor.view.rank() == 3) {
    tensor.view.shape.insert(tensor.view.shape.begin(), 1);
    tensor.view.strides.insert(tensor.view.strides.begin(), 0);
  }
  if (tensor.view.rank() != 4)
    failInput(fmt::format("{}: expected [batch, heads, length, dim] or [heads, length, dim], found {}", name,
                          toString(tensor.view)));
  if (tensor.view.dtype != DType::F32 && tensor.view.dtype != DType::F16 && tensor.view.dtype != DType::BF16)
    failInput(fmt::format("{}: expected f32, f16 or bf16, found {}", name, toString(tensor.view)));
  return tensor;
}

static double elementOf(const TensorView &view, int64_t index) {
  const char *data = static_cast<const char *>(view.data) + index * static_cast<int64_t>(dtypeSize(view.dtype));
  uint16_t bits = 0;
  switch (view.dtype) {
  case DType::F32:
    return *reinterpret_cast<const float *>(data);
  case DType::BF16: {
    std::memcpy(&bits, data, 2);
    const uint32_t wide = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    return value;
  }
  default: {
    std::memcpy(&bits, data, 2);
    const int exponent = (bits >> 10) & 31;
    const double mantissa = bits & 1023;
    double size = exponent == 0    ? std::ldexp(mantissa, -24)
                  : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                   : std::ldexp(mantissa + 1024, exponent - 25);
    return bits & 0x8000 ? -size : size;
  }
  }
}

// Equal infinities, and NaN where NaN is expected, are no difference; any other value that is
// not finite on one side is an infinite one.
static Difference compare(const TensorView &got, const TensorView &expected) {
  Difference difference;
  double squares = 0, errors = 0;
  for (int64_t i = 0; i < got.elements(); ++i) {
    const double a = elementOf(got, i), b = elementOf(expected, i);
    if (std::isfinite(b))
      squares += b * b;
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    const double error = std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : INFINITY;
    difference.largest = std::max(difference.largest, error);
    errors += error * error;
  }
  difference.relative = squares > 0 ? std::sqrt(errors / squares) : std::sqrt(errors);
  return difference;
}

// JSON has no infinity.
static std::string jsonNumber(double value) { return std::isfinite(value) ? fmt::format("{:.4e}", value) : "null"; }

static void run(RunOptions &options, const GlobalOptions &global) {
  const Variant variant = loadVariant(options.variant);
  const OwnedTensor query = loadOperand(options.query, "query"), key = loadOperand(options.key, "key");
  const OwnedTensor value = loadOperand(options.value, "value");
  std::vector<int64_t> shape = query.view.shape;
  const int headDim = static_cast<int>(shape[3]), valueDim = static_cast<int>(value.view.shape[3]);
  shape[3] = valueDim;
  const OwnedTensor output = take(OwnedTensor::zeros(query.view.dtype, shape));
  const OwnedTensor lse = take(OwnedTensor::zeros(DType::F32, {shape[0], shape[1], shape[2]}));

  RunArguments arguments{
      .query = query.view, .key = key.view, .value = value.view, .output = output.view, .lse = lse.view};
  arguments.bindings = options.bindings.load();
  arguments.queryOffset = options.queryOffset;
  if (options.hasScale)
    arguments.scale = static_cast<float>(options.scale);
  CompileOptions compile{.dtype = query.view.dtype,
                         .headDim = headDim,
                         .valueDim = valueDim,
                         .splitSize = options.splitSize,
                         .target = options.target};
  for (const NamedTensor &capture : arguments.bindings.captures)
    compile.captureDtypes.emplace_back(capture.name, capture.view.dtype);

  Context context = makeContext(global);
  progress("compiling");
  const Kernel kernel = take(context.compile(variant, compile));
  progress("running");
  RunStats stats;
  check(kernel.run(arguments, &stats));
  Difference difference;
  if (options.compares) {
    progress("computing the float64 reference");
    const OwnedTensor expected = take(OwnedTensor::zeros(query.view.dtype, shape));
    RunArguments reference = arguments;
    reference.output = expected.view;
    reference.lse.reset();
    check(runReference(variant, reference, &context.executor()));
    difference = compare(output.view, expected.view);
  }
  progressDone();
  if (!options.output.empty())
    check(writeNpy(options.output, output.view));
  if (!options.lse.empty())
    check(writeNpy(options.lse, lse.view));

  const int64_t skipped = stats.tilesTotal - stats.tilesVisited;
  const double gflops =
      2.0 * static_cast<double>(stats.tilesVisited) * 64 * 64 * (headDim + valueDim) / (stats.milliseconds * 1e6);
  const bool isWithin = difference.largest <= tolerance(query.view.dtype);
  if (options.asJson) {
    fmt::print("{{\"variant\": \"{}\", \"shape\": [{}], \"dtype\": \"{}\", \"target\": \"{}\", \"compile_ms\": {:.3f}, "
               "\"cached\": {}, \"run_ms\": {:.4f}, \"gflops\": {:.2f}, \"tiles\": {}, \"tiles_skipped\": {}, "
               "\"tiles_partial\": {}",
               variant.name(), fmt::join(shape, ", "), dtypeName(query.view.dtype), kernel.info().target,
               kernel.info().milliseconds, kernel.info().fromDisk || kernel.info().fromMemory, stats.milliseconds,
               gflops, stats.tilesTotal, skipped, stats.tilesPartial);
    if (options.compares)
      fmt::print(", \"max_abs_error\": {}, \"relative_error\": {}", jsonNumber(difference.largest),
                 jsonNumber(difference.relative));
    fmt::print("}}\n");
  } else {
    fmt::print("{}: {} on {}\n", variant.name(), toString(output.view), kernel.info().target);
    fmt::print("  compile {:.1f} ms{}, run {:.3f} ms, {:.1f} GFLOP/s on visited tiles\n", kernel.info().milliseconds,
               kernel.info().fromDisk ? " (from the cache)" : "", stats.milliseconds, gflops);
    fmt::print("  tiles: {} of {} skipped, {} full, {} partial\n", skipped, stats.tilesTotal,
               stats.tilesVisited - stats.tilesPartial, stats.tilesPartial);
    if (options.compares)
      fmt::print("  against float64: largest error {:.3e}, relative {:.3e} ({} the tolerance {:.0e})\n",
                 difference.largest, difference.relative, isWithin ? "within" : "BEYOND", tolerance(query.view.dtype));
  }
  if (options.compares && !isWithin)
    throw Failure{kDiffers, fmt::format("the output differs from the float64 reference by {:.3e}, beyond {:.0e}",
                                        difference.largest, tolerance(query.view.dtype))};
}

void addRun(CLI::App &app, const GlobalOptions &global) {
  CLI::App *command = app.add_subcommand("run", "Compute attention over tensors from files");
  command->footer("Tensors are [batch, heads, length, dim] or [heads, length, dim], f32, f16 or bf16, in .npy or\n"
                  ".safetensors files (FILE.safetensors:TENSOR).\n\n"
                  "Examples:\n"
                  "  attnc run std:causal --query q.npy --key k.npy --value v.npy --output o.npy\n"
                  "  attnc run my.attn:mine --query t.safetensors:q --key t.safetensors:k --value t.safetensors:v \\\n"
                  "      --capture slopes=slopes.npy --param window=256 --compare");
  auto options = std::make_shared<RunOptions>();
  command->add_option("VARIANT", options->variant, "FILE.attn, FILE.attn:NAME or std:NAME")->required();
  command->add_option("--query", options->query, "[B, H, Q, D]")->required();
  command->add_option("--key", options->key, "[B, Hkv, KV, D]")->required();
  command->add_option("--value", options->value, "[B, Hkv, KV, Dv]")->required();
  options->bindings.addTo(*command);
  CLI::Option *scale = command->add_option("--scale", options->scale, "Default: the variant's, or 1/sqrt(D)");
  command->add_option("--query-offset", options->queryOffset, "q_idx of the first row")->check(CLI::NonNegativeNumber);
  command->add_option("--output", options->output, ".npy file for the output");
  command->add_option("--lse", options->lse, ".npy file for the log-sum-exp");
  command->add_option("--split-size", options->splitSize, "Keys of a split")->capture_default_str();
  command->add_option("--target", options->target, "cpu, cpu:sse, cpu:avx2, cpu:avx512, cpu:avx512_bf16");
  command->add_flag("--compare", options->compares, "Compare with the float64 reference");
  command->add_flag("--json", options->asJson, "Print the result as one line of JSON");
  command->callback([options, scale, &global] {
    options->hasScale = scale->count() > 0;
    run(*options, global);
  });
}

} // namespace attnc::cli

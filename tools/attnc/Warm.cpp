// attnc warm: kernels compiled ahead of time, several at once.
#include <charconv>
#include <cstdio>
#include <set>

#include <fmt/format.h>

#include "tools/attnc/Common.h"

namespace attnc::cli {

namespace {

struct WarmOptions {
  std::vector<std::string> variants, dtypes = {"f32"}, dims = {"64"}, targets = {"cpu"}, captures;
  int splitSize = 1024, jobs = 0;
};

} // namespace

// Every variant of a file that is named without one.
static std::vector<Variant> loadVariants(const std::string &spec) {
  std::vector<Variant> variants;
  if (spec != "std" && !spec.ends_with(".attn"))
    return {loadVariant(spec)};
  for (const std::string &name : take(Variant::list(spec)))
    variants.push_back(take(Variant::load(spec, name)));
  return variants;
}

// "128", or "192x128" where value's differs.
static std::pair<int, int> parseDims(const std::string &text) {
  const auto read = [&](std::string_view part) {
    int number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size())
      failInput(fmt::format("--head-dim '{}': expected D or DxDv, such as 128 or 192x128", text));
    return number;
  };
  const size_t cross = text.find('x');
  if (cross == text.npos)
    return {read(text), read(text)};
  return {read(std::string_view(text).substr(0, cross)), read(std::string_view(text).substr(cross + 1))};
}

static std::vector<std::pair<std::string, DType>> captureDtypes(const WarmOptions &options) {
  std::vector<std::pair<std::string, DType>> dtypes;
  for (const std::string &text : options.captures) {
    const size_t equals = text.find('=');
    if (equals == text.npos || equals == 0)
      failInput(fmt::format("--capture-dtype '{}': expected NAME=DTYPE", text));
    dtypes.emplace_back(text.substr(0, equals),
                        parseDtype(text.substr(equals + 1),
                                   {DType::F32, DType::F16, DType::BF16, DType::I32, DType::I64, DType::Bool}));
  }
  return dtypes;
}

static std::vector<Context::WarmItem> allCombinations(const WarmOptions &options) {
  const std::vector<std::pair<std::string, DType>> captures = captureDtypes(options);
  std::vector<Context::WarmItem> items;
  for (const std::string &spec : options.variants)
    for (const Variant &variant : loadVariants(spec))
      for (const std::string &target : options.targets)
        for (const std::string &dtype : options.dtypes)
          for (const std::string &dims : options.dims) {
            const auto [headDim, valueDim] = parseDims(dims);
            items.push_back({variant,
                             {.dtype = parseDtype(dtype),
                              .headDim = headDim,
                              .valueDim = valueDim,
                              .splitSize = options.splitSize,
                              .target = target,
                              .captureDtypes = captures}});
          }
  return items;
}

static void warm(const WarmOptions &options, const GlobalOptions &global) {
  const Context context = makeContext(global);
  if (context.cacheDirectory().empty())
    failInput("the cache is in memory only: give --cache-dir DIR, or leave --cache-dir=none away");
  const std::vector<Context::WarmItem> items = allCombinations(options);
  size_t compiled = 0, cached = 0, failed = 0;
  std::set<std::string> said;
  progress(fmt::format("0 of {} kernels", items.size()));
  // Called on threads of the pool: std::fputs, because fmt::print throws where it cannot write.
  context.warm(items, options.jobs, [&](size_t index, const Result<CompileInfo> &result) {
    const auto &[variant, compile] = items[index];
    const std::string what = fmt::format("{:<20} {:<16} {:<5} {}x{}", variant.name(), compile.target,
                                         dtypeName(compile.dtype), compile.headDim, compile.valueDim);
    progressDone();
    if (!result) {
      ++failed;
      const bool isRepeated = !said.insert(result.error().message).second;
      std::fputs(
          fmt::format("{:<12}  {}  failed: {}\n", "-", what, isRepeated ? "as above" : result.error().message).c_str(),
          stdout);
    } else {
      const bool isFound = result->fromDisk || result->fromMemory;
      ++(isFound ? cached : compiled);
      const std::string how = isFound ? "was there" : fmt::format("{:.1f} ms", result->milliseconds);
      std::fputs(fmt::format("{}  {}  {}\n", result->key.substr(0, 12), what, how).c_str(), stdout);
    }
    progress(fmt::format("{} of {} kernels", compiled + cached + failed, items.size()));
  });
  progressDone();
  fmt::print("{} kernels: {} compiled, {} were there, {} failed\n", items.size(), compiled, cached, failed);
  if (failed > 0)
    failInput(fmt::format("{} of {} kernels could not be made", failed, items.size()));
}

void addWarm(CLI::App &app, const GlobalOptions &global) {
  CLI::App *command = app.add_subcommand("warm", "Compile kernels into the cache ahead of time");
  command->footer("Every variant is compiled for every dtype, head dim and target. A FILE.attn without a NAME\n"
                  "stands for all its variants, std for the whole standard library. Lengths, heads and batch\n"
                  "are no part of a kernel.\n\n"
                  "Examples:\n"
                  "  attnc warm std:causal std:alibi --dtype=f16,bf16 --head-dim=64,128,192x128\n"
                  "  attnc warm my.attn --target=cpu:avx2,cpu:avx512 --jobs=4\n"
                  "  attnc warm std:alibi --capture-dtype=slopes=bf16");
  auto options = std::make_shared<WarmOptions>();
  command->add_option("VARIANT", options->variants, "FILE.attn, FILE.attn:NAME, std:NAME or std")->required();
  auto addList = [&](const char *name, std::vector<std::string> &into, const char *help) {
    command->add_option(name, into, help)
        ->delimiter(',')
        ->allow_extra_args(false) // else it would take a VARIANT that follows
        ->capture_default_str();
  };
  addList("--dtype", options->dtypes, "f32, f16, bf16");
  addList("--head-dim", options->dims, "D, or DxDv where value's differs");
  addList("--target", options->targets,
          "cpu, cpu:sse, cpu:avx2, cpu:avx512, cpu:avx512_bf16, cpu:neon, or any other that run takes");
  command->add_option("--split-size", options->splitSize, "Keys of a split")->capture_default_str();
  command
      ->add_option("--capture-dtype", options->captures,
                   "NAME=DTYPE of a captured tensor, where it is not f32, i32 or bool as declared")
      ->type_name("NAME=DTYPE")
      ->allow_extra_args(false);
  command->add_option("--jobs", options->jobs, "Compiles at once; default: one a processor")->check(CLI::Range(1, 256));
  command->callback([options, &global] { warm(*options, global); });
}

} // namespace attnc::cli

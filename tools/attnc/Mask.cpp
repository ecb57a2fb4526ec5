// attnc mask: which tiles a variant's mask leaves empty, partial or full.
#include <chrono>
#include <fstream>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/attnc/Common.h"
#include "tools/attnc/MaskImage.h"

namespace attnc::cli {

namespace {
struct MaskOptions {
  std::string variant, size, output;
  BindingOptions bindings;
  int64_t batch = 1, heads = 1, batchIndex = 0, headIndex = 0, queryOffset = 0;
  int block = 64;
};
} // namespace

// "2048" or "1024x2048"
static std::pair<int64_t, int64_t> parseSize(const std::string &text) {
  char *end = nullptr;
  const int64_t query = std::strtoll(text.c_str(), &end, 10);
  int64_t keys = query;
  if (*end == 'x')
    keys = std::strtoll(end + 1, &end, 10);
  if (*end || query < 1 || keys < 1)
    failInput(fmt::format("--size '{}': expected Q or QxKV with positive lengths, for example 2048 or 128x4096", text));
  return {query, keys};
}

static void writePicture(const MaskImage &image, const std::string &path, const std::string &title) {
  const bool isSvg = path.ends_with(".svg");
  const int pixels = static_cast<int>(std::max<int64_t>(1, 512 / std::max(image.rows, image.columns)));
  std::ofstream file(path, std::ios::binary);
  file << (isSvg ? toSvg(image, title) : toPng(image, pixels));
  file.close();
  if (!file)
    failInput(fmt::format("cannot write '{}'", path));
}

static void drawMaskOf(MaskOptions &options, const GlobalOptions &) {
  const std::string &picture = options.output;
  if (!picture.empty() && !picture.ends_with(".svg") && !picture.ends_with(".png"))
    failInput(fmt::format("'{}': expected a name that ends in .png or .svg", picture));
  const Variant variant = loadVariant(options.variant);
  const auto [queries, keys] = parseSize(options.size);
  Problem problem{.batch = options.batch,
                  .heads = options.heads,
                  .kvHeads = options.heads,
                  .queryLength = queries,
                  .kvLength = keys,
                  .headDim = 64,
                  .valueDim = 64,
                  .queryOffset = options.queryOffset};
  if (options.batchIndex >= options.batch || options.headIndex >= options.heads)
    failInput(fmt::format("batch {} and head {} are not among {} batches and {} heads", options.batchIndex,
                          options.headIndex, options.batch, options.heads));
  const Bindings bindings = options.bindings.load();
  const auto start = std::chrono::steady_clock::now();
  const BlockMask mask = take(BlockMask::create(variant, problem, bindings, options.block, options.block));
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();

  winsize window{};
  const bool onTerminal = isTerminal(STDOUT_FILENO);
  if (onTerminal)
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &window);
  const int64_t width = window.ws_col ? window.ws_col : 80;
  const MaskImage small =
      drawMask(mask, options.batchIndex, options.headIndex, 2 * std::min<int64_t>(width, 64), width);
  fmt::print("{}", toTerminal(small, onTerminal));
  const BlockMask::Counts one = mask.counts(options.batchIndex, options.headIndex), all = mask.counts();
  fmt::print("{}: {} queries x {} keys, blocks of {}\n", variant.name(), queries, keys, options.block);
  fmt::print("  batch {}, head {}: {} full, {} partial, {} empty\n", options.batchIndex, options.headIndex, one.full,
             one.partial, one.empty);
  fmt::print("  all: {} full, {} partial, {} empty; {:.1f} % skipped; {} different slice{}\n", all.full, all.partial,
             all.empty, 100 * mask.sparsity(), mask.sliceCount(), mask.sliceCount() == 1 ? "" : "s");
  fmt::print("  analysed in {:.3f} ms, {} bytes\n", ms, mask.bytes());
  if (!options.output.empty())
    writePicture(drawMask(mask, options.batchIndex, options.headIndex, 2048, 2048), options.output, variant.name());
}

void addMask(CLI::App &app, const GlobalOptions &global) {
  CLI::App *command = app.add_subcommand("mask", "Draw the block mask of a variant, with counts");
  command->footer("Full tiles are drawn solid, partial ones shaded, empty ones blank. Masking inside of score_mod\n"
                  "is not seen here; 'attnc dump --emit=attn' shows the mask after extraction.\n\n"
                  "Examples:\n"
                  "  attnc mask std:causal --size 2048\n"
                  "  attnc mask std:document --size 4096 --capture doc=doc.npy -o mask.png");
  auto options = std::make_shared<MaskOptions>();
  command->add_option("VARIANT", options->variant, "FILE.attn, FILE.attn:NAME or std:NAME")->required();
  command->add_option("--size", options->size, "Lengths: Q or QxKV")->required();
  command->add_option("--batch", options->batch, "Batches")->check(CLI::PositiveNumber)->capture_default_str();
  command->add_option("--heads", options->heads, "Heads")->check(CLI::PositiveNumber)->capture_default_str();
  command->add_option("--batch-index", options->batchIndex, "Batch to draw")->check(CLI::NonNegativeNumber);
  command->add_option("--head", options->headIndex, "Head to draw")->check(CLI::NonNegativeNumber);
  command->add_option("--block", options->block, "Rows and keys of a block")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--query-offset", options->queryOffset, "q_idx of the first row")->check(CLI::NonNegativeNumber);
  options->bindings.addTo(*command);
  command->add_option("-o,--output", options->output, "Picture to write: .png or .svg");
  command->callback([options, &global] { drawMaskOf(*options, global); });
}

} // namespace attnc::cli

// attnc dump: one stage of a compile, as text or as an object.
#include <cstdio>
#include <fstream>

#include <fmt/format.h>

#include "tools/attnc/Common.h"

namespace attnc::cli {

namespace {
struct DumpOptions {
  std::string variant, stage = "attn", dtype, output;
  CompileOptions compile;
};
} // namespace

static void dump(const DumpOptions &options, const GlobalOptions &global) {
  const Variant variant = loadVariant(options.variant);
  CompileOptions compile = options.compile;
  const bool isCuda = options.stage == "cuda" || options.stage == "ptx" || options.stage == "cubin";
  compile.dtype = options.dtype.empty() ? (isCuda ? DType::BF16 : DType::F32) : parseDtype(options.dtype);
  std::string text;
  if (options.stage == "source") {
    text = variant.ir(/*withLocations=*/true);
  } else {
    text = take(makeContext(global).dump(variant, compile, options.stage));
  }
  if (options.output.empty()) {
    if ((options.stage == "object" || options.stage == "cubin") && isTerminal(fileno(stdout)))
      failInput(fmt::format("stage {} is not text: give -o FILE, or redirect the output", options.stage));
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  std::ofstream file(options.output, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    failInput(fmt::format("cannot write '{}'", options.output));
}

void addDump(CLI::App &app, const GlobalOptions &global) {
  CLI::App *command = app.add_subcommand("dump", "Show a stage of the compile");
  command->footer("Stages: source (as the front end made it), attn (simplified, mask extracted), staged\n"
                  "(split by dependence), vector (the tile kernel in MLIR), llvm, asm, object;\n"
                  "for a CUDA target: cuda (the kernel's text), ptx, cubin (these two need NVRTC, no GPU).\n\n"
                  "Examples:\n"
                  "  attnc dump std:alibi\n"
                  "  attnc dump my.attn:mine --emit=asm --dtype=bf16 --head-dim=128 --target=cpu:avx2\n"
                  "  attnc dump std:causal --emit=object --target=cpu:neon -o causal.o\n"
                  "  attnc dump std:alibi --emit=cuda --target=sm_80 --head-dim=128 --value-dim=128");
  auto options = std::make_shared<DumpOptions>();
  command->add_option("VARIANT", options->variant, "FILE.attn, FILE.attn:NAME or std:NAME")->required();
  command->add_option("--emit", options->stage, "The stage")
      ->check(CLI::IsMember({"source", "attn", "staged", "vector", "llvm", "asm", "object", "cuda", "ptx", "cubin"}))
      ->capture_default_str();
  command->add_option("--dtype", options->dtype, "f32, f16 or bf16; default: f32, for CUDA stages bf16");
  command->add_option("--head-dim", options->compile.headDim, "Of query and key")->capture_default_str();
  command->add_option("--value-dim", options->compile.valueDim, "Of value and output")->capture_default_str();
  command->add_option("--split-size", options->compile.splitSize, "Keys of a split")->capture_default_str();
  command->add_option("--target", options->compile.target,
                      "cpu, cpu:sse, cpu:avx2, cpu:avx512, cpu:avx512_bf16, cpu:neon; for CUDA stages sm_80, sm_86, "
                      "sm_89, sm_90a, sm_100a, sm_120");
  command->add_option("-o,--output", options->output, "File to write; default: standard output");
  command->callback([options, &global] { dump(*options, global); });
}

} // namespace attnc::cli

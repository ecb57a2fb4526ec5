#include "codegen/cuda/Emit.h"

#include "codegen/cuda/DeviceLibrary.h"
#include "codegen/cuda/ModPrinter.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace attnc::cuda {

// Without their `#pragma once`, which means nothing in a main file.
static llvm::StringRef withoutPragma(llvm::StringRef text, std::string &storage) {
  storage = text.str();
  constexpr llvm::StringRef pragma = "#pragma once\n";
  if (size_t at = storage.find(pragma.str()); at != std::string::npos)
    storage.erase(at, pragma.size());
  return storage;
}

static std::string launchInfo(const Schedule &schedule, int sharedBytes, llvm::StringRef variant) {
  return llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object{{"variant", variant},
                                                                     {"block_m", schedule.blockM},
                                                                     {"block_n", schedule.blockN},
                                                                     {"threads", schedule.blockM * 2},
                                                                     {"shared_bytes", sharedBytes}}))
      .str();
}

KernelText emitCuda(StagedOp staged, const KernelConfig &config, llvm::StringRef variant) {
  const int columnValues = columnValueCount(staged);
  const Schedule schedule = chooseSchedule(config, columnValues);
  const int shared = sharedBytes(config, schedule, columnValues);
  std::string text, storage;
  llvm::raw_string_ostream out(text);
  out << "// Attention variant '" << staged.getSymName() << "' for " << config.arch << ", written by attnc.\n"
      << "// " << llvm::StringRef(cpu::dtypeText(config.dtype)) << ", head dim " << config.headDim << ", value dim "
      << config.valueDim << ", splits of " << config.splitSize << " keys. Compile with --fmad=false -default-device.\n";
  for (const DeviceFile &file : deviceFiles())
    out << "\n//===--- " << file.name << " ---===//\n#line 1 \"attnc/" << file.name << "\"\n"
        << withoutPragma(file.text, storage);
  out << "\n//===--- configuration ---===//\n#line 1 \"attnc/kernel.cu\"\n"
      << "struct Config {\n"
      << "  using Element = " << (config.dtype == DType::BF16 ? "BF16" : "F16") << ";\n"
      << "  static constexpr int kHeadDim = " << config.headDim << ", kValueDim = " << config.valueDim << ";\n"
      << "  static constexpr int kBlockM = " << schedule.blockM << "; // queries of a CTA\n"
      << "  static constexpr int kBlockN = " << schedule.blockN << "; // keys of a tile\n"
      << "  static constexpr int kSplitTiles = " << config.splitSize / schedule.blockN << ";\n"
      << "  static constexpr int kStages = " << schedule.stages << ";\n"
      << "  static constexpr bool kQueryInRegisters = " << (schedule.queryInRegisters ? "true" : "false") << ";\n"
      << "};\n"
      << "\n//===--- the variant ---===//\n"
      << printMods(staged, config) << "\n//===--- the kernel ---===//\n#line 1 \"attnc/kernel.cu\"\n"
      << "using Kernel = ForwardSm80<Config, Mods>;\n"
      << "static_assert(Kernel::kSharedBytes == " << shared << ", \"what the launch gives\");\n"
      << "extern \"C\" __global__ void __launch_bounds__(Kernel::kThreads)\n"
      << kKernelName << "(const __grid_constant__ Mods::Params params) {\n"
      << "  extern __shared__ __align__(128) char shared[];\n"
      << "  Kernel::run(params, shared);\n"
      << "}\n";
  return {std::move(text), launchInfo(schedule, shared, variant)};
}

} // namespace attnc::cuda

// attnc stats: what a CUDA kernel consists of, from its machine code alone: neither a GPU nor
// NVIDIA's disassembler is needed. Numbers are of the code, not of an execution.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/cuda/Cubin.h"
#include "runtime/cuda/CubinStatistics.h"
#include "runtime/cuda/Occupancy.h"
#include "tools/attnc/Common.h"

namespace attnc::cli {

namespace {

using Json = nlohmann::ordered_json;

struct StatsOptions {
  std::vector<std::string> sources, targets = {"sm_80"};
  std::string dtype = "bf16";
  CompileOptions compile;
  std::optional<uint32_t> sharedBytes;
  bool isJson = false, hasListing = false;
};

struct CubinFile {
  std::string source, bytes;
  std::optional<uint32_t> sharedBytes = {}; // dynamic ones of a block, where known
};

// Where a branch goes, if its target is in the code.
struct Branch {
  int64_t target;
  bool isConditional;
};

} // namespace

static bool isCubinName(const std::string &source) { return source.ends_with(".cubin"); }

static std::string readBytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad())
    failInput(fmt::format("cannot read '{}'", path));
  return bytes;
}

// The kernel's text asserts what a launch must give it.
static std::optional<uint32_t> sharedBytesOf(const std::string &text) {
  constexpr std::string_view kAssertion = "static_assert(Kernel::kSharedBytes == ";
  const size_t at = text.find(kAssertion);
  uint32_t bytes = 0;
  if (at == std::string::npos ||
      std::from_chars(text.data() + at + kAssertion.size(), text.data() + text.size(), bytes).ec != std::errc())
    return std::nullopt;
  return bytes;
}

static CubinFile compileVariant(const std::string &source, const std::string &target, const StatsOptions &options,
                                const Context &context) {
  CompileOptions compile = options.compile;
  compile.dtype = parseDtype(options.dtype);
  compile.target = target;
  const Variant variant = loadVariant(source);
  CubinFile file{.source = source, .bytes = take(context.dump(variant, compile, "cubin"))};
  file.sharedBytes = sharedBytesOf(take(context.dump(variant, compile, "cuda")));
  return file;
}

static std::vector<CubinFile> loadCubins(const StatsOptions &options, const GlobalOptions &global) {
  std::optional<Context> context; // files need none
  std::vector<CubinFile> files;
  for (const std::string &source : options.sources) {
    if (isCubinName(source)) {
      files.push_back({.source = source, .bytes = readBytes(source)});
      continue;
    }
    if (!context)
      context = makeContext(global);
    for (const std::string &target : options.targets)
      files.push_back(compileVariant(source, target, options, *context));
  }
  if (options.sharedBytes)
    for (CubinFile &file : files)
      file.sharedBytes = options.sharedBytes;
  return files;
}

//===--- instructions one by one ---===//

static std::optional<Branch> branchOf(int sm, cuda::Instruction instruction, size_t index) {
  const std::optional<int64_t> distance = cuda::branchDistance(sm, instruction);
  if (!distance)
    return std::nullopt;
  // Both the guard of every instruction and the branch's own predicate: 7 is "always".
  const bool isAlways = (instruction.low >> 12 & 15) == 7 && (instruction.high >> 23 & 15) == 7;
  return Branch{static_cast<int64_t>(index) + 1 + *distance, !isAlways};
}

static void printListing(int sm, const cuda::CubinKernel &kernel) {
  for (size_t i = 0; i < kernel.instructionCount(); ++i) {
    const cuda::Instruction instruction = kernel.instruction(i);
    fmt::print("  {:6}  {}", i, cuda::opcodeOf(sm, instruction).mnemonic);
    if (const auto branch = branchOf(sm, instruction, i))
      fmt::print(" to {}{}", branch->target, branch->isConditional ? ", conditional" : "");
    fmt::print("\n");
  }
}

// Arrays of the mnemonic and, of a branch, the target and whether it is conditional.
static Json listingJson(int sm, const cuda::CubinKernel &kernel) {
  Json lines = Json::array();
  for (size_t i = 0; i < kernel.instructionCount(); ++i) {
    const cuda::Instruction instruction = kernel.instruction(i);
    Json line = Json::array({cuda::opcodeOf(sm, instruction).mnemonic});
    if (const auto branch = branchOf(sm, instruction, i)) {
      line.push_back(branch->target);
      line.push_back(branch->isConditional);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

//===--- the report ---===//

static void addCounts(Json &into, const cuda::InstructionCounts &counts) {
  into["instructions"] = counts.total;
  into["stall_cycles"] = counts.stall;
  Json &byClass = into["by_class"] = Json::object();
  for (size_t kind = 0; kind < cuda::kInstructionClasses; ++kind)
    byClass[cuda::nameOf(static_cast<cuda::InstructionClass>(kind))] = counts.byClass[kind];
  into["by_mnemonic"] = counts.byMnemonic;
}

static Json occupancyJson(const cuda::KernelStatistics &kernel, uint32_t dynamicSharedBytes) {
  if (kernel.maxThreads == 0)
    return nullptr;
  const auto occupancy =
      cuda::occupancyOf(kernel.sm, kernel.registers, kernel.sharedBytes + dynamicSharedBytes, kernel.maxThreads);
  if (!occupancy)
    return nullptr;
  return {{"blocks", occupancy->blocks},
          {"warps", occupancy->warps},
          {"max_warps", occupancy->maxWarps},
          {"limit", occupancy->limit}};
}

static Json kernelJson(const CubinFile &file, const cuda::KernelStatistics &kernel) {
  Json json = {{"source", file.source},
               {"name", kernel.name},
               {"sm", kernel.sm},
               {"registers", kernel.registers},
               {"shared_bytes", kernel.sharedBytes},
               {"dynamic_shared_bytes", file.sharedBytes ? Json(*file.sharedBytes) : Json()},
               {"stack_bytes", kernel.stackBytes},
               {"local_loads", kernel.localLoads},
               {"local_load_bytes", kernel.localLoadBytes},
               {"local_stores", kernel.localStores},
               {"local_store_bytes", kernel.localStoreBytes},
               {"barriers", kernel.barriers},
               {"parameter_bytes", kernel.parameterBytes},
               {"max_threads", kernel.maxThreads},
               {"code_bytes", kernel.codeBytes},
               {"forward_branches", kernel.forwardBranches},
               {"indirect_branches", kernel.indirectBranches},
               {"occupancy", occupancyJson(kernel, file.sharedBytes.value_or(0))}};
  addCounts(json, kernel.counts);
  Json &loops = json["loops"] = Json::array();
  for (const cuda::LoopStatistics &loop : kernel.loops) {
    Json each = {{"first", loop.first}, {"last", loop.last}, {"depth", loop.depth}};
    addCounts(each, loop.counts);
    loops.push_back(std::move(each));
  }
  return json;
}

static void stats(const StatsOptions &options, const GlobalOptions &global) {
  Json kernels = Json::array();
  bool isFirst = true;
  for (const CubinFile &file : loadCubins(options, global)) {
    const auto report = cuda::readCubin(file.bytes);
    const auto cubin = cuda::parseCubin(file.bytes);
    if (!report || !cubin)
      failInput(fmt::format("'{}': {}", file.source, (report ? cubin.error() : report.error()).message));
    for (size_t i = 0; i < report->kernels.size(); ++i) {
      if (options.isJson) {
        kernels.push_back(kernelJson(file, report->kernels[i]));
        if (options.hasListing)
          kernels.back()["listing"] = listingJson(report->sm, cubin->kernels[i]);
        continue;
      }
      fmt::print("{}{}: {}", isFirst ? "" : "\n", file.source,
                 cuda::describe(report->kernels[i], /*threads=*/0, file.sharedBytes.value_or(0)));
      if (options.hasListing)
        printListing(report->sm, cubin->kernels[i]);
      isFirst = false;
    }
  }
  if (options.isJson) // a file's names may be any bytes
    fmt::print("{}\n", Json{{"kernels", kernels}}.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void addStats(CLI::App &app, const GlobalOptions &global) {
  CLI::App *command = app.add_subcommand("stats", "Count what a CUDA kernel consists of");
  command->footer("Registers, spills, shared memory, occupancy, instructions by class and mnemonic, and loops. Needs\n"
                  "NVRTC for a variant and nothing for a .cubin file; never a GPU.\n\n"
                  "Examples:\n"
                  "  attnc stats std:causal --head-dim=128 --value-dim=128\n"
                  "  attnc stats std:causal std:alibi --target=sm_80,sm_90a --json\n"
                  "  attnc stats kernel.cubin --shared-bytes=65536");
  auto options = std::make_shared<StatsOptions>();
  command->add_option("SOURCE", options->sources, "FILE.attn, FILE.attn:NAME, std:NAME or FILE.cubin; several")
      ->required();
  command->add_option("--dtype", options->dtype, "f16 or bf16")->capture_default_str();
  command->add_option("--head-dim", options->compile.headDim, "Of query and key")->capture_default_str();
  command->add_option("--value-dim", options->compile.valueDim, "Of value and output")->capture_default_str();
  command->add_option("--split-size", options->compile.splitSize, "Keys of a split")->capture_default_str();
  command->add_option("--target", options->targets, "sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_120; separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--shared-bytes", options->sharedBytes,
                      "Dynamic shared memory of a block, for the occupancy; a variant's is known");
  command->add_flag("--listing", options->hasListing, "Every instruction's mnemonic, and where branches go");
  command->add_flag("--json", options->isJson, "One object");
  command->callback([options, &global] { stats(*options, global); });
}

} // namespace attnc::cli

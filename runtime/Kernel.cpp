#include <chrono>

#include <fmt/format.h>

#include "ir/Program.h"
#include "runtime/CudaCall.h"
#include "runtime/KernelState.h"
#include "runtime/LaneAxes.h"

namespace attnc {

// The block of rows that a mask made for a call is cut into: that of the wide schedules.
static constexpr int kMaskBlockM = 64;

Status runKernel(const Kernel::State &kernel, const RunArguments &arguments, RunStats *stats, LaunchChoices choices) {
  const auto start = std::chrono::steady_clock::now();
  if (!kernel.loaded->isRunnable())
    return Error{ErrorCode::Unsupported,
                 fmt::format("the kernel is for {}, which this processor does not run; compile with target "
                             "\"cpu\" for the best it has (cpu:{})",
                             kernel.info.target, cpu::isaName(cpu::hostIsa()))};
  if (arguments.blockLists || arguments.stream)
    return invalidArgument(fmt::format("{}: a CUDA device's; the kernel is for {}",
                                       arguments.blockLists ? "blockLists" : "stream", kernel.info.target));
  CallArguments call;
  if (Status s = readArguments(kernel.source.program(), kernel.loaded->config, cpu::kBlockN, arguments, call); !s)
    return s;

  if (Status s = checkLaneSpans(kernel.source.program(), kernel.loaded->laneAxes, call.captures); !s)
    return s;

  const BlockMask *mask = arguments.blockMask;
  std::optional<BlockMask> made;
  const bool isEmpty =
      call.problem.queryLength == 0 || call.problem.kvLength == 0 || call.problem.batch == 0 || call.problem.heads == 0;
  if (!mask && arguments.skipEmptyTiles && kernel.variant.program().maskMod && !isEmpty) {
    Result<BlockMask> created =
        BlockMask::create(kernel.variant, call.problem, arguments.bindings, kMaskBlockM, cpu::kBlockN);
    if (!created)
      return created.error();
    mask = &made.emplace(*std::move(created));
  }
  RunStats counted;
  const TileSource tiles(call.problem, cpu::kBlockN, isEmpty ? nullptr : mask, arguments.skipEmptyTiles);
  Status status = launch(*kernel.loaded, call, tiles, *kernel.executor, counted, choices);
  if (stats) {
    *stats = counted;
    stats->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  return status;
}

Status Kernel::run(const RunArguments &arguments, RunStats *stats) const {
  return state->cuda ? runCuda(*state, arguments, stats) : runKernel(*state, arguments, stats);
}

const Variant &Kernel::variant() const { return state->variant; }
const CompileInfo &Kernel::info() const { return state->info; }

} // namespace attnc

// Counting and its table. Loops are found by their backward branches alone: ptxas keeps a
// loop's code together, but for cold paths that it moves behind the kernel's end.
#include "runtime/cuda/CubinStatistics.h"

#include <algorithm>
#include <iterator>

#include "runtime/cuda/Cubin.h"
#include "runtime/cuda/Occupancy.h"

namespace attnc::cuda {
namespace {

// Waiting for a barrier is a loop of two to four instructions; the table leaves them out.
constexpr uint32_t kSmallLoop = 8;
constexpr size_t kMaxColumns = 6;

void count(int sm, Instruction instruction, InstructionCounts &counts) {
  Opcode opcode = opcodeOf(sm, instruction);
  if (opcode.mnemonic == "NOP")
    return;
  ++counts.total;
  counts.stall += instruction.stall();
  ++counts.byClass[static_cast<size_t>(opcode.kind)];
  ++counts.byMnemonic[std::move(opcode.mnemonic)];
}

// The code without what ptxas appends: a branch to itself, then NOPs.
size_t usedInstructions(int sm, const CubinKernel &kernel) {
  size_t end = kernel.instructionCount();
  while (end > 0 && opcodeOf(sm, kernel.instruction(end - 1)).mnemonic == "NOP")
    --end;
  if (end > 0 && branchDistance(sm, kernel.instruction(end - 1)) == -1)
    --end;
  return end;
}

void countKernel(const CubinKernel &kernel, size_t end, KernelStatistics &statistics) {
  const int sm = statistics.sm;
  for (size_t i = 0; i < end; ++i) {
    const Instruction instruction = kernel.instruction(i);
    count(sm, instruction, statistics.counts);
    const std::string mnemonic = opcodeOf(sm, instruction).mnemonic;
    if (mnemonic == "LDL")
      ++statistics.localLoads, statistics.localLoadBytes += localAccessBytes(instruction);
    else if (mnemonic == "STL")
      ++statistics.localStores, statistics.localStoreBytes += localAccessBytes(instruction);
    else if (mnemonic == "BRX")
      ++statistics.indirectBranches;
  }
}

// Backward branches with one target are one loop.
void findLoops(const CubinKernel &kernel, size_t end, KernelStatistics &statistics) {
  std::map<size_t, size_t> lastOf; // by first
  for (size_t i = 0; i < end; ++i) {
    const std::optional<int64_t> distance = branchDistance(statistics.sm, kernel.instruction(i));
    if (!distance)
      continue;
    const int64_t target = static_cast<int64_t>(i) + 1 + *distance;
    if (target > static_cast<int64_t>(i) && target <= static_cast<int64_t>(kernel.instructionCount()))
      ++statistics.forwardBranches;
    else if (target >= 0 && target <= static_cast<int64_t>(i))
      lastOf[static_cast<size_t>(target)] = i;
  }
  for (const auto &[first, last] : lastOf) {
    LoopStatistics loop;
    loop.first = static_cast<uint32_t>(first);
    loop.last = static_cast<uint32_t>(last);
    for (const LoopStatistics &other : statistics.loops)
      loop.depth += other.last >= loop.last ? 1 : 0;
    for (size_t i = first; i <= last; ++i)
      count(statistics.sm, kernel.instruction(i), loop.counts);
    statistics.loops.push_back(std::move(loop));
  }
}

std::string padded(const std::string &text, size_t width, bool isLeft = false) {
  const std::string space(text.size() < width ? width - text.size() : 0, ' ');
  return isLeft ? text + space : space + text;
}

std::string resources(const KernelStatistics &kernel) {
  std::string text = kernel.name + "  sm_" + std::to_string(kernel.sm) + "\n";
  const auto line = [&](const std::string &label, const std::string &value) {
    text += "  " + padded(label, 18, true) + value + "\n";
  };
  line("registers", std::to_string(kernel.registers));
  line("shared memory", std::to_string(kernel.sharedBytes) + " B static");
  line("stack", std::to_string(kernel.stackBytes) + " B; " + std::to_string(kernel.localStores) + " local stores of " +
                    std::to_string(kernel.localStoreBytes) + " B, " + std::to_string(kernel.localLoads) + " loads of " +
                    std::to_string(kernel.localLoadBytes) + " B");
  line("barriers", std::to_string(kernel.barriers));
  line("parameters", std::to_string(kernel.parameterBytes) + " B");
  line("code", std::to_string(kernel.codeBytes) + " B, " + std::to_string(kernel.counts.total) + " instructions");
  line("branches", std::to_string(kernel.forwardBranches) + " forward, " + std::to_string(kernel.loops.size()) +
                       " loops, " + std::to_string(kernel.indirectBranches) + " indirect");
  return text;
}

std::string occupancyLine(const KernelStatistics &kernel, uint32_t threads, uint32_t dynamicSharedBytes) {
  if (threads == 0)
    threads = kernel.maxThreads;
  if (threads == 0)
    return "";
  const Result<Occupancy> occupancy =
      occupancyOf(kernel.sm, kernel.registers, kernel.sharedBytes + dynamicSharedBytes, threads);
  std::string text = "  " + padded("occupancy", 18, true);
  if (!occupancy)
    return text + occupancy.error().message + "\n";
  return text + std::to_string(occupancy->blocks) + " blocks of " + std::to_string(threads) + " threads with " +
         std::to_string(dynamicSharedBytes) + " B dynamic shared memory, " + std::to_string(occupancy->warps) + " of " +
         std::to_string(occupancy->maxWarps) + " warps, limited by " + occupancy->limit + "\n";
}

using Columns = std::vector<std::pair<std::string, const InstructionCounts *>>;

std::string countsTable(const Columns &columns) {
  constexpr size_t kLabel = 20;
  std::string text = "  " + padded("", kLabel, true);
  const auto row = [&](const std::string &label, auto &&value) {
    text += "  " + padded(label, kLabel, true);
    for (const auto &[title, counts] : columns) {
      const uint32_t number = value(*counts);
      text += padded(number == 0 ? "-" : std::to_string(number), std::max<size_t>(title.size() + 2, 8));
    }
    text += "\n";
  };
  for (const auto &[title, counts] : columns)
    text += padded(title, std::max<size_t>(title.size() + 2, 8));
  text += "\n";
  row("instructions", [](const InstructionCounts &counts) { return counts.total; });
  row("stall cycles", [](const InstructionCounts &counts) { return counts.stall; });
  const InstructionCounts &whole = *columns.front().second;
  for (size_t kind = 0; kind < kInstructionClasses; ++kind) {
    if (whole.byClass[kind] == 0)
      continue;
    row(nameOf(static_cast<InstructionClass>(kind)),
        [&](const InstructionCounts &counts) { return counts.byClass[kind]; });
  }
  std::vector<std::pair<uint32_t, std::string>> order;
  for (const auto &[mnemonic, number] : whole.byMnemonic)
    order.emplace_back(number, mnemonic);
  std::sort(order.begin(), order.end(),
            [](const auto &a, const auto &b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  for (const auto &[number, mnemonic] : order)
    row("  " + mnemonic, [&](const InstructionCounts &counts) { return counts[mnemonic]; });
  return text;
}

} // namespace

uint32_t InstructionCounts::operator[](const std::string &mnemonic) const {
  const auto found = byMnemonic.find(mnemonic);
  return found == byMnemonic.end() ? 0 : found->second;
}

Result<CubinReport> readCubin(std::string_view bytes) {
  const Result<Cubin> cubin = parseCubin(bytes);
  if (!cubin)
    return cubin.error();
  CubinReport report;
  report.sm = cubin->sm;
  for (const CubinKernel &kernel : cubin->kernels) {
    KernelStatistics statistics;
    statistics.name = kernel.name;
    statistics.sm = cubin->sm;
    statistics.registers = kernel.registers;
    statistics.sharedBytes = kernel.sharedBytes;
    statistics.stackBytes = kernel.stackBytes;
    statistics.barriers = kernel.barriers;
    statistics.parameterBytes = kernel.parameterBytes;
    statistics.maxThreads = kernel.maxThreads;
    statistics.codeBytes = static_cast<uint32_t>(kernel.code.size());
    const size_t end = usedInstructions(cubin->sm, kernel);
    countKernel(kernel, end, statistics);
    findLoops(kernel, end, statistics);
    report.kernels.push_back(std::move(statistics));
  }
  return report;
}

std::string describe(const KernelStatistics &kernel, uint32_t threads, uint32_t dynamicSharedBytes) {
  Columns columns = {{"kernel", &kernel.counts}};
  size_t left = 0;
  for (const LoopStatistics &loop : kernel.loops) {
    if (loop.counts.total < kSmallLoop)
      continue;
    if (columns.size() > kMaxColumns) {
      ++left;
      continue;
    }
    columns.emplace_back(std::string(loop.depth, '>') + std::to_string(loop.first) + "-" + std::to_string(loop.last),
                         &loop.counts);
  }
  std::string text = resources(kernel) + occupancyLine(kernel, threads, dynamicSharedBytes) + countsTable(columns);
  if (left > 0)
    text += "  and " + std::to_string(left) + " more loops\n";
  return text;
}

} // namespace attnc::cuda

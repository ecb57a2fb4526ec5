// A kernel in memory: its functions, its schedules, and the workers' scratch memory.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "codegen/cpu/KernelAbi.h"
#include "codegen/cpu/KernelConfig.h"
#include "runtime/CacheEntry.h"
#include "runtime/ElfLoader.h"
#include "runtime/LaneAxes.h"

namespace attnc {

struct Program;

// The functions of one schedule suffix.
struct KernelSchedule {
  cpu::ScheduleInfo info;
  cpu::TaskFunction begin = nullptr, split = nullptr, finish = nullptr;
  cpu::MergeFunction merge = nullptr;
};

// What one worker needs during a call; kept between calls so that a call allocates nothing
// in the steady state. Never used by two workers at once.
struct Worker {
  std::unique_ptr<void, void (*)(void *)> scratch; // aligned to 64
  std::vector<cpu::TileRun> runs;                  // of the task
  std::vector<cpu::TileRun> other;                 // spare, for uniting runs
  std::vector<cpu::TileRun> split;                 // of one split
  int64_t begunTask = -1;                          // whose queries `scratch` holds, during one call

  explicit Worker(int64_t scratchBytes);
};

class LoadedKernel {
public:
  // Internal errors: the object is malformed or lacks a function.
  static Result<std::shared_ptr<const LoadedKernel>> load(const CacheEntry &entry, const cpu::KernelConfig &config);

  const cpu::KernelConfig config;
  const std::shared_ptr<const Program> simplified;
  const std::vector<uint32_t> laneAxes; // of the captures: LaneAxes.h
  // False for another machine's kernel, which can be cached and not run.
  bool isRunnable() const { return !schedules.empty(); }

  // The smallest schedule that takes `rows` rows in one task, else the largest.
  const KernelSchedule &scheduleFor(int64_t rows) const;
  int64_t scratchBytes() const;

  std::unique_ptr<Worker> takeWorker() const;
  void giveBack(std::unique_ptr<Worker> worker) const;

private:
  LoadedKernel(cpu::KernelConfig config, std::shared_ptr<const Program> simplified)
      : config(std::move(config)), simplified(std::move(simplified)), laneAxes(attnc::laneAxes(*this->simplified)) {}

  std::shared_ptr<const ElfObject> object;
  std::vector<KernelSchedule> schedules; // ascending blockM
  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<Worker>> idle;
};

} // namespace attnc

#include "runtime/Launch.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "runtime/FloatEnvironment.h"

namespace attnc {

namespace {

// Below this many operations a call is over before a sleeping worker is awake.
constexpr int64_t kInlineOperations = int64_t(2) << 20;
// Partial results kept at once, for each worker: bounds the workspace whatever kvLength is.
constexpr int kPartialsPerWorker = 4;

struct Task {
  int64_t tiles;
  int64_t index; // (batch * heads + head) * blocks + block
};

// One split of one task; its runs lie in Launch::cutRuns.
struct SplitItem {
  int64_t task;
  size_t firstRun, runCount;
};

class Launch {
public:
  Launch(const LoadedKernel &kernel, const CallArguments &call, const TileSource &tiles, Executor &executor,
         RunStats &stats, LaunchChoices choices)
      : kernel(kernel), call(call), tiles(tiles), executor(executor), stats(stats), choices(choices),
        schedule(choose()), blockM(schedule.info.blockM), blocks((call.problem.queryLength + blockM - 1) / blockM),
        splitTiles(kernel.config.splitSize / cpu::kBlockN), flushes(kernel.config.dtype == DType::BF16),
        workers(executor.concurrency()) {}
  ~Launch() {
    for (auto *list : {&workers, &carriers})
      for (std::unique_ptr<Worker> &worker : *list)
        if (worker)
          kernel.giveBack(std::move(worker));
  }

  Status run() {
    plan();
    if (wantsParallelSplits())
      runSplits();
    else
      forEach(static_cast<int64_t>(tasks.size()),
              [this](int64_t i, int worker) { runTask(tasks[i].index, workers[worker]); });
    if (isOutOfMemory)
      return Error{ErrorCode::Internal, "no memory for the scratch of a worker"};
    return {};
  }

private:
  const KernelSchedule &choose() const;
  void plan();
  bool wantsParallelSplits() const;
  template <typename Body> void forEach(int64_t count, const Body &body);
  cpu::KernelTask makeTask(int64_t index, const Worker &worker) const;
  bool acquire(std::unique_ptr<Worker> &slot);
  float *partialOf(const Worker &worker) const {
    return reinterpret_cast<float *>(static_cast<char *>(worker.scratch.get()) + schedule.info.partialOffset);
  }

  void runTask(int64_t index, std::unique_ptr<Worker> &slot);
  void runSplits();
  void cutTasks();
  void runSplit(const SplitItem &item, float *partial, std::unique_ptr<Worker> &slot);
  void mergeWindow(int64_t task, size_t firstItem, size_t endItem);

  const LoadedKernel &kernel;
  const CallArguments &call;
  const TileSource &tiles;
  Executor &executor;
  RunStats &stats;
  const LaunchChoices choices;
  const KernelSchedule &schedule;
  const int64_t blockM, blocks, splitTiles;
  const bool flushes;
  std::vector<std::unique_ptr<Worker>> workers; // taken when a worker first has something to do
  std::vector<Task> tasks;                      // longest first
  bool isSmall = false;
  std::atomic<bool> isOutOfMemory = false;

  // Parallel splits only.
  std::vector<std::unique_ptr<Worker>> carriers; // one a task: holds its carry
  std::vector<cpu::TileRun> cutRuns;
  std::vector<SplitItem> items; // by task, then ascending by split
  std::unique_ptr<float, void (*)(void *)> workspace{nullptr, std::free};
  size_t partialStride = 0; // floats
};

const KernelSchedule &Launch::choose() const {
  switch (choices.schedule) {
  case LaunchChoices::Narrowest:
    return kernel.scheduleFor(1);
  case LaunchChoices::Widest:
    return kernel.scheduleFor(INT64_MAX);
  case LaunchChoices::AutoSchedule:
    break;
  }
  return kernel.scheduleFor(call.problem.queryLength);
}

void Launch::plan() {
  const Problem &problem = call.problem;
  RunList runs, spare;
  tasks.reserve(problem.batch * problem.heads * blocks);
  bool isSorted = true;
  for (int64_t batch = 0, index = 0; batch < problem.batch; ++batch)
    for (int64_t head = 0; head < problem.heads; ++head)
      for (int64_t block = 0; block < blocks; ++block, ++index) {
        // Without a mask all tasks are alike.
        if (index == 0 || !tiles.isUniform())
          tiles.runs(batch, head, block * blockM, std::min(blockM, problem.queryLength - block * blockM), runs, spare);
        const int64_t count = tileCount(runs);
        stats.tilesVisited += count;
        stats.tilesPartial += partialCount(runs);
        isSorted &= tasks.empty() || tasks.back().tiles >= count;
        tasks.push_back({count, index});
      }
  stats.tilesTotal = static_cast<int64_t>(tasks.size()) * tiles.tiles();
  if (!isSorted)
    std::sort(tasks.begin(), tasks.end(),
              [](const Task &a, const Task &b) { return a.tiles != b.tiles ? a.tiles > b.tiles : a.index < b.index; });
  const int64_t perTile = 2 * blockM * cpu::kBlockN * (problem.headDim + problem.valueDim);
  isSmall = stats.tilesVisited * perTile + static_cast<int64_t>(tasks.size()) * 1024 < kInlineOperations;
}

bool Launch::wantsParallelSplits() const {
  if (choices.splits != LaunchChoices::AutoSplits)
    return choices.splits == LaunchChoices::AlwaysParallel;
  return !isSmall && static_cast<int>(tasks.size()) < executor.concurrency() && tasks[0].tiles > splitTiles;
}

template <typename Body> void Launch::forEach(int64_t count, const Body &body) {
  if (isSmall)
    for (int64_t i = 0; i < count; ++i)
      body(i, 0);
  else
    executor.parallelFor(count, [&body](int64_t i, int worker) { body(i, worker); });
}

bool Launch::acquire(std::unique_ptr<Worker> &slot) {
  if (!slot)
    slot = kernel.takeWorker();
  if (!slot->scratch)
    isOutOfMemory = true;
  return slot->scratch != nullptr;
}

cpu::KernelTask Launch::makeTask(int64_t index, const Worker &worker) const {
  cpu::KernelTask task = {};
  const int64_t head = index / blocks;
  task.batchIndex = head / call.problem.heads;
  task.headIndex = head % call.problem.heads;
  task.firstRow = index % blocks * blockM;
  task.rowCount = std::min(blockM, call.problem.queryLength - task.firstRow);
  task.scratch = worker.scratch.get();
  return task;
}

//===----------------------------------------------------------------------===//
// One worker a task
//===----------------------------------------------------------------------===//

void Launch::runTask(int64_t index, std::unique_ptr<Worker> &slot) {
  if (!acquire(slot))
    return;
  Worker &worker = *slot;
  cpu::KernelTask task = makeTask(index, worker);
  tiles.runs(task.batchIndex, task.headIndex, task.firstRow, task.rowCount, worker.runs, worker.other);
  FloatEnvironment environment(flushes);
  schedule.begin(&call.args, &task);
  forEachSplit(worker.runs, splitTiles, worker.split, [&](int64_t, const RunList &runs) {
    task.runs = runs.data();
    task.runCount = static_cast<int64_t>(runs.size());
    schedule.split(&call.args, &task);
    schedule.merge(&call.args, &task, partialOf(worker));
  });
  schedule.finish(&call.args, &task);
}

//===----------------------------------------------------------------------===//
// Several workers a task: splits in parallel, merges in their order
//===----------------------------------------------------------------------===//

void Launch::cutTasks() {
  RunList runs, spare, split;
  for (size_t position = 0; position < tasks.size(); ++position) {
    cpu::KernelTask task = makeTask(tasks[position].index, *carriers[position]);
    tiles.runs(task.batchIndex, task.headIndex, task.firstRow, task.rowCount, runs, spare);
    forEachSplit(runs, splitTiles, split, [&](int64_t, const RunList &part) {
      items.push_back({static_cast<int64_t>(position), cutRuns.size(), part.size()});
      cutRuns.insert(cutRuns.end(), part.begin(), part.end());
    });
  }
}

void Launch::runSplit(const SplitItem &item, float *partial, std::unique_ptr<Worker> &slot) {
  if (!acquire(slot))
    return;
  cpu::KernelTask task = makeTask(tasks[item.task].index, *slot);
  task.runs = cutRuns.data() + item.firstRun;
  task.runCount = static_cast<int64_t>(item.runCount);
  FloatEnvironment environment(flushes);
  if (slot->begunTask != item.task)
    schedule.begin(&call.args, &task);
  slot->begunTask = item.task;
  schedule.split(&call.args, &task);
  std::copy_n(partialOf(*slot), schedule.info.partialFloats, partial);
}

void Launch::mergeWindow(int64_t position, size_t firstItem, size_t endItem) {
  cpu::KernelTask task = makeTask(tasks[position].index, *carriers[position]);
  FloatEnvironment environment(flushes);
  for (size_t i = firstItem; i < endItem; ++i)
    if (items[i].task == position)
      schedule.merge(&call.args, &task, workspace.get() + (i - firstItem) * partialStride);
}

void Launch::runSplits() {
  carriers.resize(tasks.size());
  for (std::unique_ptr<Worker> &carrier : carriers)
    if (!acquire(carrier))
      return;
  cutTasks();
  const size_t window = std::min(items.size(), workers.size() * kPartialsPerWorker);
  partialStride = static_cast<size_t>(schedule.info.partialFloats + 15) / 16 * 16;
  workspace.reset(static_cast<float *>(std::aligned_alloc(64, std::max<size_t>(window, 1) * partialStride * 4)));
  if (!workspace) {
    isOutOfMemory = true;
    return;
  }
  const int64_t taskCount = static_cast<int64_t>(tasks.size());
  forEach(taskCount, [this](int64_t position, int) {
    cpu::KernelTask task = makeTask(tasks[position].index, *carriers[position]);
    FloatEnvironment environment(flushes);
    schedule.begin(&call.args, &task);
  });
  for (size_t first = 0; first < items.size(); first += window) {
    const size_t end = std::min(items.size(), first + window);
    forEach(static_cast<int64_t>(end - first), [&](int64_t i, int worker) {
      runSplit(items[first + i], workspace.get() + i * partialStride, workers[worker]);
    });
    if (isOutOfMemory)
      return;
    forEach(taskCount, [&](int64_t position, int) { mergeWindow(position, first, end); });
  }
  forEach(taskCount, [this](int64_t position, int) {
    cpu::KernelTask task = makeTask(tasks[position].index, *carriers[position]);
    FloatEnvironment environment(flushes);
    schedule.finish(&call.args, &task);
  });
}

} // namespace

Status launch(const LoadedKernel &kernel, const CallArguments &call, const TileSource &tiles, Executor &executor,
              RunStats &stats, LaunchChoices choices) {
  const Problem &problem = call.problem;
  if (problem.batch == 0 || problem.heads == 0 || problem.queryLength == 0)
    return {};
  return Launch(kernel, call, tiles, executor, stats, choices).run();
}

} // namespace attnc

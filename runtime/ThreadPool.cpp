// The default Executor: workers that spin for a moment and then sleep on a futex.
//
// A job is a gate that is opened, joined and closed. Workers join an open gate and get
// their number from it; the caller works along, closes the gate when no index is left, and
// waits only for those who joined. So nobody ever waits for a worker that was not needed:
// not for one still asleep, and not for one that a fork left behind.
#include "attnc/Executor.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace attnc {

Executor::~Executor() = default;

namespace {

// Longer than the gap between the layers of a model's step, shorter than a scheduler tick:
// spinning without bound costs others a whole processor.
constexpr auto kSpinTime = std::chrono::microseconds(50);

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits a bounded time for `isReady`.
template <typename Predicate> bool spinUntil(Predicate isReady) {
  const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < 32; ++i) {
      if (isReady())
        return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

int processorCount() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return CPU_COUNT(&set);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

class ThreadPool final : public Executor {
public:
  explicit ThreadPool(int threads) : workers(threads) {}
  ~ThreadPool() override;

  int concurrency() const override { return workers; }
  void parallelFor(int64_t count, const std::function<void(int64_t, int)> &body) override;

private:
  void start();
  void work();
  bool join(uint32_t &lastJob);
  void drain(int worker);

  // Gate: job number in the high half, then "open", then how many joined.
  static constexpr uint64_t kOpen = uint64_t(1) << 31;
  static uint32_t jobOf(uint64_t gate) { return static_cast<uint32_t>(gate >> 32); }
  static int joinedOf(uint64_t gate) { return static_cast<int>(gate & (kOpen - 1)); }

  const int workers;
  std::mutex owner; // held by the caller whose job it is
  std::vector<std::thread> threads;
  pid_t process = 0;

  alignas(64) std::atomic<uint64_t> gate = 0;
  std::atomic<uint32_t> signal = 0; // changes with every job; sleepers wait on it
  std::atomic<bool> isStopping = false;
  alignas(64) std::atomic<int64_t> next = 0;
  alignas(64) std::atomic<int> left = 0; // joined workers that are done
  const std::function<void(int64_t, int)> *body = nullptr;
  int64_t count = 0;
  std::atomic<int> limit = 0; // of joins that are of use
};

// Set while a thread runs tasks of some pool: a nested call stays on its thread.
thread_local bool isInsideTask = false;

void ThreadPool::start() {
  process = getpid();
  threads.reserve(workers - 1);
  try {
    while (static_cast<int>(threads.size()) < workers - 1)
      threads.emplace_back([this] { work(); });
  } catch (const std::system_error &) { // NOLINT(bugprone-empty-catch)
    // A limit on threads: fewer workers give the same results.
  }
}

ThreadPool::~ThreadPool() {
  isStopping = true;
  signal.fetch_add(1);
  signal.notify_all();
  // A forked child has the handles and not the threads: they can neither be joined nor
  // detached there, so they are left behind.
  if (!threads.empty() && process != getpid()) {
    new (std::nothrow) std::vector<std::thread>(std::move(threads));
    return;
  }
  for (std::thread &thread : threads)
    thread.join();
}

bool ThreadPool::join(uint32_t &lastJob) {
  uint64_t seen = gate.load(std::memory_order_acquire);
  while ((seen & kOpen) && jobOf(seen) != lastJob) {
    if (joinedOf(seen) >= limit.load(std::memory_order_relaxed))
      return false;
    if (!gate.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel))
      continue;
    lastJob = jobOf(seen);
    drain(joinedOf(seen) + 1);
    left.fetch_add(1);
    left.notify_one();
    return true;
  }
  return false;
}

void ThreadPool::work() {
  uint32_t lastJob = 0;
  while (!isStopping.load(std::memory_order_relaxed)) {
    const uint32_t before = signal.load(std::memory_order_acquire);
    if (join(lastJob))
      continue;
    auto isNew = [&] { return signal.load(std::memory_order_acquire) != before; };
    if (!spinUntil(isNew))
      signal.wait(before, std::memory_order_acquire);
  }
}

void ThreadPool::drain(int worker) {
  isInsideTask = true;
  for (;;) {
    int64_t index = next.fetch_add(1, std::memory_order_relaxed);
    if (index >= count)
      break;
    (*body)(index, worker);
  }
  isInsideTask = false;
}

void ThreadPool::parallelFor(int64_t count, const std::function<void(int64_t, int)> &body) {
  // A second caller while the pool is busy keeps to its own thread: the processors are
  // taken already.
  std::unique_lock<std::mutex> lock(owner, std::defer_lock);
  if (count <= 1 || workers == 1 || isInsideTask || !lock.try_lock()) {
    for (int64_t index = 0; index < count; ++index)
      body(index, 0);
    return;
  }
  if (threads.empty())
    start();

  this->body = &body;
  this->count = count;
  const int helpers = static_cast<int>(std::min<int64_t>(count, workers) - 1);
  limit.store(helpers, std::memory_order_relaxed);
  next.store(0, std::memory_order_relaxed);
  left.store(0, std::memory_order_relaxed);
  const uint64_t job = uint64_t(jobOf(gate.load(std::memory_order_relaxed)) + 1) << 32;
  gate.store(job | kOpen, std::memory_order_release);
  signal.fetch_add(1);
  if (helpers < workers - 1)
    for (int i = 0; i < helpers; ++i)
      signal.notify_one();
  else
    signal.notify_all();

  drain(0);
  const int joined = joinedOf(gate.fetch_and(~kOpen, std::memory_order_acq_rel));
  auto isDone = [&] { return left.load(std::memory_order_acquire) == joined; };
  if (!spinUntil(isDone))
    for (int done; (done = left.load(std::memory_order_acquire)) != joined;)
      left.wait(done, std::memory_order_acquire);
}

} // namespace

std::unique_ptr<Executor> makeThreadPool(int threads) {
  return std::make_unique<ThreadPool>(threads > 0 ? threads : processorCount());
}

} // namespace attnc

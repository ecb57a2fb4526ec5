// The executor's rules: each index once, worker numbers below concurrency() and never
// shared at one time, calls from many threads, from inside a task, and after a fork.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "attnc/Executor.h"
#include "gtest/gtest.h"

using namespace attnc;

static void checkOnce(Executor &executor, int64_t count) {
  std::vector<std::atomic<int>> calls(count);
  std::vector<std::atomic<int>> inside(executor.concurrency());
  std::atomic<bool> isWrong = false;
  executor.parallelFor(count, [&](int64_t index, int worker) {
    if (worker < 0 || worker >= executor.concurrency() || inside[worker].fetch_add(1) != 0)
      isWrong = true;
    else
      inside[worker].fetch_sub(1);
    calls[index].fetch_add(1);
  });
  EXPECT_FALSE(isWrong);
  for (int64_t i = 0; i < count; ++i)
    ASSERT_EQ(calls[i], 1) << "index " << i << " of " << count;
}

TEST(ThreadPool, callsEachIndexOnce) {
  for (int threads : {1, 2, 3, 8}) {
    auto pool = makeThreadPool(threads);
    EXPECT_EQ(pool->concurrency(), threads);
    for (int64_t count : {0, 1, 2, 3, 7, 8, 9, 1000})
      for (int repeat = 0; repeat < 50; ++repeat)
        checkOnce(*pool, count);
  }
}

TEST(ThreadPool, zeroMeansOneAProcessor) { EXPECT_GE(makeThreadPool()->concurrency(), 1); }

TEST(ThreadPool, manyShortJobsWithPauses) {
  auto pool = makeThreadPool(4);
  std::atomic<int64_t> sum = 0;
  for (int job = 0; job < 2000; ++job) {
    pool->parallelFor(5, [&](int64_t index, int) { sum += index; });
    if (job % 100 == 0) // long enough for workers to fall asleep
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(sum, 2000 * 10);
}

TEST(ThreadPool, nestedCallsComplete) {
  auto pool = makeThreadPool(3);
  std::atomic<int> inner = 0;
  pool->parallelFor(10, [&](int64_t, int) { pool->parallelFor(7, [&](int64_t, int) { ++inner; }); });
  EXPECT_EQ(inner, 70);
}

TEST(ThreadPool, callersOnManyThreads) {
  auto pool = makeThreadPool(3);
  std::atomic<int64_t> total = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i)
        pool->parallelFor(11, [&](int64_t index, int) { total += index; });
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(total, 6 * 300 * 55);
}

TEST(ThreadPool, destructionWhileWorkersSleepOrSpin) {
  for (int i = 0; i < 50; ++i) {
    auto pool = makeThreadPool(4);
    pool->parallelFor(4, [](int64_t, int) {});
    if (i % 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// A forked child has none of the workers; calls there must still end.
TEST(ThreadPool, worksInAForkedChild) {
  auto pool = makeThreadPool(3);
  pool->parallelFor(3, [](int64_t, int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::atomic<int> calls = 0;
    pool->parallelFor(100, [&](int64_t, int) { ++calls; });
    pool.reset();
    _exit(calls == 100 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

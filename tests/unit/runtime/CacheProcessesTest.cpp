// Many threads and many processes on one cache folder.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/unit/runtime/CacheFixture.h"

using namespace attnc;

namespace {
class CacheProcessesTest : public CacheFixture {};
} // namespace

// Threads that ask for one key at once share one compile.
TEST_F(CacheProcessesTest, singleFlight) {
  setenv("FAKE_COMPILE_MS", "50", 1);
  const int before = fakeCompileCount();
  Context one = context();
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { good += one.compile(causalVariant(), fakeOptions()).ok(); });
  for (std::thread &thread : threads)
    thread.join();
  unsetenv("FAKE_COMPILE_MS");
  EXPECT_EQ(good, 8);
  EXPECT_EQ(fakeCompileCount() - before, 1);
}

// Different keys do not wait for each other, and none is lost.
TEST_F(CacheProcessesTest, manyKeysFromManyThreads) {
  Context one = context();
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (int j = 0; j < 20; ++j)
        good += one.compile(causalVariant(), fakeOptions(64 * (1 + (i + j) % 10))).ok();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(good, 160);
  EXPECT_EQ(files(".o").size(), 10u);
}

// Processes publish, read, damage and evict the same entries; each gets a working kernel.
TEST_F(CacheProcessesTest, manyProcesses) {
  options.log = nullptr;
  options.cacheLimitBytes = 20000; // a few entries: eviction runs against readers
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      int bad = 0;
      for (int j = 0; j < 30; ++j) {
        auto made = Context::create(options);
        bad += !made->compile(causalVariant(), fakeOptions(64 * (1 + (i * 7 + j) % 8))).ok();
        if (i == 0 && j % 5 == 0)
          for (const auto &path : files(".o"))
            truncate(path.c_str(), 100);
      }
      _exit(bad);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  for (const auto &entry : std::filesystem::directory_iterator(options.cacheDir))
    EXPECT_TRUE(entry.path().extension() == ".o" || entry.path().extension() == ".json" ||
                entry.path().filename() == "lock")
        << entry.path();
}

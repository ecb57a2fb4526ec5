// The cache against the world: killed processes, full and read-only disks, other users.
// Whatever happens, a kernel is right, and costs at worst a compile.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <sched.h>
#include <thread>

#include "tests/unit/runtime/CacheFixture.h"

using namespace attnc;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

constexpr int kSkipped = 77;

class CacheFaultsTest : public CacheFixture {
protected:
  // Runs `body` in a process of its own; its result is the exit code.
  template <typename F> static pid_t start(F body) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(120);
      _exit(body());
    }
    return child;
  }
  static int finish(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // 0 if a kernel was compiled, kept in memory, and the log says why.
  int compilesInMemoryOnly() {
    Context one = context();
    auto first = one.compile(causalVariant(), fakeOptions()), second = one.compile(causalVariant(), fakeOptions());
    if (!first || !isCompiled(first->info()))
      return 1;
    if (!second || !second->info().fromMemory)
      return 2;
    return logText().find("kernels stay in memory") == std::string::npos ? 3 : 0;
  }
  void expectSound() {
    const auto check = context().verifyCache();
    ASSERT_TRUE(check.ok());
    for (const auto &problem : check->problems)
      ADD_FAILURE() << problem.key << " " << problem.what;
  }
  size_t temporaryFiles() const {
    size_t count = 0;
    for (const auto &entry : fs::directory_iterator(options.cacheDir)) {
      const std::string name = entry.path().filename();
      count += std::count(name.begin(), name.end(), '.') > 1;
    }
    return count;
  }
};

} // namespace

// Writers die at any moment, replacing each other's entries too: whoever comes after gets a
// kernel, and no entry is ever wrong.
TEST_F(CacheFaultsTest, killedWriters) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    std::vector<pid_t> writers;
    for (int i = 0; i < 3; ++i)
      writers.push_back(start([&, i] {
        options.log = nullptr;
        for (int j = 0;; ++j) {
          Context::create(options)->compile(causalVariant(), fakeOptions(64 * (1 + (i + j) % 6))).ok();
          for (const auto &path : files(".json")) // so that there is always something to write
            if ((i + j) % 3 == 0)
              unlink(path.c_str());
        }
        return 0;
      }));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 6000));
    for (pid_t writer : writers)
      kill(writer, SIGKILL);
    for (pid_t writer : writers)
      waitpid(writer, nullptr, 0);
    expectSound();
  }
  for (int i = 0; i < 6; ++i)
    EXPECT_TRUE(context().compile(causalVariant(), fakeOptions(64 * (1 + i))).ok());
  expectSound();
  // What they left is cleared away once it is old.
  for (const auto &entry : fs::directory_iterator(options.cacheDir)) {
    const timespec old[2] = {{time(nullptr) - 7200, 0}, {time(nullptr) - 7200, 0}};
    utimensat(AT_FDCWD, entry.path().c_str(), old, 0);
  }
  compile(causalVariant(), 640);
  EXPECT_EQ(temporaryFiles(), 0u);
  EXPECT_EQ(files(".o").size(), files(".json").size()) << "no object without its sidecar";
}

// A process that dies while it compiles holds up nobody.
TEST_F(CacheFaultsTest, killedCompileFreesItsKey) {
  const pid_t writer = start([&] {
    setenv("FAKE_COMPILE_MS", "100000", 1);
    return context().compile(causalVariant(), fakeOptions()).ok() ? 0 : 1;
  });
  while (!fs::exists(options.cacheDir + "/lock"))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(writer, SIGKILL);
  waitpid(writer, nullptr, 0);
  EXPECT_TRUE(isCompiled(compile()));
}

// Sixty-four processes that want one kernel at one time: one compiles it.
TEST_F(CacheFaultsTest, sixtyFourProcessesCompileOnce) {
  options.log = nullptr;
  setenv("FAKE_COMPILE_MS", "100", 1);
  std::vector<pid_t> children;
  for (int i = 0; i < 64; ++i)
    children.push_back(start([&] {
      auto kernel = context().compile(causalVariant(), fakeOptions());
      return !kernel ? 2 : isCompiled(kernel->info()) ? 1 : 0;
    }));
  int compiled = 0;
  for (pid_t child : children) {
    const int code = finish(child);
    EXPECT_LT(code, 2);
    compiled += code;
  }
  unsetenv("FAKE_COMPILE_MS");
  EXPECT_EQ(compiled, 1);
  expectSound();
}

// A limit on the size of files would end the process by a signal.
TEST_F(CacheFaultsTest, limitedFileSize) {
  EXPECT_EQ(finish(start([&] {
              const rlimit limit = {3000, 3000};
              setrlimit(RLIMIT_FSIZE, &limit);
              return compilesInMemoryOnly();
            })),
            0);
  EXPECT_TRUE(files(".json").empty());
  EXPECT_EQ(temporaryFiles(), 0u);
}

TEST_F(CacheFaultsTest, fullDisk) {
  fs::create_directory(options.cacheDir);
  const int code = finish(start([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", options.cacheDir.c_str(), "tmpfs", 0, "size=8k,mode=700") != 0)
      return kSkipped;
    const int code = compilesInMemoryOnly();
    return code ? code : temporaryFiles() ? 4 : 0;
  }));
  if (code == kSkipped)
    GTEST_SKIP() << "no right to mount";
  EXPECT_EQ(code, 0);
}

TEST_F(CacheFaultsTest, readOnlyDisk) {
  compile(causalVariant(), 512);
  const int code = finish(start([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(root.c_str(), root.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        mount(nullptr, root.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0)
      return kSkipped;
    if (!compile(causalVariant(), 512).fromDisk)
      return 5;
    return compilesInMemoryOnly();
  }));
  if (code == kSkipped)
    GTEST_SKIP() << "no right to mount";
  EXPECT_EQ(code, 0);
}

// Root may do everything, so it becomes another user first.
TEST_F(CacheFaultsTest, folderWithoutPermissions) {
  compile(causalVariant(), 512);
  const int code = finish(start([&] {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0) {
      for (const fs::path &path : {fs::path(root), fs::path(options.cacheDir), files(".o")[0], files(".json")[0]})
        if (chown(path.c_str(), kNobody, kNobody) != 0)
          return kSkipped;
      if (setuid(kNobody) != 0 || ::access(FAKE_COMPILER, R_OK) != 0)
        return kSkipped;
    }
    fs::permissions(options.cacheDir, fs::perms::owner_read | fs::perms::owner_exec);
    if (!compile(causalVariant(), 512).fromDisk)
      return 5;
    if (const int code = compilesInMemoryOnly())
      return code;
    fs::permissions(options.cacheDir, fs::perms::none);
    const int code = compilesInMemoryOnly();
    fs::permissions(options.cacheDir, fs::perms::owner_all);
    return code;
  }));
  if (code == kSkipped)
    GTEST_SKIP() << "cannot become another user";
  EXPECT_EQ(code, 0);
}

// Code is taken from this user and root alone.
TEST_F(CacheFaultsTest, whatOthersOwnIsRefused) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can give files away";
  compile();
  const fs::path object = files(".o")[0], sidecar = files(".json")[0];
  for (const fs::path &path : {object, sidecar}) {
    ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
    EXPECT_TRUE(isCompiled(compile())) << path;
    EXPECT_TRUE(compile().fromDisk) << "replaced by one of our own";
  }
  ASSERT_EQ(chown(options.cacheDir.c_str(), 12345, 12345), 0);
  EXPECT_TRUE(isCompiled(compile()));
  EXPECT_THAT(logText(), HasSubstr("is not used: expected a folder that only its owner"));
  const auto check = context().verifyCache(/*removesCorrupt=*/true);
  ASSERT_EQ(check->problems.size(), 1u);
  EXPECT_FALSE(check->problems[0].isRemoved);
  EXPECT_TRUE(fs::exists(object)) << "nothing is removed from a folder that is not ours";
}

// Export and import: all kernels in one file; what is damaged is not taken, whatever the file
// says, and nothing is taken from it on trust.
#include <random>

#include "runtime/Sha256.h"
#include "tests/unit/runtime/CacheFixture.h"

using namespace attnc;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

class CacheArchiveTest : public CacheFixture {
protected:
  // Two kernels, exported; then an empty cache.
  std::string exported() {
    compile();
    compile(causalVariant(), 512);
    EXPECT_EQ(*context().exportCache(root + "/file"), 2);
    options.cacheDir = root + "/other";
    std::ifstream file(root + "/file", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Result<Context::CacheImport> import(const std::string &bytes) {
    std::ofstream(root + "/file", std::ios::binary | std::ios::trunc) << bytes;
    return context().importCache(root + "/file");
  }
  void expectSound() {
    const auto check = context().verifyCache();
    ASSERT_TRUE(check.ok());
    EXPECT_TRUE(check->problems.empty()) << check->problems[0].what;
  }
};

} // namespace

TEST_F(CacheArchiveTest, roundTrip) {
  const std::string bytes = exported();
  auto report = import(bytes);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->imported, 2);
  EXPECT_EQ(import(bytes)->present, 2);
  options.forbidJit = true;
  EXPECT_TRUE(compile().fromDisk);
  EXPECT_TRUE(compile(causalVariant(), 512).fromDisk);
  EXPECT_EQ(fs::status(files(".o")[0]).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(*context().exportCache(root + "/again"), 2);
  std::ifstream again(root + "/again", std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(again), {}), bytes) << "the same entries, the same file";
}

TEST_F(CacheArchiveTest, truncatedFilesAreToldAndHarmless) {
  const std::string bytes = exported();
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 20)
    EXPECT_FALSE(import(bytes.substr(0, size)).ok()) << size;
  EXPECT_FALSE(import(bytes.substr(0, bytes.size() - 1)).ok());
  EXPECT_FALSE(import(bytes + "x").ok());
  expectSound();
}

// Any changed byte: an error or a refused entry, and never a wrong kernel in the cache.
TEST_F(CacheArchiveTest, changedBytesAreNoticed) {
  const std::string bytes = exported();
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::string changed = bytes;
    changed[random() % (round % 2 ? bytes.size() : 2000)] ^= static_cast<char>(1u << random() % 8);
    auto report = import(changed);
    EXPECT_TRUE(!report.ok() || !report->refused.empty());
    if (round % 20 == 0)
      expectSound();
  }
  expectSound();
}

// Sizes are believed only as far as the file goes: no memory is taken for what it claims.
TEST_F(CacheArchiveTest, hostileSizes) {
  const std::string first = "attnc cache export 1\n";
  for (const char *line :
       {"entry 4000000 60000000\n", "entry 99999999999 1\n", "entry 1 99999999999\n", "entry 18446744073709551615 1\n",
        "entry 99999999999999999999999 1\n", "entry 1 18446744073709551615\n", "entry -1 1\n", "entry 1\n",
        "entry 1 1 1\n", "entry  1 1\n", "entry 0x1 1\n", "end 0\n", "end 0 abc\n", "end 1 \n", "end 0 \n", "\n",
        "../../etc/passwd\n"}) {
    EXPECT_FALSE(import(first + line).ok()) << line;
    EXPECT_FALSE(import(first + line + std::string(1000, 'x')).ok()) << line;
  }
  EXPECT_FALSE(import(std::string(100000, 'x')).ok());
  EXPECT_THAT(import("hello\n").error().message, HasSubstr("begins with 'attnc cache export 1'"));
  EXPECT_TRUE(import(first + "end 0 " + sha256(first) + "\n").ok()) << "an empty cache";
  EXPECT_TRUE(files(".o").empty());
}

TEST_F(CacheArchiveTest, whatCannotBeReadOrWritten) {
  exported();
  EXPECT_EQ(context().importCache(root + "/absent").error().code, ErrorCode::NotFound);
  EXPECT_FALSE(context().importCache(root).ok()) << "a folder";
  EXPECT_FALSE(context().importCache("/dev/zero").ok());
  EXPECT_FALSE(context().exportCache(root + "/absent/file").ok());
  options.cacheDir = "none";
  EXPECT_THAT(context().importCache(root + "/file").error().message, HasSubstr("in memory only"));
  options.cacheDir = root + "/file/cache";
  EXPECT_FALSE(context().importCache(root + "/file").ok()) << "a cache that cannot be made";
}

// A damaged kernel is not exported.
TEST_F(CacheArchiveTest, onlyGoodEntriesAreExported) {
  compile();
  compile(causalVariant(), 512);
  truncate(files(".o")[0].c_str(), 100);
  EXPECT_EQ(*context().exportCache(root + "/file"), 1);
  EXPECT_THAT(logText(), HasSubstr("is ignored"));
}

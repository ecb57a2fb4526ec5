// The cache without any backend: named fields, any kind of binary, callers' compile and load.
#include <set>
#include <thread>

#include "runtime/KernelCache.h"
#include "runtime/Sha256.h"
#include "tests/unit/runtime/CacheFixture.h"

using namespace attnc;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

struct Toy {
  std::string binary;
};

class KernelCacheTest : public CacheFixture {
protected:
  std::unique_ptr<KernelCache> make(uint64_t memoryLimit = 1000) {
    KernelCache::Options cache;
    cache.userDirectory = options.cacheDir;
    cache.limitBytes = 1 << 20;
    cache.memoryLimitBytes = memoryLimit;
    cache.forbidJit = options.forbidJit;
    cache.log = options.log;
    return std::make_unique<KernelCache>(std::move(cache));
  }
  static CacheRequest request(const std::string &name) {
    return {.key = CacheKey({{"backend", "toy"}, {"name", name}}),
            .target = "sm_90a",
            .what = "'" + name + "' for sm_90a",
            .remedy = "attnc warm " + name};
  }
  Result<CacheEntry> compile() {
    ++compiles;
    return CacheEntry{
        .kind = "cubin", .binary = std::string(100, 'b'), .report = R"({"registers": 168})", .name = "toy"};
  }
  Result<std::shared_ptr<const Toy>> get(KernelCache &cache, const std::string &name = "one") {
    return cache.get<Toy>(
        request(name), [this] { return compile(); },
        [this](const CacheEntry &entry) -> Result<std::shared_ptr<const Toy>> {
          ++loads;
          if (refuses-- > 0)
            return Error{ErrorCode::Internal, "this toy does not load"};
          return std::make_shared<const Toy>(Toy{entry.binary});
        },
        info);
  }

  std::atomic<int> compiles = 0, loads = 0;
  int refuses = 0;
  CompileInfo info;
};

} // namespace

// Names and values are told apart from their neighbours.
TEST(CacheKey, everyFieldCounts) {
  const std::vector<std::vector<CacheKey::Field>> lists = {{},
                                                           {{"a", "b"}},
                                                           {{"ab", ""}},
                                                           {{"", "ab"}},
                                                           {{"a", "b"}, {"", ""}},
                                                           {{"a", "1:b"}},
                                                           {{"b", "a"}},
                                                           {{"a", std::string("b\0", 2)}},
                                                           {{"a", "b"}, {"c", "d"}},
                                                           {{"c", "d"}, {"a", "b"}}};
  std::set<std::string> keys;
  for (const auto &list : lists)
    EXPECT_TRUE(keys.insert(CacheKey(list).hex()).second);
  EXPECT_EQ(CacheKey(lists[1]).hex(), CacheKey(lists[1]).hex());
}

TEST_F(KernelCacheTest, anyKindOfBinaryIsKept) {
  auto first = get(*make());
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(files(".cubin").size(), 1u);
  auto cache = make();
  auto second = get(*cache);
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(info.fromDisk);
  EXPECT_EQ((*second)->binary, std::string(100, 'b'));
  EXPECT_EQ(compiles, 1);
  auto again = get(*cache);
  EXPECT_TRUE(info.fromMemory);
  EXPECT_EQ(*again, *second) << "shared";
  EXPECT_EQ(info.target, "sm_90a");
}

TEST_F(KernelCacheTest, theEntryItself) {
  auto cache = make();
  auto entry = cache->get(request("one"), [this] { return compile(); }, info);
  ASSERT_TRUE(entry.ok());
  entry = make()->get(request("one"), [this] { return compile(); }, info);
  ASSERT_TRUE(entry.ok() && info.fromDisk);
  EXPECT_EQ((*entry)->kind, "cubin");
  EXPECT_EQ((*entry)->target, "sm_90a");
  EXPECT_THAT((*entry)->report, HasSubstr("\"registers\": 168"));
  EXPECT_GE((*entry)->compileMs, 0);
}

// What its loader refuses is compiled again, and replaced.
TEST_F(KernelCacheTest, whatDoesNotLoadIsCompiledAgain) {
  ASSERT_TRUE(get(*make()).ok());
  refuses = 2; // once when found, once more under the lock
  ASSERT_TRUE(get(*make()).ok());
  EXPECT_EQ(compiles, 2);
  EXPECT_THAT(logText(), HasSubstr("is ignored: this toy does not load"));
  refuses = 0;
  ASSERT_TRUE(get(*make()).ok());
  EXPECT_EQ(compiles, 2);
}

// Memory holds the latest used within its limit; what it drops lives on in whoever holds it.
TEST_F(KernelCacheTest, memoryIsBounded) {
  auto cache = make(250); // two of 100 bytes
  auto one = get(*cache, "one"), two = get(*cache, "two");
  EXPECT_TRUE(get(*cache, "one").ok() && info.fromMemory);
  ASSERT_TRUE(get(*cache, "three").ok());
  EXPECT_TRUE(get(*cache, "one").ok() && info.fromMemory) << "used after two";
  EXPECT_TRUE(get(*cache, "two").ok() && info.fromDisk);
  EXPECT_EQ((*two)->binary.size(), 100u);
  auto none = make(0);
  EXPECT_TRUE(get(*none).ok() && get(*none).ok() && info.fromDisk);
}

// Nothing thrown by a compile leaves others waiting for it.
TEST_F(KernelCacheTest, aThrowingCompileIsAnError) {
  auto cache = make();
  std::vector<std::thread> threads;
  std::atomic<int> told = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      CompileInfo own;
      auto entry = cache->get(
          request("one"),
          []() -> Result<CacheEntry> {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            throw std::bad_alloc();
          },
          own);
      told += !entry.ok() && entry.error().code == ErrorCode::Internal;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(told, 4);
  EXPECT_TRUE(get(*cache).ok());
}

TEST_F(KernelCacheTest, everyCompileIsLoggedAtStartAndEnd) {
  auto cache = make();
  ASSERT_TRUE(get(*cache).ok());
  const std::string key = request("one").key.brief();
  EXPECT_THAT(logText(), HasSubstr("compile: 'one' for sm_90a starts, key " + key));
  EXPECT_THAT(logText(), HasSubstr("compile: 'one' for sm_90a done in "));
  log.clear();
  EXPECT_FALSE(cache->get(request("two"), [] { return Error{ErrorCode::Internal, "no luck"}; }, info).ok());
  EXPECT_THAT(logText(), HasSubstr("compile: 'two' for sm_90a starts"));
  EXPECT_THAT(logText(), HasSubstr("compile: 'two' for sm_90a failed after "));
  log.clear();
  ASSERT_TRUE(get(*make()).ok());
  EXPECT_EQ(logText(), "") << "hits are quiet";
}

TEST_F(KernelCacheTest, forbidJitTellsHowToMakeIt) {
  options.forbidJit = true;
  auto found = get(*make());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::JitForbidden);
  for (const std::string &part :
       {std::string("'one' for sm_90a"), std::string("`attnc warm one`"), request("one").key.hex()})
    EXPECT_THAT(found.error().message, HasSubstr(part));
  EXPECT_EQ(compiles, 0);
  EXPECT_FALSE(fs::exists(options.cacheDir)) << "nothing is written";
}

// A sidecar with a right hash may still be anyone's: fields, kind, nesting and sizes are checked.
TEST(Sidecar, hostileTextIsRefused) {
  const CacheKey key({{"backend", "toy"}});
  const CacheEntry entry{.kind = "ptx", .binary = "abc"};
  const std::string good = sidecarText(key, entry);
  ASSERT_TRUE(readSidecar(good).ok()) << readSidecar(good).error().message;
  EXPECT_EQ(binaryMismatch(*readSidecar(good), "abc"), "");
  EXPECT_NE(binaryMismatch(*readSidecar(good), "abd"), "");

  auto sealed = [&](std::string text) { // with the hash made right again
    text.resize(text.find("  \"sidecar_sha256\""));
    return text + "  \"sidecar_sha256\": \"" + sha256(text) + "\"\n}\n";
  };
  auto changed = [&](const std::string &what, const std::string &into) {
    std::string text = good;
    const size_t at = text.find(what);
    EXPECT_NE(at, text.npos) << what;
    return text.replace(at, what.size(), into);
  };
  const std::pair<const char *, std::string> changes[] = {
      {"\"kind\": \"ptx\"", "\"kind\": \"../../x\""},
      {"\"kind\": \"ptx\"", "\"kind\": \"json\""},
      {"\"kind\": \"ptx\"", "\"kind\": 3"},
      {"\"schema\": 2", "\"schema\": 3"},
      {"\"backend\": \"toy\"", "\"backend\": \"boy\""},
      {"\"backend\": \"toy\"", "\"backend\": []"},
      {"\"binary_bytes\": 3", "\"binary_bytes\": -3"},
      {"\"binary_bytes\": 3", "\"binary_bytes\": 18446744073709551615"},
      {"\"report\": {}", "\"report\": []"},
      {"\"report\": {}", "\"report\": " + std::string(100000, '[') + std::string(100000, ']')},
      {"\"report\": {}", "\"report\": " + std::string(100000, '[')},
      {"\"key\": \"", "\"key\": \"../"},
  };
  for (const auto &[what, into] : changes) {
    EXPECT_FALSE(readSidecar(changed(what, into)).ok()) << into.substr(0, 40) << ": the hash";
    EXPECT_FALSE(readSidecar(sealed(changed(what, into))).ok()) << into.substr(0, 40);
  }
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(readSidecar(std::string_view(good).substr(0, size)).ok()) << size;
}

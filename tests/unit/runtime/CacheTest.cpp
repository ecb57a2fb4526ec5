// The kernel cache's rules in one process: layers, keys, trust, damage, eviction.
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "tests/unit/runtime/CacheFixture.h"

using namespace attnc;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

namespace {

class CacheTest : public CacheFixture {};

std::string slurp(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void spill(const fs::path &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

} // namespace

TEST_F(CacheTest, compilesOnceThenDiskThenMemory) {
  EXPECT_TRUE(isCompiled(compile()));
  EXPECT_TRUE(compile().fromDisk);
  Context one = context();
  ASSERT_TRUE(one.compile(causalVariant(), fakeOptions()).ok());
  auto again = one.compile(causalVariant(), fakeOptions());
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->info().fromMemory);
  EXPECT_EQ(again->info().key.size(), 64u);
  EXPECT_THAT(logText(), HasSubstr("compile: 'causal' for cpu:"));
}

TEST_F(CacheTest, filesArePrivateAndCompletelyDescribed) {
  compile();
  ASSERT_EQ(files(".o").size(), 1u);
  ASSERT_EQ(files(".json").size(), 1u);
  for (const char *extension : {".o", ".json"})
    EXPECT_EQ(fs::status(files(extension)[0]).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(options.cacheDir).permissions(), fs::perms::owner_all);
  const std::string sidecar = slurp(files(".json")[0]);
  for (const char *field :
       {"schema", "key", "fields", "emitter", "llvm", "ir", "config", "variant", "kind", "report", "schedules",
        "compile_ms", "created", "binary_sha256", "binary_bytes", "compiler", "sidecar_sha256"})
    EXPECT_THAT(sidecar, HasSubstr("\"" + std::string(field) + "\"")) << field;
}

// The key ignores names and locations, and nothing else.
TEST_F(CacheTest, keysFollowMeaning) {
  std::set<std::string> keys;
  keys.insert(compile().key);
  const CompileInfo renamed = compile(causalVariant("other"));
  EXPECT_TRUE(renamed.fromDisk) << "a renamed copy is a hit";
  EXPECT_TRUE(keys.count(renamed.key));
  EXPECT_TRUE(keys.insert(compile(causalVariant(), 512).key).second) << "split size is in the key";
  std::string text = kCausalIr;
  text.replace(text.find("sge"), 3, "sgt");
  EXPECT_TRUE(keys.insert(compile(*Variant::fromIr(text)).key).second) << "the IR is in the key";
  CompileOptions foreign = fakeOptions();
  for (const char *target : {"cpu:sse", "cpu:avx2", "cpu:neon"}) {
    foreign.target = target;
    auto kernel = context().compile(causalVariant(), foreign);
    if (kernel) // the fake object is of this machine only
      keys.insert(kernel->info().key);
  }
}

TEST_F(CacheTest, renamedHitKeepsItsOwnName) {
  compile();
  auto kernel = context().compile(causalVariant("mine"), fakeOptions());
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel->variant().name(), "mine");
}

// Truncated, empty, flipped or foreign: recompiled, logged, mended.
TEST_F(CacheTest, damagedEntriesAreRecompiledAndReplaced) {
  compile();
  const fs::path object = files(".o")[0], sidecar = files(".json")[0];
  const std::string goodObject = slurp(object), goodSidecar = slurp(sidecar);
  const struct {
    const char *what;
    fs::path path;
    std::string bytes;
  } damages[] = {{"truncated object", object, goodObject.substr(0, goodObject.size() / 2)},
                 {"empty object", object, ""},
                 {"longer object", object, goodObject + "x"},
                 {"truncated sidecar", sidecar, goodSidecar.substr(0, goodSidecar.size() / 2)},
                 {"empty sidecar", sidecar, ""},
                 {"sidecar that is an array", sidecar, "[1, 2]"},
                 {"sidecar of nonsense", sidecar, std::string(5000, '\xff')}};
  for (const auto &[what, path, bytes] : damages) {
    SCOPED_TRACE(what);
    spill(path, bytes);
    EXPECT_TRUE(isCompiled(compile()));
    EXPECT_THAT(logText(), HasSubstr("is ignored"));
    EXPECT_TRUE(compile().fromDisk) << "the entry was mended";
    EXPECT_EQ(slurp(object), goodObject);
    log.clear();
  }
}

// Any single flipped byte of the object and any changed key field is noticed.
TEST_F(CacheTest, tamperingIsNoticed) {
  compile();
  const fs::path object = files(".o")[0], sidecar = files(".json")[0];
  std::string bytes = slurp(object);
  for (size_t at : {size_t(0), size_t(70), bytes.size() / 2, bytes.size() - 1}) {
    bytes = slurp(object);
    bytes[at] ^= 1;
    spill(object, bytes);
    EXPECT_TRUE(isCompiled(compile())) << at;
  }
  for (const char *field :
       {"\"block_m\"", "\"scratch_bytes\"", "\"partial_floats\"", "\"llvm\"", "\"ir\"", "\"config\"", "\"key\"",
        "\"schema\"", "\"binary_bytes\"", "\"binary_sha256\"", "\"variant\""}) {
    std::string text = slurp(sidecar);
    size_t at = text.find(field);
    ASSERT_NE(at, text.npos) << field;
    text.replace(at + 1, 1, "X"); // the field is gone
    spill(sidecar, text);
    EXPECT_TRUE(isCompiled(compile())) << field;
  }
  // Schedules that would let a kernel write past its scratch memory.
  std::string text = slurp(sidecar);
  size_t at = text.find("\"partial_floats\": ");
  ASSERT_NE(at, text.npos);
  text.insert(at + 18, "9");
  spill(sidecar, text);
  EXPECT_TRUE(isCompiled(compile()));
}

TEST_F(CacheTest, folderThatOthersCanWriteIsNotUsed) {
  compile();
  fs::permissions(options.cacheDir, fs::perms::all);
  EXPECT_TRUE(isCompiled(compile()));
  EXPECT_THAT(logText(), HasSubstr("is not used: expected a folder that only its owner"));
  fs::permissions(options.cacheDir, fs::perms::owner_all);
  EXPECT_TRUE(compile().fromDisk);
  fs::permissions(files(".o")[0], fs::perms::all);
  EXPECT_TRUE(isCompiled(compile())) << "a file that others can write";
}

TEST_F(CacheTest, linksAreNotFollowed) {
  compile();
  const fs::path object = files(".o")[0];
  fs::rename(object, root + "/elsewhere.o");
  fs::create_symlink(root + "/elsewhere.o", object);
  EXPECT_TRUE(isCompiled(compile()));
}

// A path below a file cannot be made by anyone, root included.
TEST_F(CacheTest, unwritableDirectoryMeansMemoryOnly) {
  spill(root + "/file", "");
  options.cacheDir = root + "/file/cache";
  Context one = context();
  ASSERT_TRUE(one.compile(causalVariant(), fakeOptions()).ok());
  ASSERT_TRUE(one.compile(causalVariant(), fakeOptions(512)).ok());
  auto again = one.compile(causalVariant(), fakeOptions());
  EXPECT_TRUE(again.ok() && again->info().fromMemory);
  const std::string text = logText();
  EXPECT_THAT(text, HasSubstr("kernels stay in memory"));
  EXPECT_EQ(text.find("kernels stay in memory"), text.rfind("kernels stay in memory")) << "said once";
}

TEST_F(CacheTest, noneKeepsKernelsInMemory) {
  options.cacheDir = "none";
  Context one = context();
  EXPECT_EQ(one.cacheDirectory(), "");
  ASSERT_TRUE(one.compile(causalVariant(), fakeOptions()).ok());
  EXPECT_TRUE(one.cacheEntries()->empty());
  EXPECT_EQ(*one.clearCache(), 0);
}

TEST_F(CacheTest, systemDirectoriesAreReadAndNeverWritten) {
  compile();
  const std::string system = options.cacheDir;
  options.systemCacheDirs = {root + "/absent", system};
  options.cacheDir = root + "/user";
  options.forbidJit = true;
  EXPECT_TRUE(compile().fromDisk);
  options.forbidJit = false;
  compile(causalVariant(), 512);
  EXPECT_EQ(std::distance(fs::directory_iterator(system), fs::directory_iterator()), 3) << "object, sidecar, lock";
  EXPECT_EQ(std::distance(fs::directory_iterator(options.cacheDir), fs::directory_iterator()), 3);
}

TEST_F(CacheTest, forbidJitNamesVariantTargetAndKey) {
  options.forbidJit = true;
  auto kernel = context().compile(causalVariant(), fakeOptions());
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::JitForbidden);
  EXPECT_THAT(kernel.error().message, HasSubstr("variant 'causal' for cpu:"));
  EXPECT_THAT(kernel.error().message, HasSubstr("compiling is forbidden"));
  EXPECT_THAT(kernel.error().message,
              HasSubstr("`attnc warm FILE:causal --dtype=f32 --head-dim=8x4 --split-size=1024 --target=cpu:"));
}

TEST_F(CacheTest, leastRecentlyUsedGoesFirst) {
  compile(causalVariant(), 64);
  const uint64_t entryBytes = fs::file_size(files(".o")[0]) + fs::file_size(files(".json")[0]);
  options.cacheLimitBytes = entryBytes * 3 + entryBytes / 2;
  std::vector<int> splits = {64, 128, 192};
  for (int split : splits)
    compile(causalVariant(), split);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(compile(causalVariant(), 64).fromDisk) << "used now, so 128 is the oldest";
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(isCompiled(compile(causalVariant(), 256)));
  EXPECT_EQ(files(".o").size(), 3u);
  EXPECT_TRUE(compile(causalVariant(), 64).fromDisk);
  EXPECT_TRUE(compile(causalVariant(), 192).fromDisk);
  EXPECT_TRUE(compile(causalVariant(), 256).fromDisk);
  EXPECT_TRUE(isCompiled(compile(causalVariant(), 128)));
}

TEST_F(CacheTest, foreignFilesAreLeftAlone) {
  compile();
  spill(options.cacheDir + "/notes.txt", "mine");
  spill(options.cacheDir + "/short.o", "mine");
  options.cacheLimitBytes = 0;
  compile(causalVariant(), 512);
  EXPECT_TRUE(context().clearCache().ok());
  EXPECT_EQ(slurp(options.cacheDir + "/notes.txt"), "mine");
  EXPECT_EQ(slurp(options.cacheDir + "/short.o"), "mine");
}

TEST_F(CacheTest, listsAndClears) {
  compile();
  compile(causalVariant(), 512);
  Context one = context();
  auto entries = one.cacheEntries();
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].variant, "causal");
  EXPECT_THAT((*entries)[0].target, HasSubstr("cpu:"));
  EXPECT_GT((*entries)[0].bytes, 0u);
  EXPECT_EQ((*entries)[0].created.size(), 20u);
  EXPECT_EQ(*one.clearCache(), 2);
  EXPECT_TRUE(one.cacheEntries()->empty());
  EXPECT_TRUE(isCompiled(compile()));
}

TEST_F(CacheTest, showsOneEntryByUniquePrefix) {
  const std::string key = compile().key;
  Context one = context();
  for (size_t digits : {64, 12, 1})
    EXPECT_THAT(*one.cacheEntryJson(key.substr(0, digits)), HasSubstr("\"key\": \"" + key)) << digits;
  EXPECT_EQ(one.cacheEntryJson("").error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(one.cacheEntryJson("../x").error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(one.cacheEntryJson(key + "0").error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(one.cacheEntryJson(std::string(64, '0')).error().code, ErrorCode::NotFound);
  std::set<char> firsts = {key[0]};
  for (int split = 64; split < 64 * 64; split += 64)
    if (const std::string other = compile(causalVariant(), split).key; !firsts.insert(other[0]).second) {
      EXPECT_THAT(one.cacheEntryJson(other.substr(0, 1)).error().message, HasSubstr("keys begin with"));
      return;
    }
  FAIL() << "63 keys, and no two begin alike";
}

TEST_F(CacheTest, verifyFindsAndRemovesWhatIsCorrupt) {
  EXPECT_EQ(context().verifyCache()->entries, 0) << "no directory yet";
  const std::string key = compile().key;
  compile(causalVariant(), 512);
  EXPECT_TRUE(context().verifyCache()->problems.empty());
  fs::resize_file(fs::path(options.cacheDir) / (key + ".o"), 10);
  auto check = context().verifyCache();
  EXPECT_EQ(check->entries, 2);
  ASSERT_EQ(check->problems.size(), 1u);
  EXPECT_EQ(check->problems[0].key, key);
  EXPECT_THAT(check->problems[0].what, HasSubstr("has 10 bytes"));
  EXPECT_FALSE(check->problems[0].isRemoved);
  EXPECT_TRUE(context().verifyCache(true)->problems[0].isRemoved);
  check = context().verifyCache();
  EXPECT_EQ(check->entries, 1);
  EXPECT_TRUE(check->problems.empty());
  EXPECT_EQ(files(".o").size(), 1u);
  fs::remove(files(".o")[0]);
  EXPECT_EQ(context().verifyCache()->problems.size(), 1u) << "a sidecar alone";
}

// One result an item in the items' order, each key compiled once, failures beside successes.
TEST_F(CacheTest, warmCompilesWhatIsMissing) {
  compile(causalVariant(), 64);
  std::vector<Context::WarmItem> items;
  for (int split : {64, 128, 192, 128})
    items.push_back({causalVariant(), fakeOptions(split)});
  items.push_back({causalVariant("broken"), fakeOptions(256)});
  const int before = fakeCompileCount();
  std::set<size_t> told;
  auto results = context().warm(items, 3, [&](size_t index, const auto &) { told.insert(index); });
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(told.size(), 5u);
  EXPECT_EQ(fakeCompileCount() - before, 3);
  EXPECT_TRUE(results[0]->fromDisk);
  EXPECT_TRUE(isCompiled(*results[2]));
  EXPECT_EQ(results[1]->key, results[3]->key);
  EXPECT_EQ(results[4].error().code, ErrorCode::InvalidVariant);
  options.forbidJit = true;
  EXPECT_TRUE(compile(causalVariant(), 192).fromDisk);
  EXPECT_TRUE(context().warm({}).empty());
}

TEST_F(CacheTest, failuresAreReportedAndForgotten) {
  Context one = context();
  for (int i = 0; i < 2; ++i) {
    auto kernel = one.compile(causalVariant("broken"), fakeOptions());
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().code, ErrorCode::InvalidVariant);
    EXPECT_EQ(kernel.error().message, "broken.attn:1:2: error: this variant is broken");
  }
  EXPECT_TRUE(files(".o").empty());
}

TEST_F(CacheTest, missingCompilerSaysWhereItLooked) {
  options.compilerPath = root + "/no_compiler.so";
  auto kernel = context().compile(causalVariant(), fakeOptions());
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::NotFound);
  EXPECT_THAT(kernel.error().message, HasSubstr(root + "/no_compiler.so: no such file"));
  EXPECT_THAT(kernel.error().message, HasSubstr("ATTNC_COMPILER"));
}

TEST_F(CacheTest, aHitNeedsNoCompiler) {
  compile();
  options.compilerPath = root + "/no_compiler.so";
  EXPECT_TRUE(compile().fromDisk);
}

TEST_F(CacheTest, optionsAreChecked) {
  Context one = context();
  auto complaint = [&](auto spoil) {
    CompileOptions options = fakeOptions();
    spoil(options);
    auto kernel = one.compile(causalVariant(), options);
    return kernel ? "" : kernel.error().message;
  };
  using O = CompileOptions;
  EXPECT_THAT(complaint([](O &o) { o.dtype = DType::I32; }), HasSubstr("dtype: expected f32, f16 or bf16, found i32"));
  EXPECT_THAT(complaint([](O &o) { o.headDim = 0; }), HasSubstr("headDim: expected 1 to 512, found 0"));
  EXPECT_THAT(complaint([](O &o) { o.valueDim = 513; }), HasSubstr("valueDim: expected 1 to 512, found 513"));
  EXPECT_THAT(complaint([](O &o) { o.splitSize = 100; }), HasSubstr("splitSize: expected a multiple of 64"));
  EXPECT_THAT(complaint([](O &o) { o.target = "cpu:avx1024"; }),
              HasSubstr("target 'cpu:avx1024' is unknown; did you mean"));
  EXPECT_THAT(complaint([](O &o) { o.captureDtypes = {{"slopes", DType::BF16}}; }),
              HasSubstr("declares no capture 'slopes'; it has none"));
  auto dump = one.dump(causalVariant(), fakeOptions(), "asmm");
  EXPECT_THAT(dump.error().message, HasSubstr("stage 'asmm' is unknown; did you mean 'asm'?"));
  EXPECT_THAT(*one.dump(causalVariant(), fakeOptions(), "attn"), HasSubstr("attn.variant @causal"));
}

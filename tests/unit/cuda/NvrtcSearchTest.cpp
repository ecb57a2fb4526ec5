// NVRTC is found wherever toolkits and Python packages put it, the newest first in each place,
// and what is too old is refused by its version. Fake libraries stand for NVRTC.
#include "runtime/cuda/NvrtcSearch.h"

#include <dlfcn.h>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "runtime/cuda/Nvrtc.h"

namespace attnc::cuda {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

class NvrtcSearchTest : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/attnc_nvrtc_XXXXXX";
    ASSERT_TRUE(mkdtemp(name));
    root = name;
  }
  void TearDown() override { fs::remove_all(root); }

  // A file of that name; a copy of `library`, so that the loader takes each for a library of its
  // own, or an empty one.
  std::string add(const fs::path &path, const std::string &library = {}) {
    fs::create_directories((root / path).parent_path());
    if (library.empty())
      std::ofstream(root / path).flush();
    else
      fs::copy_file(library, root / path);
    return root / path;
  }
  // What is found in folders of the test alone.
  std::vector<std::string> found(const NvrtcSearch &search) {
    std::vector<std::string> ours;
    for (const std::string &path : findNvrtc(search).libraries)
      if (path.starts_with(root.string()))
        ours.push_back(path);
    return ours;
  }
  fs::path root;
};

TEST(NvrtcFileVersion, IsReadFromTheNamesOfToolkitsAndWheels) {
  EXPECT_THAT(nvrtcFileVersion("libnvrtc.so.13"), Optional(ElementsAre(13)));
  EXPECT_THAT(nvrtcFileVersion("libnvrtc.so.12.4.127"), Optional(ElementsAre(12, 4, 127)));
  EXPECT_THAT(nvrtcFileVersion("libnvrtc-672ee683.so.11.2"), Optional(ElementsAre(11, 2)));
  EXPECT_THAT(nvrtcFileVersion("libnvrtc.so"), Optional(ElementsAre()));
  for (const char *other : {"libnvrtc-builtins.so.13.0", "libnvrtc-builtins-1a2b.so.12", "libnvrtc.alt.so.13",
                            "libnvrtc_static.a", "libnvrtc.so.13x", "libnvrtc.so.", "libcuda.so.1", "libnvrtc"})
    EXPECT_FALSE(nvrtcFileVersion(other).has_value()) << other;
}

TEST_F(NvrtcSearchTest, AnExplicitPathIsTheOnlyOneTried) {
  add("lib/libnvrtc.so.13");
  NvrtcPlaces places = findNvrtc({.path = "/x/libnvrtc.so.12", .folders = {root}});
  EXPECT_THAT(places.libraries, ElementsAre("/x/libnvrtc.so.12"));
}

TEST_F(NvrtcSearchTest, WheelsAreFoundInSitePackages) {
  const std::string cuda12 = add("nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  const std::string cuda13 = add("nvidia/cu13/lib/libnvrtc.so.13");
  const std::string torch = add("torch/lib/libnvrtc-672ee683.so.11.2");
  add("nvidia/cu13/lib/libnvrtc-builtins.so.13.0");
  EXPECT_THAT(found({.folders = {root}}), ElementsAre(cuda13, cuda12, torch));
}

TEST_F(NvrtcSearchTest, WheelsAreFoundInAnEnvironment) {
  const std::string wheel = add("lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  EXPECT_THAT(found({.folders = {root}}), ElementsAre(wheel));
}

TEST_F(NvrtcSearchTest, ToolkitsAreFoundAsInstallersAndCondaLayThemOut) {
  const std::string usual = add("cuda/lib64/libnvrtc.so.13");
  const std::string conda = add("conda/targets/x86_64-linux/lib/libnvrtc.so.12");
  const std::string bare = add("bare/libnvrtc.so.12");
  EXPECT_THAT(found({.folders = {root / "conda", "", root / "cuda", root / "bare"}}), ElementsAre(conda, usual, bare));
}

TEST_F(NvrtcSearchTest, AFileBehindManyLinksIsTriedOnce) {
  const std::string file = add("lib64/libnvrtc.so.13.0.48");
  fs::create_symlink(file, root / "lib64/libnvrtc.so.13");
  fs::create_directory_symlink("lib64", root / "lib");
  EXPECT_THAT(found({.folders = {root}}), ElementsAre(HasSubstr("libnvrtc.so.13.0.48")));
}

TEST_F(NvrtcSearchTest, GivenFoldersComeBeforeAllOthers) {
  const std::string given = add("lib/libnvrtc.so.12");
  const NvrtcPlaces places = findNvrtc({.folders = {root}});
  EXPECT_EQ(places.libraries.front(), given);
  EXPECT_EQ(places.looked.front(), root);
}

TEST_F(NvrtcSearchTest, LoadedLibrariesAreUsedAndTellWherePackagesAre) {
  const std::string loaded = add("site-packages/torch/lib/libnvrtc-0a1b.so.12.1", FAKE_NVRTC_12);
  const std::string wheel = add("site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  void *handle = dlopen(loaded.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(handle) << dlerror();
  // The loaded one suits the driver that its owner runs with, so it comes before newer ones.
  EXPECT_THAT(found({}), ElementsAre(loaded, wheel));
  EXPECT_THAT(findNvrtc({}).looked, testing::Contains((root / "site-packages").string()));
  dlclose(handle);
}

TEST_F(NvrtcSearchTest, TheNewestUsableOneIsOpened) {
  const std::string old = add("nvidia/a/lib/libnvrtc.so.11.8", FAKE_NVRTC_11);
  const std::string wanted = add("nvidia/b/lib/libnvrtc.so.12", FAKE_NVRTC_12);
  add("nvidia/c/lib/libnvrtc.so.13"); // empty: the loader refuses it
  auto opened = Nvrtc::open(NvrtcSearch{.folders = {root}});
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ((*opened)->path(), wanted);
  EXPECT_EQ((*opened)->version(), "12.1");
}

TEST_F(NvrtcSearchTest, AnOldOneIsRefusedWithBothVersions) {
  const std::string old = add("libnvrtc.so.11.8", FAKE_NVRTC_11);
  auto opened = Nvrtc::open(old);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(opened.error().message, AllOf(HasSubstr(old), HasSubstr("NVRTC 11.8"), HasSubstr("12.0 or newer")));
}

TEST_F(NvrtcSearchTest, ALibraryThatIsNoNvrtcIsRefused) {
  auto opened = Nvrtc::open("libc.so.6");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(opened.error().message, AllOf(HasSubstr("'libc.so.6'"), HasSubstr("no NVRTC")));
}

TEST_F(NvrtcSearchTest, AnArchThatIsTooNewForItIsRefused) {
  auto opened = Nvrtc::open(add("libnvrtc.so.12", FAKE_NVRTC_12));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  Status status = (*opened)->checkArch("sm_100");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, AllOf(HasSubstr("NVRTC 12.1"), HasSubstr("sm_100"), HasSubstr("sm_80")));
}

TEST_F(NvrtcSearchTest, PlacesAreListed) {
  EXPECT_THAT(findNvrtc({.folders = {root}}).looked,
              testing::IsSupersetOf({root.string(), std::string("the loader's path"), std::string("/usr/local/cuda")}));
}

TEST_F(NvrtcSearchTest, ARealOneWorksFromAWheel) {
  const char *toolkit = "/usr/local/cuda/lib64";
  if (!fs::exists(fs::path(toolkit) / "libnvrtc.so.13"))
    GTEST_SKIP() << "no CUDA 13 toolkit on this machine";
  fs::create_directories(root / "nvidia/cu13");
  fs::create_directory_symlink(toolkit, root / "nvidia/cu13/lib");
  auto opened = Nvrtc::open(NvrtcSearch{.folders = {root}});
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ((*opened)->major(), 13);
  auto ptx = (*opened)->compile("__global__ void nothing() {}", "nothing.cu",
                                Nvrtc::kernelOptions("sm_80", NvrtcOutput::Ptx), NvrtcOutput::Ptx);
  EXPECT_TRUE(ptx.ok()) << ptx.error().message;
}

} // namespace
} // namespace attnc::cuda

#include "runtime/cuda/NvrtcSearch.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <link.h>
#include <set>

namespace attnc::cuda {

namespace fs = std::filesystem;

namespace {

// The folders in a folder, in the order of their names; none where it cannot be read.
std::vector<fs::path> subfolders(const fs::path &folder, std::string_view prefix = {}) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored))
    if (entry->path().filename().string().starts_with(prefix) && entry->is_directory(ignored))
      found.push_back(entry->path());
  std::sort(found.begin(), found.end());
  return found;
}

struct Library {
  std::vector<int> version;
  std::string path;
};

void addLibraries(const fs::path &folder, std::vector<Library> &found) {
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored))
    if (auto version = nvrtcFileVersion(entry->path().filename().string()))
      found.push_back({*std::move(version), entry->path().string()});
}

// The wheels' folders: nvidia/cuda_nvrtc/lib for CUDA 12, nvidia/cu13/lib, torch/lib.
void addPackages(const fs::path &sitePackages, std::vector<Library> &found) {
  for (const fs::path &package : subfolders(sitePackages / "nvidia"))
    addLibraries(package / "lib", found);
  addLibraries(sitePackages / "torch" / "lib", found);
}

// Whatever the folder is: one that holds the library, a toolkit, site-packages, an environment.
void addFolder(const fs::path &folder, std::vector<Library> &found) {
  for (const char *part : {"", "lib64", "lib"})
    addLibraries(folder / part, found);
  for (const fs::path &target : subfolders(folder / "targets")) // as conda lays a toolkit out
    addLibraries(target / "lib", found);
  addPackages(folder, found);
  for (const fs::path &python : subfolders(folder / "lib", "python"))
    for (const char *packages : {"site-packages", "dist-packages"})
      addPackages(python / packages, found);
}

// One place after another: within each the newest library comes first.
void lookAt(const std::vector<fs::path> &folders, NvrtcPlaces &places) {
  std::vector<Library> found;
  for (const fs::path &folder : folders) {
    if (folder.empty() || std::find(places.looked.begin(), places.looked.end(), folder) != places.looked.end())
      continue;
    places.looked.push_back(folder.string());
    addFolder(folder, found);
  }
  std::sort(found.begin(), found.end(), [](const Library &a, const Library &b) {
    return a.version != b.version ? a.version > b.version : a.path < b.path;
  });
  for (Library &library : found)
    places.libraries.push_back(std::move(library.path));
}

std::vector<std::string> loadedLibraries() {
  std::vector<std::string> names;
  auto add = [](dl_phdr_info *info, size_t, void *names) {
    if (info->dlpi_name && *info->dlpi_name)
      static_cast<std::vector<std::string> *>(names)->push_back(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(add, &names);
  return names;
}

// "/x/site-packages" of "/x/site-packages/numpy/core.so", else "".
std::string packagesRoot(const std::string &path) {
  for (std::string_view folder : {"/site-packages/", "/dist-packages/"})
    if (size_t at = path.find(folder); at != path.npos)
      return path.substr(0, at + folder.size() - 1);
  return {};
}

// Toolkits reach one file by many links; the message that none could be opened names it once.
void keepFirstOfEachFile(std::vector<std::string> &libraries) {
  std::set<std::string> seen;
  std::erase_if(libraries, [&](const std::string &path) {
    std::error_code isName; // for the loader, or of a file that was removed after loading
    const fs::path file = fs::canonical(path, isName);
    return !seen.insert(isName ? path : file.string()).second;
  });
}

} // namespace

std::optional<std::vector<int>> nvrtcFileVersion(std::string_view fileName) {
  constexpr std::string_view kName = "libnvrtc", kSuffix = ".so";
  if (!fileName.starts_with(kName))
    return {};
  const size_t suffix = fileName.find(kSuffix);
  if (suffix == fileName.npos)
    return {};
  // Between them nothing, or the hash of a wheel; libnvrtc-builtins and libnvrtc.alt are others.
  const std::string_view hash = fileName.substr(kName.size(), suffix - kName.size());
  if (!hash.empty() && (hash[0] != '-' || hash.find_first_not_of("0123456789abcdef", 1) != hash.npos))
    return {};
  std::vector<int> version;
  for (std::string_view rest = fileName.substr(suffix + kSuffix.size()); !rest.empty();) {
    int number = 0;
    const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), number);
    if (rest[0] != '.' || error != std::errc())
      return {};
    version.push_back(number);
    rest.remove_prefix(end - rest.data());
  }
  return version;
}

NvrtcPlaces findNvrtc(const NvrtcSearch &search) {
  NvrtcPlaces places;
  if (!search.path.empty()) {
    places.libraries = {search.path};
    return places;
  }
  for (const std::string &folder : search.folders)
    lookAt({folder}, places);

  const std::vector<std::string> loaded = loadedLibraries();
  for (const std::string &path : loaded)
    if (nvrtcFileVersion(fs::path(path).filename().string()))
      places.libraries.push_back(path);
  places.looked.emplace_back("libraries that the process has loaded");
  for (const char *name : {"libnvrtc.so.13", "libnvrtc.so.12"})
    places.libraries.emplace_back(name);
  places.looked.emplace_back("the loader's path");

  for (const std::string &path : loaded)
    lookAt({packagesRoot(path)}, places);
  lookAt({"/usr/local/cuda"}, places);
  lookAt(subfolders("/usr/local", "cuda-"), places);
  lookAt({"/opt/cuda"}, places);
  keepFirstOfEachFile(places.libraries);
  return places;
}

} // namespace attnc::cuda

#include "runtime/cuda/Nvrtc.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <dlfcn.h>

#include <fmt/format.h>

namespace attnc::cuda {

namespace {

// The part of nvrtc.h that is used; its interface is C and has been stable since CUDA 11.
using Program = struct ProgramHandle *;
constexpr int kSuccess = 0;
constexpr int kCompilationFailed = 6;
constexpr int kOldest = 12; // CUDA version, as of the oldest driver that kernels are launched with

std::string loadedFrom(void *symbol, const std::string &fallback) {
  Dl_info info = {};
  return dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : fallback;
}

} // namespace

struct Nvrtc::Functions {
  int (*version)(int *, int *);
  int (*archCount)(int *);
  int (*arches)(int *);
  const char *(*errorString)(int);
  int (*create)(Program *, const char *, const char *, int, const char *const *, const char *const *);
  int (*destroy)(Program *);
  int (*compile)(Program, int, const char *const *);
  int (*logSize)(Program, size_t *);
  int (*log)(Program, char *);
  int (*ptxSize)(Program, size_t *);
  int (*ptx)(Program, char *);
  int (*cubinSize)(Program, size_t *);
  int (*cubin)(Program, char *);

  // False where the library lacks a function.
  bool load(void *library) {
    auto get = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    return get(version, "nvrtcVersion") && get(archCount, "nvrtcGetNumSupportedArchs") &&
           get(arches, "nvrtcGetSupportedArchs") && get(errorString, "nvrtcGetErrorString") &&
           get(create, "nvrtcCreateProgram") && get(destroy, "nvrtcDestroyProgram") &&
           get(compile, "nvrtcCompileProgram") && get(logSize, "nvrtcGetProgramLogSize") &&
           get(log, "nvrtcGetProgramLog") && get(ptxSize, "nvrtcGetPTXSize") && get(ptx, "nvrtcGetPTX") &&
           get(cubinSize, "nvrtcGetCUBINSize") && get(cubin, "nvrtcGetCUBIN");
  }
};

Nvrtc::Nvrtc(std::string path, std::unique_ptr<const Functions> given)
    : libraryPath(std::move(path)), functions(std::move(given)) {
  functions->version(&versionMajor, &versionMinor);
  int count = 0;
  if (functions->archCount(&count) == kSuccess && count > 0) {
    arches.resize(count);
    if (functions->arches(arches.data()) != kSuccess)
      arches.clear();
  }
}

Nvrtc::~Nvrtc() = default; // the library stays loaded: it keeps threads and atexit handlers

Result<std::shared_ptr<const Nvrtc>> Nvrtc::openLibrary(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return Error{ErrorCode::NotFound, reason ? reason : path};
  }
  auto functions = std::make_unique<Functions>();
  if (!functions->load(library))
    return Error{ErrorCode::Unsupported,
                 fmt::format("'{}' is no NVRTC, or one that is older than CUDA {}: it lacks functions", path, kOldest)};
  std::string from = loadedFrom(reinterpret_cast<void *>(functions->version), path);
  std::shared_ptr<const Nvrtc> nvrtc(new Nvrtc(std::move(from), std::move(functions)));
  if (nvrtc->major() < kOldest)
    return Error{ErrorCode::Unsupported,
                 fmt::format("'{}' is NVRTC {}, attnc needs {}.0 or newer", path, nvrtc->version(), kOldest)};
  return nvrtc;
}

Result<std::shared_ptr<const Nvrtc>> Nvrtc::open(const NvrtcSearch &search) {
  const NvrtcPlaces places = findNvrtc(search);
  std::string tried;
  for (const std::string &path : places.libraries) {
    auto opened = openLibrary(path);
    if (opened || (opened.error().code == ErrorCode::Unsupported && !search.path.empty()))
      return opened;
    tried += fmt::format("\n  {}", opened.error().message);
  }
  std::string looked;
  for (const std::string &place : places.looked)
    looked += fmt::format("{}{}", looked.empty() ? "\nlooked at: " : ", ", place);
  return Error{ErrorCode::NotFound,
               fmt::format("NVRTC, which compiles CUDA kernels, was not found; install the CUDA toolkit or the Python "
                           "package nvidia-cuda-nvrtc (nvidia-cuda-nvrtc-cu12 for CUDA 12), or name a libnvrtc.so in "
                           "ATTNC_NVRTC; tried:{}{}",
                           tried, looked)};
}

Result<std::shared_ptr<const Nvrtc>> Nvrtc::open(const std::string &path) { return open(NvrtcSearch{.path = path}); }

std::string Nvrtc::version() const { return fmt::format("{}.{}", versionMajor, versionMinor); }

Status Nvrtc::checkArch(std::string_view arch) const {
  int number = 0;
  std::string_view digits = arch.starts_with("sm_") ? arch.substr(3) : "";
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (arches.empty() || std::find(arches.begin(), arches.end(), number) != arches.end())
    return {};
  std::string known;
  for (int each : arches)
    known += fmt::format("{}sm_{}", known.empty() ? "" : ", ", each);
  return Error{ErrorCode::Unsupported,
               fmt::format("NVRTC {} at '{}' cannot compile for {}; it knows {}", version(), libraryPath, arch, known)};
}

std::vector<std::string> Nvrtc::kernelOptions(std::string_view arch, NvrtcOutput output) {
  std::string number(arch.substr(arch.find('_') + 1));
  return {fmt::format("--gpu-architecture={}_{}", output == NvrtcOutput::Ptx ? "compute" : "sm", number), "--std=c++17",
          "-default-device",
          // The text says where a multiplication and an addition fuse; nothing else may.
          "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false", "-lineinfo", "--ptxas-options=-v"};
}

Result<NvrtcResult> Nvrtc::compile(const std::string &text, const std::string &fileName,
                                   const std::vector<std::string> &options, NvrtcOutput output) const {
  const auto start = std::chrono::steady_clock::now();
  Program program = nullptr;
  auto failed = [&](const char *what, int code) {
    return Error{ErrorCode::Internal, fmt::format("NVRTC {}: {}", what, functions->errorString(code))};
  };
  if (int code = functions->create(&program, text.c_str(), fileName.c_str(), 0, nullptr, nullptr); code != kSuccess)
    return failed("cannot take the program", code);
  struct Destroy {
    const Functions &functions;
    Program program;
    ~Destroy() { functions.destroy(&program); }
  } destroy{*functions, program};

  std::vector<const char *> arguments;
  for (const std::string &option : options)
    arguments.push_back(option.c_str());
  const int compiled = functions->compile(program, static_cast<int>(arguments.size()), arguments.data());
  NvrtcResult result;
  size_t size = 0;
  if (functions->logSize(program, &size) == kSuccess && size > 1) {
    result.log.resize(size);
    functions->log(program, result.log.data());
    result.log.resize(size - 1); // its terminating zero
  }
  if (compiled == kCompilationFailed)
    return Error{ErrorCode::Internal, "NVRTC rejects the kernel:\n" + result.log};
  if (compiled != kSuccess)
    return Error{ErrorCode::Unsupported, fmt::format("NVRTC {} cannot compile: {}\n{}", version(),
                                                     functions->errorString(compiled), result.log)};
  const bool isPtx = output == NvrtcOutput::Ptx;
  if (int code = (isPtx ? functions->ptxSize : functions->cubinSize)(program, &size); code != kSuccess || !size)
    return failed("gives no binary", code);
  result.binary.resize(size);
  if (int code = (isPtx ? functions->ptx : functions->cubin)(program, result.binary.data()); code != kSuccess)
    return failed("gives no binary", code);
  if (isPtx && result.binary.back() == '\0')
    result.binary.pop_back();
  result.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return result;
}

} // namespace attnc::cuda

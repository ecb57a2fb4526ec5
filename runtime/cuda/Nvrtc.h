// NVRTC, NVIDIA's compiler from CUDA C++ to PTX and cubin, opened when first needed. NvrtcSearch
// says where it is looked for.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attnc/Status.h"
#include "runtime/cuda/NvrtcSearch.h"

namespace attnc::cuda {

enum class NvrtcOutput { Ptx, Cubin };

struct NvrtcResult {
  std::string binary; // PTX text, or an ELF cubin
  std::string log;    // of the compiler and, with --ptxas-options=-v, of ptxas
  double milliseconds = 0;
};

class Nvrtc {
public:
  // Opens the first usable library that findNvrtc() names. NotFound says where it looked and
  // what to install; Unsupported where `path` names one older than CUDA 12.0.
  static Result<std::shared_ptr<const Nvrtc>> open(const NvrtcSearch &search);
  static Result<std::shared_ptr<const Nvrtc>> open(const std::string &path = {});

  int major() const { return versionMajor; }
  int minor() const { return versionMinor; }
  std::string version() const; // "13.0"
  const std::string &path() const { return libraryPath; }

  // "sm_80" to "sm_120"; Unsupported where this NVRTC does not know it.
  Status checkArch(std::string_view arch) const;

  // Options every attnc kernel is compiled with: part of the cache's key. PTX is made for
  // the virtual architecture, so that it says what a cubin of `arch` is made from.
  static std::vector<std::string> kernelOptions(std::string_view arch, NvrtcOutput output);

  // Compiles one program. Internal errors carry the compiler's log.
  // Safe to call from several threads at once.
  Result<NvrtcResult> compile(const std::string &text, const std::string &fileName,
                              const std::vector<std::string> &options, NvrtcOutput output) const;

  ~Nvrtc();
  Nvrtc(const Nvrtc &) = delete;
  Nvrtc &operator=(const Nvrtc &) = delete;

private:
  struct Functions;
  static Result<std::shared_ptr<const Nvrtc>> openLibrary(const std::string &path);
  Nvrtc(std::string path, std::unique_ptr<const Functions> functions);

  std::string libraryPath;
  std::unique_ptr<const Functions> functions;
  int versionMajor = 0, versionMinor = 0;
  std::vector<int> arches; // 80, 90, ...
};

} // namespace attnc::cuda

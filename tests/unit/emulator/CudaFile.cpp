#include "tests/unit/emulator/CudaFile.h"

#include <gtest/gtest.h>

#include <fstream>

#include "runtime/cuda/Nvrtc.h"
#include "tests/unit/emulator/PtxRunner.h"

namespace attnc::emulator {

std::optional<std::string> compileText(const std::string &text, const std::string &name, const std::string &arch,
                                       const std::vector<std::string> &options) {
  const auto nvrtc = cuda::Nvrtc::open();
  if (!nvrtc)
    return std::nullopt;
  std::vector<std::string> all = cuda::Nvrtc::kernelOptions(arch, cuda::NvrtcOutput::Ptx);
  all.insert(all.end(), options.begin(), options.end());
  const auto compiled = (*nvrtc)->compile(text, name, all, cuda::NvrtcOutput::Ptx);
  if (!compiled) {
    ADD_FAILURE() << compiled.error().message;
    return std::nullopt;
  }
  std::string ptx = compiled->binary;
  ptx.resize(ptx.find_last_not_of('\0') + 1);
  expectAssembles(ptx, arch);
  return ptx;
}

std::optional<Module> compileFile(const std::string &file, const std::string &arch,
                                  const std::vector<std::string> &options) {
  std::ifstream stream(std::string(ATTNC_EMULATOR_KERNELS) + "/" + file);
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  const auto ptx = compileText(text, file, arch, options);
  if (!ptx)
    return std::nullopt;
  Result<Module> module = Module::parse(*ptx);
  if (!module) {
    ADD_FAILURE() << module.error().message;
    return std::nullopt;
  }
  return *module;
}

std::vector<Options> allSchedules() {
  std::vector<Options> all;
  for (AsyncPolicy policy : {AsyncPolicy::Latest, AsyncPolicy::Eager, AsyncPolicy::Random})
    for (uint64_t seed : {0, 11, 77}) {
      Options options;
      options.async = policy;
      options.seed = seed;
      options.residentCtas = seed == 0 ? 1 : 0;
      all.push_back(options);
    }
  return all;
}

} // namespace attnc::emulator

// What a Context owns.
#pragma once

#include "runtime/CompilerLibrary.h"
#include "runtime/CudaLibraries.h"
#include "runtime/KernelCache.h"

namespace attnc {

struct Context::State {
  CompilerLibrary compiler;
  KernelCache cache;
  std::shared_ptr<Executor> executor;
  CudaLibraries cuda;

  State(std::vector<std::string> compilerPaths, KernelCache::Options options, std::shared_ptr<Executor> executor,
        const std::string &nvrtcPath)
      : compiler(std::move(compilerPaths)), cache(std::move(options)), executor(std::move(executor)), cuda(nvrtcPath) {}
};

} // namespace attnc

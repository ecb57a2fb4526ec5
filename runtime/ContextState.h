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
        cuda::NvrtcSearch search, std::string driverPath)
      : compiler(std::move(compilerPaths)), cache(std::move(options)), executor(std::move(executor)),
        cuda(std::move(search), std::move(driverPath)) {}
};

} // namespace attnc

// What a Context owns.
#pragma once

#include "runtime/CompilerLibrary.h"
#include "runtime/KernelCache.h"

namespace attnc {

struct Context::State {
  CompilerLibrary compiler;
  KernelCache cache;
  std::shared_ptr<Executor> executor;
  std::string nvrtcPath;

  State(std::vector<std::string> compilerPaths, KernelCache::Options options, std::shared_ptr<Executor> executor)
      : compiler(std::move(compilerPaths)), cache(std::move(options)), executor(std::move(executor)) {}
};

} // namespace attnc

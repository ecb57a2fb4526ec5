// What a Kernel holds, and its run with the launch's choices open to tests.
#pragma once

#include "runtime/Launch.h"

namespace attnc {

struct Kernel::State {
  Variant source;  // as compiled: captures, params, scale
  Variant variant; // after simplification and mask extraction, under the source's name
  std::shared_ptr<const LoadedKernel> loaded;
  std::shared_ptr<Executor> executor;
  CompileInfo info;
};

Status runKernel(const Kernel::State &kernel, const RunArguments &arguments, RunStats *stats,
                 LaunchChoices choices = {});

} // namespace attnc

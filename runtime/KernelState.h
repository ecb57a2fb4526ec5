// What a Kernel holds, and its run with the launch's choices open to tests.
#pragma once

#include "runtime/Launch.h"

namespace attnc {

class CudaKernel;

struct Kernel::State {
  Variant source;                             // as compiled: captures, params, scale
  Variant variant;                            // after simplification and mask extraction, under the source's name
  std::shared_ptr<const LoadedKernel> loaded; // for the CPU ...
  std::shared_ptr<const CudaKernel> cuda;     // ... or for a CUDA device; the other is null
  std::shared_ptr<Executor> executor;
  CompileInfo info;
};

Status runKernel(const Kernel::State &kernel, const RunArguments &arguments, RunStats *stats,
                 LaunchChoices choices = {});

} // namespace attnc

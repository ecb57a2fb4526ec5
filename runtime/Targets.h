// What CompileOptions mean: the backend, and the compiled configuration of a kernel.
#pragma once

#include <functional>
#include <string>

#include "attnc/Context.h"
#include "codegen/cuda/KernelConfig.h"
#include "runtime/cuda/Nvrtc.h"

namespace attnc {

struct Program;

bool isCudaTarget(const std::string &target);

Result<cpu::KernelConfig> readCpuOptions(const Program &program, const CompileOptions &options);

struct CudaTarget {
  cuda::KernelConfig config;
  cuda::NvrtcOutput output; // PTX for the emulated device, a cubin for a GPU
};
using CurrentArch = std::function<Result<std::string>()>; // of the GPU that is current, for "cuda"
Result<CudaTarget> readCudaOptions(const Program &program, const CompileOptions &options,
                                   const CurrentArch &currentArch);

} // namespace attnc

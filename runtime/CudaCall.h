// From a call's arguments to a launch of a CUDA kernel.
#pragma once

#include "runtime/BlockListBuilder.h"
#include "runtime/CudaDevice.h"
#include "runtime/KernelState.h"

namespace attnc {

struct BlockLists::State {
  Problem problem;
  int blockM = 0, blockN = 0;
  std::shared_ptr<const DeviceBuffer> memory;
  size_t offsetsAt = 0, runsAt = 0;
  TileCounts tiles;
};

struct CudaCall {
  CudaLaunch launch;
  TileCounts tiles;
  bool isEmpty = false;                           // no rows: there is nothing to launch
  std::shared_ptr<const BlockLists::State> lists; // owns what the launch reads
};

// Checks all that can be wrong with a call. Allocates on the device only where the call
// brings neither block lists nor a variant without a mask.
Result<CudaCall> prepareCuda(const Kernel::State &kernel, const RunArguments &arguments);

Status runCuda(const Kernel::State &kernel, const RunArguments &arguments, RunStats *stats);

} // namespace attnc

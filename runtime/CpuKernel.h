// What the kernel cache needs to know of CPU kernels: the key of one, how to compile it, and
// how to name it. LoadedKernel reads what comes out.
#pragma once

#include "codegen/cpu/KernelConfig.h"
#include "runtime/CompilerLibrary.h"
#include "runtime/KernelCache.h"

namespace attnc {

struct Program;

// The key ignores the variant's name, so a renamed copy is a hit.
CacheRequest cpuRequest(const Program &program, const cpu::KernelConfig &config);

// An object ("o"), with the simplified variant and the schedules in the report.
Result<CacheEntry> compileCpu(const Program &program, const cpu::KernelConfig &config, CompilerLibrary &compiler,
                              const CacheDirectory::Log &log);

} // namespace attnc

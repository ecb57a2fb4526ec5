// Reads a cubin: an ELF64 file with one .text section a kernel. Every offset, size and index
// is checked, so a truncated or hostile file is an error, never a read outside the bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnc/Status.h"
#include "runtime/cuda/Sass.h"

namespace attnc::cuda {

// What the file says about a kernel.
struct CubinKernel {
  std::string name;
  std::string_view code; // of the file's bytes; a multiple of 16
  uint32_t registers = 0;
  uint32_t sharedBytes = 0; // declared in the kernel, without dynamic and reserved memory
  uint32_t stackBytes = 0;  // a thread's frame: spills and indexed arrays
  uint32_t barriers = 0;    // named barriers used
  uint32_t parameterBytes = 0;
  uint32_t maxThreads = 0; // of a block, from __launch_bounds__; 0 where not given

  size_t instructionCount() const { return code.size() / kInstructionBytes; }
  Instruction instruction(size_t index) const;
};

struct Cubin {
  int sm = 0;                       // 80, 90, ...
  std::vector<CubinKernel> kernels; // in the file's order
};

// `bytes` must outlive the result. InvalidArgument for what is not a whole cubin,
// Unsupported for machine code before sm_80.
Result<Cubin> parseCubin(std::string_view bytes);

} // namespace attnc::cuda

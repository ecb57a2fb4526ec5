// A CUDA text of attnc's compiled for the processor it stands on, as a second opinion on the
// emulator: only the statements of inline PTX are rewritten, see shim/.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "attnc/Status.h"

namespace attnc::emulator {

// Each `asm("...": outputs : inputs : clobbers)` becomes a call of shim/HostAsm.h.
Result<std::string> withoutInlinePtx(const std::string &text);

class HostKernel {
public:
  // Runs the compiler; `text` must define `attnc_forward` and `Kernel`, `Config` and `Mods`.
  static Result<HostKernel> compile(const std::string &text);

  struct Shape {
    uint32_t threads, sharedBytes, blockQueries, blockKeys, parameterBytes;
  };
  const Shape &shape() const { return *kernelShape; }

  // What went wrong, or nothing.
  std::string run(const void *parameters, std::array<uint32_t, 3> grid) const {
    return launch(parameters, grid.data());
  }

private:
  std::shared_ptr<void> library;
  const Shape *kernelShape = nullptr;
  const char *(*launch)(const void *, const uint32_t *) = nullptr;
};

} // namespace attnc::emulator

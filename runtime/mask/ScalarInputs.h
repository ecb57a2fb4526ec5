// What the functions of a Program read beside their arguments: captured tensors, run-time
// scalars and the call's sizes, all as the 32-bit values of docs/language.md.
#pragma once

#include <memory>

#include "attnc/BlockMask.h"
#include "ir/Program.h"
#include "runtime/Arguments.h"

namespace attnc {

class ScalarInputs {
public:
  // Checks and binds; the captures' memory must outlive the object.
  static Result<std::unique_ptr<ScalarInputs>> bind(const Program &program, const Problem &problem,
                                                    const Bindings &bindings);

  // One element, each index clamped to its axis. f16 and bf16 are widened, i64 saturates.
  uint32_t load(uint32_t capture, const uint32_t *indices, size_t rank) const;
  uint32_t param(uint32_t index) const { return call.params[index]; }
  uint32_t dim(DimKind kind) const;
  const Problem &problem() const { return call.problem; }
  const cpu::CaptureArg &capture(uint32_t index) const { return call.captures[index]; }
  DType dtype(uint32_t capture) const { return dtypes[capture]; }

private:
  ScalarInputs() = default;

  CallArguments call;
  std::vector<DType> dtypes;
};

} // namespace attnc

// How a kernel is spoken of in messages.
#include <fmt/format.h>

#include "ir/Program.h"
#include "runtime/Arguments.h"

namespace attnc {

std::string kernelDescription(const Program &program, const KernelTypes &types, const std::string &target) {
  return fmt::format("'{}' for {} ({}, head dim {}, value dim {}, split {})", program.name, target,
                     dtypeName(types.dtype), types.headDim, types.valueDim, types.splitSize);
}

std::string warmCommand(const Program &program, const KernelTypes &types, const std::string &target) {
  std::string captures;
  for (size_t i = 0; i < types.captures.size(); ++i)
    if (types.captures[i].dtype != naturalDtype(program.captures[i]))
      captures += fmt::format(" --capture-dtype={}={}", types.captures[i].name, dtypeName(types.captures[i].dtype));
  return fmt::format("attnc warm FILE:{} --dtype={} --head-dim={}x{} --split-size={} --target={}{}", program.name,
                     dtypeName(types.dtype), types.headDim, types.valueDim, types.splitSize, target, captures);
}

} // namespace attnc

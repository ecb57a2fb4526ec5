#include "runtime/LaneAxes.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "ir/Program.h"
#include "runtime/mask/Analysis.h"

namespace attnc {

std::vector<uint32_t> laneAxes(const Program &program) {
  std::vector<uint32_t> axes(program.captures.size(), 0);
  for (const std::optional<Function> *function : {&program.scoreMod, &program.maskMod, &program.sink}) {
    if (!*function)
      continue;
    const std::vector<Dependence> depends = dependences(**function);
    for (const Instruction &instruction : (*function)->body)
      if (instruction.op == Opcode::Load)
        for (size_t axis = 0; axis < instruction.operands.size(); ++axis)
          if (!depends[instruction.operands[axis]].isUniform())
            axes[instruction.immediate] |= uint32_t(1) << axis;
  }
  return axes;
}

Status checkLaneSpans(const Program &program, const std::vector<uint32_t> &axes,
                      const std::vector<cpu::CaptureArg> &captures) {
  for (size_t i = 0; i < captures.size(); ++i) {
    int64_t span = 0;
    for (size_t axis = 0; axis < program.captures[i].dims.size(); ++axis)
      if (axes[i] >> axis & 1 && captures[i].shape[axis] > 1) {
        // Sizes and the bound on strides keep the product in range; the sum is capped.
        const int64_t stride = std::min<int64_t>(std::abs(captures[i].strides[axis]), INT32_MAX);
        span = std::min(span + (captures[i].shape[axis] - 1) * stride, int64_t(1) << 40);
      }
    if (span > INT32_MAX)
      return Error{ErrorCode::Unsupported,
                   fmt::format("capture '{}': expected the axes that are indexed by query or key to span fewer than "
                               "2147483648 elements, found at least {}; pass it in slices along another axis",
                               program.captures[i].name, span)};
  }
  return {};
}

} // namespace attnc

// Which axes of a captured tensor a kernel indexes with a different value in each lane. Their
// offsets are computed in 32 bits, so the elements they span must stay below 2^31; the other
// axes are addressed in 64 bits.
#pragma once

#include <cstdint>
#include <vector>

#include "attnc/Status.h"
#include "codegen/cpu/KernelAbi.h"

namespace attnc {

struct Program;

// One bit an axis, one word a capture.
std::vector<uint32_t> laneAxes(const Program &program);

// Unsupported, naming the capture, where the lanes could reach too far.
Status checkLaneSpans(const Program &program, const std::vector<uint32_t> &axes,
                      const std::vector<cpu::CaptureArg> &captures);

} // namespace attnc

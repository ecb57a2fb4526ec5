// Interval arithmetic on the 32-bit values of a mask, in 64 bits. Sound: the result of every
// point lies in the interval, or the interval is unknown.
#pragma once

#include <optional>

#include "runtime/mask/Analysis.h"

namespace attnc {

// The value as an integer that orders like it: f32 by its bits, both zeros alike. Nothing for
// a NaN.
std::optional<int64_t> orderedValue(ScalarType type, uint32_t bits);

MaskAnalysis::Abstract evaluateInterval(const Instruction &instruction, const MaskAnalysis::Abstract *operands);

} // namespace attnc

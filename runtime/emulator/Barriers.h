// The sixteen named barriers of a CTA. Warps arrive whole.
#pragma once

#include "runtime/emulator/Machine.h"

namespace attnc::emulator {

// a := the later of both, entry by entry.
void joinClock(std::vector<uint32_t> &a, const std::vector<uint32_t> &b);

// Lets waiting warps go if enough have arrived; also after a warp has ended.
void releaseIfComplete(Cta &cta, int index);

} // namespace attnc::emulator

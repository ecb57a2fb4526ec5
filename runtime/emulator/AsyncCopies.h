// The cp.async engine of a warp: copies that were started and have not landed yet.
#pragma once

#include "runtime/emulator/Machine.h"

namespace attnc::emulator {

// Lands a copy that the random policy picks, of this warp; called between instructions.
void landSomeCopy(Warp &warp);

// Ends all copies of the warp, as cp.async.wait_all does.
void landAllCopies(Warp &warp);

} // namespace attnc::emulator

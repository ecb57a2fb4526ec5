// The interpreter's loop.
#pragma once

#include "runtime/emulator/Machine.h"

namespace attnc::emulator {

enum class Stop : uint8_t { Budget, Blocked, Yielding, Done };

// Runs up to `budget` instructions of a ready warp.
Stop runWarp(Warp &warp, uint64_t budget);

} // namespace attnc::emulator

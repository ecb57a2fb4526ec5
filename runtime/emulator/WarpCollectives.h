// Instructions that lanes of a warp must execute together.
#pragma once

#include "runtime/emulator/Machine.h"

namespace attnc::emulator {

// Reports lanes that the member mask names and that are not there, or that are there unnamed.
// `members` has a mask a lane; returns the mask of the first lane that executes.
uint32_t checkMembers(Warp &warp, const Instruction &instruction, uint32_t mask, const uint32_t *members);

// Reports a .aligned instruction that not all thirty-two lanes execute; true if they do.
bool isWholeWarp(Warp &warp, const Instruction &instruction, uint32_t mask);

} // namespace attnc::emulator

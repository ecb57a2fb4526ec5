// Instructions that lanes of a warp must execute together.
#pragma once

#include <bit>

#include "runtime/emulator/Machine.h"

namespace attnc::emulator {

// Calls `visit` with each group of the lanes in `mask` that name the same members, mostly one;
// `members` has a mask a lane. Parts of a warp may take one instruction with a mask each. Reports
// lanes that a mask names and that are not there with it, or that are there unnamed.
void checkMembers(Warp &warp, const Instruction &instruction, uint32_t group, uint32_t named);
template <typename F>
void forMembers(Warp &warp, const Instruction &instruction, uint32_t mask, const uint32_t *members, F &&visit) {
  for (uint32_t rest = mask; rest != 0;) {
    const uint32_t named = members[std::countr_zero(rest)];
    uint32_t group = 0;
    for (int lane = 0; lane < kLanes; ++lane)
      group |= uint32_t(members[lane] == named) << lane;
    group &= rest;
    checkMembers(warp, instruction, group, named);
    visit(group);
    rest &= ~group;
  }
}

// Reports a .aligned instruction that not all thirty-two lanes execute; true if they do.
bool isWholeWarp(Warp &warp, const Instruction &instruction, uint32_t mask);

} // namespace attnc::emulator

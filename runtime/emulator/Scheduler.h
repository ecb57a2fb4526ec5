// Runs the CTAs of a launch: which are resident, whose turn it is, and when nothing can move.
#pragma once

#include "runtime/emulator/Machine.h"

namespace attnc::emulator {

void runGrid(Machine &machine);

} // namespace attnc::emulator

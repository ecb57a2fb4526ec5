// What a CTA has on sm_90 beside warps and barriers: mbarriers, bulk copies, warpgroups.
#pragma once

#include "runtime/emulator/Machine.h"

namespace attnc::emulator {

struct HopperState {};

void startHopper(Cta &cta);
// Lands bulk copies as the policy says; true if something happened.
bool stepHopper(Cta &cta);

} // namespace attnc::emulator

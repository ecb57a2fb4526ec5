#include "runtime/emulator/Hopper.h"

namespace attnc::emulator {

Cta::Cta() = default;
Cta::Cta(Cta &&) noexcept = default;
Cta::~Cta() = default;

void startHopper(Cta &cta) { cta.hopper = nullptr; }

bool stepHopper(Cta &) { return false; }

} // namespace attnc::emulator

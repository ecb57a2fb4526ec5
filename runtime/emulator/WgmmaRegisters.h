// Registers that wgmma works on while the warp goes on: accumulators and, if A is given in
// registers, A. Between the instruction and the wait that covers it the warp must leave them
// alone, and what it wrote to them before needs a wgmma.fence. A move hands a register's state on:
// compilers put moves before the instruction, and assemblers take them away again.
#pragma once

#include <cstdint>

namespace attnc::emulator {

struct Instruction;
struct Warp;

// What the checker knows of one such register of a warp.
struct WgmmaRegister {
  int32_t fencesBefore = -1; // fences that the warp had run when it last wrote the register; -1: none is needed
  uint32_t busyUntil = 0;    // the warpgroup's time of the last product that uses it
  bool isResult = false;     // of that product
};

// Before any instruction but a product that touches such registers.
void checkWgmmaRegisters(Warp &warp, const Instruction &instruction);
// For each warp of a product that starts at `time`.
void startProduct(Warp &warp, const Instruction &instruction, uint32_t time);

} // namespace attnc::emulator

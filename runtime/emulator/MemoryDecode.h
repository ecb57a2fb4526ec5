// What the decoders of loads, stores, atomics and copies share: modifiers and addresses.
#pragma once

#include "runtime/emulator/Form.h"
#include "runtime/emulator/MemoryAccess.h"

namespace attnc::emulator {

enum class MemorySpace : uint32_t { Generic, Global, Shared, Local, Parameter };

// Instruction::detail of accesses: the space, and whether the address register has 32 bits.
// Further bits, from 16 on, are the opcode's own.
inline constexpr uint32_t kSpaceMask = 7;
inline constexpr uint32_t kNarrowAddress = 8;

void takeCacheHints(Form &form);
bool takeStrength(Form &form); // true for anything but a weak access
Space takeSpace(Form &form);

// Sets a, immediate and detail.
MemorySpace placeAddress(Form &form, const PtxOperand &operand, Space space);

void gatherAddresses(Warp &warp, const Instruction &instruction, uint64_t *addresses);
uint8_t *bytesAt(Warp &warp, const Instruction &instruction, int lane, uint64_t address, uint32_t bytes,
                 AccessKind kind, uint32_t alignment);

} // namespace attnc::emulator

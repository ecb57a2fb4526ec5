// Every access of a lane goes through here: to the host address of its bytes, or to nullptr
// after a finding, and then it must not happen. Bounds are kept always, the other checks with
// Options::check.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/emulator/Machine.h"

namespace attnc::emulator {

enum class AccessKind : uint8_t {
  Read,
  Write,
  Atomic, // also strong and volatile accesses: not a race, whoever else does the same
};

uint8_t *sharedBytes(Warp &warp, const Instruction &instruction, int lane, uint64_t address, uint32_t bytes,
                     AccessKind kind, uint32_t alignment);
uint8_t *globalBytes(Warp &warp, const Instruction &instruction, int lane, uint64_t address, uint32_t bytes,
                     AccessKind kind, uint32_t alignment);
uint8_t *localBytes(Warp &warp, const Instruction &instruction, int lane, uint64_t address, uint32_t bytes,
                    uint32_t alignment);
// By the address' window.
uint8_t *genericBytes(Warp &warp, const Instruction &instruction, int lane, uint64_t address, uint32_t bytes,
                      AccessKind kind, uint32_t alignment);

// The checks of a shared access by another agent than the warp: bounds, then the shadow with
// that agent's clock. False after a bounds finding.
bool checkShared(Warp &warp, const Instruction &instruction, const SharedShadow::Access &access, uint64_t address,
                 uint32_t bytes, bool isWrite);

// Of a shadow's verdict, the finding.
void reportVerdict(Warp &warp, const Instruction &instruction, int lane, bool isWrite, int agent,
                   const SharedShadow::Verdict &verdict);

// A shared access moves 128 bytes a wavefront and a bank 4: counts what this one takes.
void countWavefronts(Profile &profile, const uint64_t *addresses, uint32_t mask, uint32_t bytes);
void countSectors(Profile &profile, const uint64_t *addresses, uint32_t mask, uint32_t bytes);

} // namespace attnc::emulator

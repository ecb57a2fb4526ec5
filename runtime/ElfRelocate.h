// One relocation of one machine, applied to bytes in memory. Knows no file format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/ElfLoader.h"

namespace attnc {

struct Relocation {
  uint32_t type;
  uint8_t *place;  // where the bytes change
  size_t room;     // bytes of the section from `place` on
  uint64_t symbol; // address of the symbol, or of its stub where it is outside
  uint64_t slot;   // address of eight bytes that hold the symbol's address
  int64_t addend;
};

// Empty, or why it cannot be applied: an unknown type, no room, out of reach.
std::string relocate(ElfMachine machine, const Relocation &relocation);

// Writes a stub of kStubSize bytes: a jump to `target` and, in its last eight bytes, the
// address itself, which also serves as the slot of GOT relocations.
inline constexpr size_t kStubSize = 16;
void writeStub(ElfMachine machine, uint8_t *stub, uint64_t target);

} // namespace attnc

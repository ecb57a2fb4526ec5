#include "runtime/ElfRelocate.h"

#include <elf.h>

#include <cstring>

namespace attnc {

namespace {

std::string unknownType(uint32_t type) { return "relocation type " + std::to_string(type) + " is not one of ours"; }
constexpr const char *kNoRoom = "a relocation lies outside of its section";
constexpr const char *kOutOfReach = "a relocation is out of reach";

uint32_t readWord(const uint8_t *place) {
  uint32_t word;
  std::memcpy(&word, place, 4);
  return word;
}

template <typename T> void put(uint8_t *place, T value) { std::memcpy(place, &value, sizeof value); }

// Two's complement arithmetic on addresses; hostile addends may wrap.
int64_t difference(uint64_t to, int64_t addend, const uint8_t *from) {
  return static_cast<int64_t>(to + static_cast<uint64_t>(addend) - reinterpret_cast<uint64_t>(from));
}

std::string putDistance32(const Relocation &r, uint64_t target) {
  if (r.room < 4)
    return kNoRoom;
  int64_t distance = difference(target, r.addend, r.place);
  if (distance != static_cast<int32_t>(distance))
    return kOutOfReach;
  put(r.place, static_cast<int32_t>(distance));
  return {};
}

std::string putWord64(const Relocation &r, uint64_t value) {
  if (r.room < 8)
    return kNoRoom;
  put(r.place, value);
  return {};
}

std::string relocateX86(const Relocation &r) {
  const uint64_t value = r.symbol + static_cast<uint64_t>(r.addend);
  switch (r.type) {
  case R_X86_64_NONE:
    return {};
  case R_X86_64_PC32:
  case R_X86_64_PLT32:
    return putDistance32(r, r.symbol);
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX:
    return putDistance32(r, r.slot);
  case R_X86_64_64:
    return putWord64(r, value);
  case R_X86_64_PC64:
    return putWord64(r, static_cast<uint64_t>(difference(r.symbol, r.addend, r.place)));
  case R_X86_64_32:
  case R_X86_64_32S:
    if (r.room < 4)
      return kNoRoom;
    if (r.type == R_X86_64_32 ? value != static_cast<uint32_t>(value)
                              : static_cast<int64_t>(value) != static_cast<int32_t>(value))
      return kOutOfReach;
    put(r.place, static_cast<uint32_t>(value));
    return {};
  default:
    return unknownType(r.type);
  }
}

// `bits` of the value above `shift`, at bit `at` of the instruction.
std::string putField(const Relocation &r, uint64_t value, int shift, int bits, int at) {
  if (value & ((uint64_t(1) << shift) - 1))
    return "a relocation is misaligned";
  const uint32_t mask = ((uint32_t(1) << bits) - 1) << at;
  const uint32_t field = (static_cast<uint32_t>(value >> shift) << at) & mask;
  put(r.place, (readWord(r.place) & ~mask) | field);
  return {};
}

std::string putPage21(const Relocation &r, uint64_t target) {
  const int64_t pages =
      static_cast<int64_t>((target & ~uint64_t(0xfff)) - (reinterpret_cast<uint64_t>(r.place) & ~uint64_t(0xfff))) >>
      12;
  if (pages < -(1 << 20) || pages >= 1 << 20)
    return kOutOfReach;
  const uint32_t low = (pages & 3) << 29, high = ((pages >> 2) & 0x7ffff) << 5;
  put(r.place, (readWord(r.place) & 0x9f00001fu) | low | high);
  return {};
}

std::string relocateAarch64(const Relocation &r) {
  const uint64_t value = r.symbol + static_cast<uint64_t>(r.addend);
  const uint64_t low12 = value & 0xfff;
  switch (r.type) {
  case R_AARCH64_NONE:
    return {};
  case R_AARCH64_ABS64:
    return putWord64(r, value);
  case R_AARCH64_PREL64:
    return putWord64(r, static_cast<uint64_t>(difference(r.symbol, r.addend, r.place)));
  case R_AARCH64_PREL32:
    return putDistance32(r, r.symbol);
  default:
    break;
  }
  if (r.room < 4)
    return kNoRoom;
  switch (r.type) {
  case R_AARCH64_ADR_PREL_PG_HI21:
    return putPage21(r, value);
  case R_AARCH64_ADR_GOT_PAGE:
    return putPage21(r, r.slot);
  case R_AARCH64_LD64_GOT_LO12_NC:
    return putField(r, r.slot & 0xfff, 3, 12, 10);
  case R_AARCH64_ADD_ABS_LO12_NC:
  case R_AARCH64_LDST8_ABS_LO12_NC:
    return putField(r, low12, 0, 12, 10);
  case R_AARCH64_LDST16_ABS_LO12_NC:
    return putField(r, low12, 1, 12, 10);
  case R_AARCH64_LDST32_ABS_LO12_NC:
    return putField(r, low12, 2, 12, 10);
  case R_AARCH64_LDST64_ABS_LO12_NC:
    return putField(r, low12, 3, 12, 10);
  case R_AARCH64_LDST128_ABS_LO12_NC:
    return putField(r, low12, 4, 12, 10);
  case R_AARCH64_CALL26:
  case R_AARCH64_JUMP26: {
    const int64_t distance = difference(r.symbol, r.addend, r.place);
    if (distance < -(int64_t(1) << 27) || distance >= int64_t(1) << 27)
      return kOutOfReach;
    return putField(r, static_cast<uint64_t>(distance), 2, 26, 0);
  }
  default:
    return unknownType(r.type);
  }
}

} // namespace

std::string relocate(ElfMachine machine, const Relocation &relocation) {
  return machine == ElfMachine::X86_64 ? relocateX86(relocation) : relocateAarch64(relocation);
}

void writeStub(ElfMachine machine, uint8_t *stub, uint64_t target) {
  if (machine == ElfMachine::X86_64) {
    const uint8_t jump[8] = {0xff, 0x25, 2, 0, 0, 0, 0x90, 0x90}; // jmp *2(%rip)
    std::memcpy(stub, jump, 8);
  } else {
    put(stub, uint32_t(0x58000050));     // ldr x16, #8
    put(stub + 4, uint32_t(0xd61f0200)); // br x16
  }
  put(stub + 8, target);
}

} // namespace attnc

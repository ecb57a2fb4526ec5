// Opcodes found by compiling kernels for sm_80, 86, 89, 90a, 100a and 120a with ptxas 13.0
// and counting: a code that occurs as often as the instruction written is that instruction.
// Branch targets were found to land on labels in all of them.
#include "runtime/cuda/Sass.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace attnc::cuda {
namespace {

using Kind = InstructionClass;

struct Row {
  uint16_t code;
  const char *mnemonic;
  Kind kind;
};

// By the low nine bits, ascending. UTCMMA stands for UTCHMMA, UTCQMMA and their like. Rows of two meanings are in
// kChanged and kForms.
// clang-format off
constexpr Row kOpcodes[] = {
    {0x001, "PMTRIG", Kind::Control}, {0x002, "MOV", Kind::Move}, {0x003, "P2R", Kind::Predicate},
    {0x004, "R2P", Kind::Predicate}, {0x005, "CS2R", Kind::Move}, {0x006, "VOTE", Kind::Predicate},
    {0x007, "SEL", Kind::Predicate}, {0x008, "FSEL", Kind::Predicate}, {0x009, "FMNMX", Kind::Float},
    {0x00A, "FSET", Kind::Float}, {0x00B, "FSETP", Kind::Predicate}, {0x00C, "ISETP", Kind::Predicate},
    {0x010, "IADD3", Kind::Integer}, {0x011, "LEA", Kind::Integer}, {0x012, "LOP3", Kind::Integer},
    {0x013, "IABS", Kind::Integer}, {0x014, "VABSDIFF", Kind::Integer}, {0x016, "PRMT", Kind::Move},
    {0x017, "IMNMX", Kind::Integer}, {0x019, "SHF", Kind::Integer}, {0x01A, "SGXT", Kind::Integer},
    {0x01B, "BMSK", Kind::Integer}, {0x01C, "PLOP3", Kind::Predicate}, {0x020, "FMUL", Kind::Float},
    {0x021, "FADD", Kind::Float}, {0x023, "FFMA", Kind::Float}, {0x024, "IMAD", Kind::Integer},
    {0x025, "IMAD", Kind::Integer}, {0x026, "IDP", Kind::Integer}, {0x027, "IMAD", Kind::Integer},
    {0x028, "DMUL", Kind::Float}, {0x029, "DADD", Kind::Float}, {0x02A, "DSETP", Kind::Predicate},
    {0x02B, "DFMA", Kind::Float}, {0x02D, "PREEXIT", Kind::Barrier}, {0x02E, "ACQBULK", Kind::Barrier},
    {0x02F, "ELECT", Kind::Barrier}, {0x030, "HADD2", Kind::Float}, {0x031, "HFMA2", Kind::Float},
    {0x032, "HMUL2", Kind::Float}, {0x033, "HSET2", Kind::Float}, {0x034, "HSETP2", Kind::Predicate},
    {0x036, "VIADD", Kind::Integer}, {0x037, "IMMA", Kind::Tensor}, {0x038, "I2I", Kind::Conversion},
    {0x03A, "MOVM", Kind::Shared}, {0x03B, "LDSM", Kind::Shared}, {0x03C, "HMMA", Kind::Tensor},
    {0x03D, "BMMA", Kind::Tensor}, {0x03E, "F2FP", Kind::Conversion}, {0x03F, "DMMA", Kind::Tensor},
    {0x040, "HMNMX2", Kind::Float}, {0x044, "STSM", Kind::Shared}, {0x045, "I2FP", Kind::Conversion},
    {0x046, "VIADDMNMX", Kind::Integer}, {0x048, "VIMNMX", Kind::Integer}, {0x049, "FFMA2", Kind::Float},
    {0x04A, "FMUL2", Kind::Float}, {0x04B, "FADD2", Kind::Float}, {0x04C, "UVIRTCOUNT", Kind::Integer},
    {0x054, "UFADD", Kind::Float}, {0x055, "UFFMA", Kind::Float}, {0x056, "UFMUL", Kind::Float},
    {0x076, "FMNMX3", Kind::Float}, {0x07A, "QMMA", Kind::Tensor}, {0x082, "UMOV", Kind::Move},
    {0x086, "VOTEU", Kind::Predicate}, {0x087, "USEL", Kind::Predicate}, {0x08C, "UISETP", Kind::Predicate},
    {0x090, "UIADD3", Kind::Integer}, {0x091, "ULEA", Kind::Integer}, {0x092, "ULOP3", Kind::Integer},
    {0x096, "UPRMT", Kind::Move}, {0x097, "UIADD3", Kind::Integer}, {0x099, "USHF", Kind::Integer},
    {0x09B, "UBMSK", Kind::Integer}, {0x0A4, "UIMAD", Kind::Integer}, {0x0A5, "UIMAD", Kind::Integer},
    {0x0B9, "ULDC", Kind::Move}, {0x0BD, "UFLO", Kind::Integer}, {0x0BE, "UBREV", Kind::Integer},
    {0x0BF, "UPOPC", Kind::Integer}, {0x0CA, "R2UR", Kind::Move}, {0x0CB, "CS2UR", Kind::Move},
    {0x0CC, "CREDUX", Kind::Lanes}, {0x100, "FLO", Kind::Integer}, {0x101, "BREV", Kind::Integer},
    {0x102, "FCHK", Kind::Float}, {0x105, "F2I", Kind::Conversion}, {0x106, "I2F", Kind::Conversion},
    {0x107, "FRND", Kind::Conversion}, {0x108, "MUFU", Kind::Special}, {0x109, "POPC", Kind::Integer},
    {0x110, "F2F", Kind::Conversion}, {0x111, "F2I", Kind::Conversion}, {0x112, "I2F", Kind::Conversion},
    {0x113, "FRND", Kind::Conversion}, {0x118, "NOP", Kind::Control}, {0x119, "S2R", Kind::Move},
    {0x11A, "DEPBAR", Kind::Barrier}, {0x11B, "ENDCOLLECTIVE", Kind::Control}, {0x11C, "B2R", Kind::Barrier},
    {0x11D, "BAR", Kind::Barrier}, {0x140, "CCTL", Kind::Global}, {0x141, "BSYNC", Kind::Control},
    {0x143, "CALL", Kind::Control}, {0x144, "CALL", Kind::Control}, {0x145, "BSSY", Kind::Control},
    {0x146, "YIELD", Kind::Control}, {0x147, "BRA", Kind::Control}, {0x148, "WARPSYNC", Kind::Barrier},
    {0x149, "BRX", Kind::Control}, {0x14D, "EXIT", Kind::Control}, {0x14E, "LEPC", Kind::Control},
    {0x150, "RET", Kind::Control}, {0x155, "BMOV", Kind::Control}, {0x156, "BMOV", Kind::Control},
    {0x15C, "BPT", Kind::Control}, {0x15D, "NANOSLEEP", Kind::Control}, {0x160, "TEX", Kind::Global},
    {0x166, "TLD", Kind::Global}, {0x180, "LD", Kind::Global}, {0x181, "LDG", Kind::Global},
    {0x182, "LDC", Kind::Move}, {0x183, "LDL", Kind::Local}, {0x184, "LDS", Kind::Shared},
    {0x185, "ST", Kind::Global}, {0x186, "STG", Kind::Global}, {0x187, "STL", Kind::Local},
    {0x188, "STS", Kind::Shared}, {0x189, "SHFL", Kind::Lanes}, {0x18A, "ATOM", Kind::Global},
    {0x18B, "ATOM", Kind::Global}, {0x18C, "ATOMS", Kind::Shared}, {0x18D, "ATOMS", Kind::Shared},
    {0x18F, "CCTL", Kind::Global}, {0x192, "MEMBAR", Kind::Barrier}, {0x19D, "SUST", Kind::Global},
    {0x1A1, "MATCH", Kind::Lanes}, {0x1A2, "ATOM", Kind::Global}, {0x1A3, "ATOMG", Kind::Global},
    {0x1A5, "LDGMC", Kind::Global}, {0x1A6, "REDG", Kind::Global}, {0x1A7, "SYNCS", Kind::Barrier},
    {0x1A8, "ATOMG", Kind::Global}, {0x1A9, "ATOMG", Kind::Global}, {0x1AA, "QSPC", Kind::Global},
    {0x1AC, "LDCU", Kind::Move}, {0x1AE, "LDGSTS", Kind::Global}, {0x1AF, "LDGDEPBAR", Kind::Global},
    {0x1B0, "ARRIVES", Kind::Barrier}, {0x1B1, "SYNCS", Kind::Barrier}, {0x1B2, "SYNCS", Kind::Barrier},
    {0x1B4, "UTMALDG", Kind::Global}, {0x1B5, "UTMASTG", Kind::Global}, {0x1B6, "UTMAREDG", Kind::Global},
    {0x1B7, "UTMACMDFLUSH", Kind::Global}, {0x1B8, "UTMAPF", Kind::Global}, {0x1B9, "UTMACCTL", Kind::Global},
    {0x1BA, "UBLKCP", Kind::Global}, {0x1BB, "UBLKRED", Kind::Global}, {0x1BC, "UBLKPF", Kind::Global},
    {0x1BD, "STAS", Kind::Global}, {0x1C2, "R2UR", Kind::Move}, {0x1C3, "S2UR", Kind::Move},
    {0x1C4, "REDUX", Kind::Lanes}, {0x1C5, "WARPGROUP", Kind::Barrier}, {0x1C6, "FENCE", Kind::Barrier},
    {0x1C8, "USETMAXREG", Kind::Control}, {0x1CA, "UGETNEXTWORKID", Kind::Control},
    {0x1E3, "UTCATOMSWS", Kind::Tensor}, {0x1E6, "UTCSHIFT", Kind::Tensor}, {0x1E7, "UTCCP", Kind::Tensor},
    {0x1E9, "UTCBAR", Kind::Barrier}, {0x1EA, "UTCMMA", Kind::Tensor}, {0x1ED, "STTM", Kind::Tensor},
    {0x1EE, "LDTM", Kind::Tensor},
    {0x1F0, "HGMMA", Kind::Tensor}, {0x1F3, "QGMMA", Kind::Tensor},
};
// clang-format on

// Low nine bits whose meaning changed with a generation.
struct Changed {
  uint16_t code;
  int firstSm;
  Row before;
  Row since;
};
constexpr Changed kChanged[] = {
    {0x035, 100, {0x035, "HFMA2", Kind::Float}, {0x035, "IADD", Kind::Integer}},
    {0x18E, 90, {0x18E, "RED", Kind::Global}, {0x18E, "REDG", Kind::Global}},
};

// All twelve bits, where the operands' form makes another instruction.
constexpr Row kForms[] = {
    {0x5AB, "CGAERRBAR", Kind::Barrier},
    {0x9AB, "ERRBAR", Kind::Barrier},
    {0x9C7, "UCGABAR_ARV", Kind::Barrier},
    {0xDC7, "UCGABAR_WAIT", Kind::Barrier},
};

} // namespace

const char *nameOf(InstructionClass kind) {
  switch (kind) {
  case Kind::Tensor:
    return "tensor";
  case Kind::Float:
    return "float";
  case Kind::Special:
    return "special";
  case Kind::Integer:
    return "integer";
  case Kind::Predicate:
    return "predicate";
  case Kind::Conversion:
    return "conversion";
  case Kind::Move:
    return "move";
  case Kind::Shared:
    return "shared";
  case Kind::Global:
    return "global";
  case Kind::Local:
    return "local";
  case Kind::Lanes:
    return "lanes";
  case Kind::Barrier:
    return "barrier";
  case Kind::Control:
    return "control";
  case Kind::Unknown:
    return "unknown";
  }
  return "";
}

Opcode opcodeOf(int sm, Instruction instruction) {
  const uint32_t code = instruction.code(), operation = code & 0x1FF;
  for (const Row &row : kForms)
    if (row.code == code)
      return {row.mnemonic, row.kind};
  for (const Changed &changed : kChanged)
    if (changed.code == operation) {
      const Row &row = sm < changed.firstSm ? changed.before : changed.since;
      return {row.mnemonic, row.kind};
    }
  const auto *row = std::lower_bound(std::begin(kOpcodes), std::end(kOpcodes), operation,
                                     [](const Row &row, uint32_t wanted) { return row.code < wanted; });
  if (row != std::end(kOpcodes) && row->code == operation)
    return {row->mnemonic, row->kind};
  constexpr char kDigits[] = "0123456789abcdef";
  return {{'0', 'x', kDigits[code >> 8], kDigits[code >> 4 & 15], kDigits[code & 15]}, Kind::Unknown};
}

std::optional<int64_t> branchDistance(int sm, Instruction instruction) {
  constexpr uint32_t kBranch = 0x147;
  if ((instruction.code() & 0x1FF) != kBranch)
    return std::nullopt;
  // Bits 34-81, signed, in units of four bytes; since sm_90 bits 16-23 extend it below.
  uint64_t field = instruction.low >> 34 | (instruction.high & 0x3FFFF) << 30;
  if (sm >= 90)
    field = field << 8 | (instruction.low >> 16 & 0xFF);
  const int unused = sm >= 90 ? 8 : 16;
  const int64_t words = static_cast<int64_t>(field << unused) >> unused;
  return words / 4;
}

uint32_t localAccessBytes(Instruction instruction) {
  constexpr uint32_t kBytes[8] = {1, 1, 2, 2, 4, 8, 16, 0};
  return kBytes[instruction.high >> 9 & 7]; // bits 73-75
}

} // namespace attnc::cuda

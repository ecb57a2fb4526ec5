// The machine code of sm_80 and later, as far as it can be read without a disassembler: the
// mnemonic behind an instruction's opcode, where a branch goes, how wide a local access is.
// An instruction is 16 bytes; its opcode is the low 9 bits, bits 9-11 say where the operands
// come from (register, immediate, constant, uniform register).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace attnc::cuda {

struct Instruction {
  uint64_t low = 0;
  uint64_t high = 0;

  uint32_t code() const { return low & 0xFFF; }
  // Cycles until the next instruction may issue, from the control field.
  uint32_t stall() const { return high >> 41 & 15; }
};

constexpr uint64_t kInstructionBytes = 16;

enum class InstructionClass : uint8_t {
  Tensor,     // HMMA, HGMMA, ...
  Float,      // FFMA, FMUL, FMNMX, HFMA2, ...
  Special,    // MUFU
  Integer,    // IMAD, IADD3, LOP3, LEA, ...
  Predicate,  // ISETP, FSETP, FSEL, SEL, PLOP3, ...
  Conversion, // F2FP, I2F, ...
  Move,       // MOV, PRMT, S2R, LDC, ...
  Shared,     // LDSM, LDS, STS, ...
  Global,     // LDG, STG, LDGSTS, UTMALDG, ...
  Local,      // LDL, STL: spills and indexed arrays
  Lanes,      // SHFL, REDUX, ...
  Barrier,    // BAR, SYNCS, DEPBAR, ...
  Control,    // BRA, EXIT, BSSY, NOP, ...
  Unknown,
};
constexpr size_t kInstructionClasses = static_cast<size_t>(InstructionClass::Unknown) + 1;

const char *nameOf(InstructionClass kind);

struct Opcode {
  std::string mnemonic; // the code in hex, "0x7ff", where it is not known
  InstructionClass kind = InstructionClass::Unknown;
};

// `sm` is 80, 90, ...: a few opcodes changed their meaning.
Opcode opcodeOf(int sm, Instruction instruction);

// The target of a BRA as a distance from the instruction after it, in instructions. Nothing
// for other opcodes; indirect branches (BRX) are not followed.
std::optional<int64_t> branchDistance(int sm, Instruction instruction);

// Bytes a lane moves in LDL or STL.
uint32_t localAccessBytes(Instruction instruction);

} // namespace attnc::cuda

// A decoded kernel: instructions that name a handler and the places of their operands in a
// warp's registers. Made by the Decoder once, shared by all launches.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/emulator/Emulator.h"
#include "runtime/emulator/Ptx.h"

namespace attnc::emulator {

struct Warp;
struct Instruction;

// What becomes of the lanes that ran an instruction.
enum class Flow : uint8_t {
  Next,  // on to the next instruction
  Jump,  // the handler moved the fragments itself
  Block, // on to the next, but not before another warp wakes this one
  Yield, // on to the next, after other warps ran: it waits for them
  Exit,  // the lanes have ended
};

using Handler = Flow (*)(Warp &warp, const Instruction &instruction, uint32_t mask);

// Operands are slots: word offsets into a warp's registers, -1 for none. A slot of up to 32
// bits has 32 words, one of 64 bits has 64, a predicate is one word with a bit a lane.
struct Instruction {
  Handler handler = nullptr;
  int32_t guard = -1;
  bool isGuardNegated = false;
  bool isTracked = false; // reads or writes registers that may be uninitialised, or that wgmma works on
  InstructionClass kind = InstructionClass::Other;
  uint8_t width = 1; // elements of a vector access
  int32_t d = -1;    // destination
  int32_t p = -1;    // second destination, or a predicate that is a source
  int32_t a = -1, b = -1, c = -1, e = -1;
  int64_t immediate = 0;
  uint32_t detail = 0;   // of the instruction's family
  uint32_t operands = 0; // first of its further operands in Program::operands or ::tables
};

// Values that a warp does not compute but finds in its registers.
enum class Special : uint8_t {
  Constant,         // the bits
  ParameterAddress, // of the kernel's parameters, plus the bits
  VariableAddress,  // of module variable `index`, plus the bits
  DynamicShared,    // where dynamic shared memory begins, plus the bits
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  Laneid,
  Warpid,
  Nwarpid,
  Smid,
  Nsmid,
  Gridid,
  LanemaskEq,
  LanemaskLe,
  LanemaskLt,
  LanemaskGe,
  LanemaskGt,
  DynamicSharedBytes,
  TotalSharedBytes,
};

struct Preset {
  Special special = Special::Constant;
  int32_t slot = 0;
  int bits = 32;
  int index = 0;
  uint64_t value = 0;
};

// Of one instruction, the registers that need a look at run time whether they were written.
struct TrackedAccess {
  std::vector<int> reads;
  std::vector<int> writes;
  bool isMove = false; // hands on what it reads, defined or not
};

// The same of registers that wgmma works on.
struct WgmmaAccess {
  std::vector<int> reads;
  std::vector<int> writes;
  bool isMove = false;
  bool isProduct = false;
};

struct ParameterInfo {
  std::string name;
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

struct Program {
  std::string name;
  std::vector<Instruction> code;
  std::vector<int32_t> operands; // slots
  std::vector<int32_t> tables;   // jump targets, parameter copies
  std::vector<Preset> presets;
  std::vector<ParameterInfo> parameters;
  uint32_t parameterBytes = 0;
  uint32_t staticSharedBytes = 0; // dynamic shared memory follows, aligned
  uint32_t dynamicSharedOffset = 0;
  uint32_t localBytes = 0; // of a lane
  int registerWords = 0;
  int trackedRegisters = 0;
  std::vector<std::string> trackedNames;
  std::vector<TrackedAccess> tracked; // by pc; empty where nothing is tracked
  std::vector<std::string> wgmmaNames;
  std::vector<WgmmaAccess> wgmmaAccesses; // by pc; empty where nothing runs wgmma

  // By pc, for findings.
  struct Origin {
    int line = 0;
    SourceLine source;
    std::string text;
  };
  std::vector<Origin> origins;
};

struct Module::State {
  std::string text; // the PTX; the tree below points into it
  PtxModule tree;
  std::vector<Program> programs;
};

} // namespace attnc::emulator

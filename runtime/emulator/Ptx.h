// The text of a PTX module as a tree: functions, variables, and statements whose opcodes are
// split at the dots but not yet understood. Decoder.h gives them meaning.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attnc/Status.h"
#include "runtime/emulator/Type.h"

namespace attnc::emulator {

// Names are views into the module's own copy of the text.
struct PtxOperand {
  enum class Kind : uint8_t {
    Name,      // register, special register, label, variable
    Integer,   // 42, -1, 0x7fU
    Float32,   // 0f3F800000
    Float64,   // 0d3FF0000000000000, 1.5
    Address,   // [name + offset], [name], [offset]
    Vector,    // {a, b}
    Discarded, // _
  };
  Kind kind = Kind::Integer;
  bool isNegated = false;           // !name
  std::string_view name;            // of Name and Address; empty for an absolute address
  std::string_view paired;          // q of `p|q`
  std::string_view member;          // x of %tid.x
  uint64_t bits = 0;                // value, or an address's offset
  std::vector<PtxOperand> elements; // of Vector; of an Address, coordinates: [map, {c0, c1}]
};

struct PtxInstruction {
  std::string_view guard; // predicate register, or empty
  bool isGuardNegated = false;
  std::vector<std::string_view> opcode; // base, then modifiers
  std::vector<PtxOperand> operands;
  int scope = 0;     // of the names
  int line = 0;      // in the PTX text
  int location = -1; // index into PtxModule::locations
  std::string_view text;
};

struct PtxLocation {
  int file = 0;
  int line = 0;
};

struct PtxLabel {
  std::string_view name;
  int scope = 0;
  size_t at = 0; // index of the instruction that follows
};

enum class Space : uint8_t { Generic, Register, Param, Shared, Global, Const, Local, SharedCluster };

// A variable, or for registers `count` of them, name0 .. name(count - 1), when it is > 0.
struct PtxVariable {
  Space space = Space::Register;
  Type type = Type::B32;
  std::string_view name;
  int scope = 0;
  int count = 0;         // of a register family %r<count>
  uint64_t elements = 1; // of an array
  bool isArray = false;
  bool isUnsized = false; // extern shared name[]
  uint32_t alignment = 0; // 0: natural
  std::vector<uint8_t> initial;
  // The address of another variable at a byte of `initial`.
  struct Pointer {
    size_t at;
    std::string_view name;
  };
  std::vector<Pointer> pointers;

  uint64_t bytes() const { return elements * bitsOf(type) / 8; }
};

struct PtxBranchTable {
  std::string_view name;
  int scope = 0;
  std::vector<std::string_view> targets;
};

struct PtxFunction {
  std::string_view name;
  bool isKernel = false;
  bool hasBody = false;
  std::vector<PtxVariable> results;
  std::vector<PtxVariable> parameters;
  std::vector<PtxVariable> variables;
  std::vector<PtxInstruction> instructions;
  std::vector<PtxLabel> labels;
  std::vector<PtxBranchTable> branchTables;
  std::vector<int> parentScope; // of each scope; scope 0 is the body, its parent -1
  int line = 0;
};

struct PtxModule {
  std::string target; // sm_80
  std::map<int, std::string> files;
  std::vector<PtxLocation> locations;
  std::vector<PtxVariable> variables;
  std::vector<PtxFunction> functions;
};

// The views in the result point into `text`, which must outlive it.
Result<PtxModule> parsePtx(std::string_view text);

} // namespace attnc::emulator

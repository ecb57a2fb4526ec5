// Builds a Program from a kernel and the device functions it calls: gives every register,
// constant and special register a value number, lays out variables, and at the end places the
// values in slots that are reused when their value is dead.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/emulator/Form.h"

namespace attnc::emulator {

// Until slots are assigned, instructions hold these numbers.
struct Value {
  enum class Kind : uint8_t { Register, Predicate, Preset } kind = Kind::Register;
  int bits = 32;
  int function = 0;
  std::string_view name;
  Preset preset;
};

struct ValueAccess {
  int32_t value = 0;
  bool isWrite = false;
};

// What one decoded instruction touches and where it may go on.
struct InstructionEffects {
  std::vector<ValueAccess> accesses;
  std::vector<int32_t> targets; // pcs, filled when labels are known
  bool fallsThrough = true;
  bool isMove = false;
  bool isProduct = false; // a wgmma, which goes on behind the warp's back
  int function = 0;
};

class ProgramBuilder {
public:
  ProgramBuilder(const PtxModule &module, Program &program) : module(module), program(program) {}

  // An empty string, or why the kernel cannot be decoded.
  std::string build(const PtxFunction &kernel);

  // --- for Form ---
  int32_t registerValue(std::string_view name, int scope); // -1 if there is none
  const Value &value(int32_t number) const { return values[size_t(number)]; }
  int32_t constantValue(uint64_t bits, int width);
  int32_t presetValue(const Preset &preset);
  void noteAccess(int32_t value, bool isWrite) { effects.back().accesses.push_back({value, isWrite}); }

  // Where a variable lies: an offset in its space, or for Global and Const the module's number.
  struct Place {
    Space space = Space::Generic;
    int64_t offset = 0;
    uint64_t bytes = 0;
    int index = 0;
    bool isKernelParameter = false;
    bool isDynamicShared = false;
  };
  const Place *findVariable(std::string_view name, int scope) const;

  // --- for control flow ---
  void jumpTo(std::string_view label); // target of this instruction
  bool branchTable(std::string_view name, uint32_t &first, uint32_t &count);
  void endsPath() { effects.back().fallsThrough = false; }
  bool isInKernel() const { return currentFunction == 0; }
  int32_t returnSlotValue();
  // Emits the call and the copy of its results; false with a reason in `error`.
  void call(Form &form, const PtxOperand *results, std::string_view callee, const PtxOperand *arguments);

  Program &output() { return program; }
  int currentScope() const { return scope; }

private:
  struct Function {
    const PtxFunction *source = nullptr;
    std::vector<std::unordered_map<std::string_view, int32_t>> registers; // by scope
    std::vector<std::unordered_map<std::string_view, PtxVariable>> families;
    std::vector<std::unordered_map<std::string_view, Place>> places;
    int32_t returnValue = -1;
    int firstPc = -1;
  };
  struct Fixup {
    int pc;
    std::string_view label;
    int scope;
    int function;
    int tableIndex; // -1: the instruction's immediate
  };
  struct CallFixup {
    int pc;
    int function;
  };

  int addFunction(const PtxFunction &source);
  void declareVariables(Function &function, bool isKernel);
  void layOutModule();
  std::string decodeFunction(int index);
  std::string decodeInstruction(const PtxInstruction &source);
  std::string resolveLabels();
  bool isRecursive() const;
  Place frameVariable(const PtxVariable &variable);
  uint32_t allocate(uint32_t &total, uint64_t bytes, uint32_t alignment);
  void appendEmpty();
  void append(const PtxInstruction &source, const Instruction &instruction);

  const PtxModule &module;
  Program &program;
  std::vector<Value> values;
  std::vector<InstructionEffects> effects;
  std::unordered_map<uint64_t, int32_t> constants32, constants64;
  std::vector<Function> functions;
  std::unordered_map<std::string_view, int> functionOf;
  std::unordered_map<std::string_view, Place> modulePlaces;
  std::vector<Fixup> fixups;
  std::vector<CallFixup> callFixups;
  std::vector<std::pair<int, int>> calls; // caller and callee
  std::vector<std::vector<int>> pcOf;     // by function and statement
  int currentFunction = 0;
  int scope = 0;
  uint32_t sharedBytes = 0;
  bool hasDynamicShared = false;
};

// Places values in slots by the live ranges that the effects give, and writes them into the
// program's instructions (RegisterSlots.cpp).
void assignSlots(Program &program, const std::vector<Value> &values, const std::vector<InstructionEffects> &effects);

} // namespace attnc::emulator

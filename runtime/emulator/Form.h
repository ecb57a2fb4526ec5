// One instruction while it is decoded. A decode function takes the modifiers and operands that
// it knows and names a handler; what is left over makes the form unknown, so no modifier is
// ever ignored by accident.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/emulator/Program.h"

namespace attnc::emulator {

class ProgramBuilder;

class Form {
public:
  Form(ProgramBuilder &builder, const PtxInstruction &source);

  // --- modifiers ---
  std::string_view base() const { return source.opcode[0]; }
  bool take(std::string_view modifier);
  // Any of these that may stand for what the emulator does anyway.
  void takeAny(std::initializer_list<std::string_view> modifiers);
  std::optional<Type> maybeType(); // the next modifier that is not taken, if a type
  Type type();                     // the same, an error if there is none
  std::string_view next() const;   // the next modifier that is not taken, or empty
  std::string_view takeNext();

  // --- operands ---
  size_t operandCount() const { return source.operands.size(); }
  const PtxOperand &operand(size_t index) const;
  void expectOperands(size_t least, size_t most);
  // Slots of operands; `type` says how wide it must be.
  int32_t write(const PtxOperand &operand, Type type);
  int32_t writeOrSink(const PtxOperand &operand, Type type); // -1 for a sink `_`
  int32_t read(const PtxOperand &operand, Type type);
  // For ld, st and cvt: a register may be wider than the type. Its width comes back. A sink
  // gives -1.
  int32_t writeWide(const PtxOperand &operand, Type type, int &bits);
  int32_t readWide(const PtxOperand &operand, Type type, int &bits);
  // The register is read and partly written, as an accumulator.
  int32_t readWrite(const PtxOperand &operand, Type type);
  int32_t writePredicate(std::string_view name);
  int32_t readPredicate(const PtxOperand &operand, bool &isNegated);
  bool isPredicate(const PtxOperand &operand) const;
  std::optional<int64_t> constant(const PtxOperand &operand) const;
  int64_t needConstant(const PtxOperand &operand);
  // The usual shape: operand 0 is written to d, 1 and more are read into a, b, c.
  void standard(Type d, std::initializer_list<Type> sources);

  // [register + offset], [variable + offset]: a slot of 32 or 64 bits, or -1 for a constant
  // address, and the offset. `space` comes from the opcode; a variable must lie in it.
  struct Address {
    int32_t slot = -1;
    int bits = 64;
    int64_t offset = 0;
    Space space = Space::Generic;
    std::string_view variable; // of a parameter: its name
  };
  Address address(const PtxOperand &operand, Space space);
  std::vector<int32_t> &tables();

  // --- results ---
  void use(InstructionClass kind, Handler handler) { instruction.kind = kind, instruction.handler = handler; }
  void fail(std::string reason);
  bool hasFailed() const { return failed; }
  const std::string &reason() const { return failure; }
  void finish(); // fails if anything was not taken

  Instruction instruction;
  std::optional<Instruction> followUp; // a second instruction, right behind
  ProgramBuilder &builder;
  const PtxInstruction &source;
  bool isMove = false;
  bool isProduct = false;

private:
  std::vector<bool> taken;
  std::vector<bool> used; // operands
  bool failed = false;
  std::string failure;
};

// A base opcode and the function that decodes its forms; each file of operations has a table.
struct OpcodeRow {
  std::string_view base;
  void (*decode)(Form &form);
};
using OpcodeTable = std::vector<OpcodeRow>;

const OpcodeTable &integerOpcodes();
const OpcodeTable &bitOpcodes();
const OpcodeTable &arithmeticOpcodes();
const OpcodeTable &specialFunctionOpcodes();
const OpcodeTable &compareOpcodes();
const OpcodeTable &convertOpcodes();
const OpcodeTable &moveOpcodes();
const OpcodeTable &memoryOpcodes();
const OpcodeTable &atomicOpcodes();
const OpcodeTable &controlOpcodes();
const OpcodeTable &barrierOpcodes();
const OpcodeTable &warpOpcodes();
const OpcodeTable &matrixOpcodes();
const OpcodeTable &asyncCopyOpcodes();
const OpcodeTable &mbarrierOpcodes();
const OpcodeTable &wgmmaOpcodes();
const OpcodeTable &registerPoolOpcodes();

} // namespace attnc::emulator

#include "ir/Program.h"

#include <bit>
#include <cmath>
#include <cstdio>

namespace attnc {

static std::string hex(uint32_t bits) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08X", bits);
  return text;
}

static std::string floatText(uint32_t bits) {
  const float value = std::bit_cast<float>(bits);
  if (!std::isfinite(value))
    return hex(bits);
  char text[40];
  std::snprintf(text, sizeof text, "%.9e", static_cast<double>(value));
  return text;
}

static std::string constantText(ScalarType type, uint32_t bits) {
  switch (type) {
  case ScalarType::Bool:
    return bits ? "true" : "false";
  case ScalarType::I32:
    return std::to_string(static_cast<int32_t>(bits)) + " : i32";
  case ScalarType::F32:
    return floatText(bits) + " : f32";
  }
  return "";
}

namespace {

class FunctionPrinter {
public:
  FunctionPrinter(const Program &program, const Function &function, PrintLocations locations, std::string &out)
      : program(program), function(function), locations(locations), out(out) {}

  void print(std::string_view keyword, std::vector<ArgumentKind> arguments) {
    out += "  attn." + std::string(keyword) + " (";
    for (size_t i = 0; i < arguments.size(); ++i) {
      out += i ? ", %" : "%";
      out += argumentText(arguments[i]);
      out += arguments[i] == ArgumentKind::Score ? ": f32" : ": i32";
    }
    out += ") {\n";
    markLive();
    int next = 0;
    names.resize(function.body.size());
    for (ValueId id = 0; id < function.body.size(); ++id) {
      const Instruction &instruction = function.body[id];
      if (instruction.op == Opcode::Argument)
        names[id] = "%" + std::string(argumentText(static_cast<ArgumentKind>(instruction.immediate)));
      else if (live[id]) {
        names[id] = "%" + std::to_string(next++);
        out += "    " + names[id] + " = " + text(instruction) + place(instruction.location) + "\n";
      }
    }
    out += "    attn.yield " + names[function.result] + " : " +
           std::string(scalarTypeText(function.body[function.result].type)) + "\n  }\n";
  }

private:
  void markLive() {
    live.assign(function.body.size(), false);
    live[function.result] = true;
    for (ValueId id = function.result + 1; id-- > 0;)
      if (live[id])
        for (ValueId operand : function.body[id].operands)
          live[operand] = true;
  }

  std::string text(const Instruction &instruction) const {
    std::string line(opcodeText(instruction.op));
    const std::string type(scalarTypeText(instruction.type));
    switch (instruction.op) {
    case Opcode::Constant:
      return line + " " + constantText(instruction.type, instruction.immediate);
    case Opcode::Param:
      return line + " @" + program.params[instruction.immediate].name + " : " + type;
    case Opcode::Dim:
      return line + " " + std::string(dimText(static_cast<DimKind>(instruction.immediate))) + " : i32";
    case Opcode::Load:
      return line + " @" + program.captures[instruction.immediate].name + "[" + operands(instruction) + "] : " + type;
    case Opcode::CmpI:
      line += " " + std::string(predicateText(static_cast<IntPredicate>(instruction.predicate))) + ",";
      break;
    case Opcode::CmpF:
      line += " " + std::string(predicateText(static_cast<FloatPredicate>(instruction.predicate))) + ",";
      break;
    default:
      break;
    }
    line += " " + operands(instruction) + " : " + operandType(instruction);
    if (instruction.op == Opcode::IntToFloat || instruction.op == Opcode::BoolToInt)
      line += " to " + type;
    return line;
  }

  std::string operands(const Instruction &instruction) const {
    std::string list;
    for (ValueId operand : instruction.operands)
      list += (list.empty() ? "" : ", ") + names[operand];
    return list;
  }

  std::string operandType(const Instruction &instruction) const {
    return std::string(scalarTypeText(function.body[instruction.operands.back()].type));
  }

  std::string place(SourceLocation at) const {
    if (locations == PrintLocations::No || at.line == 0 || at.file >= program.files.size())
      return "";
    std::string file;
    for (char c : program.files[at.file]) {
      if (c == '"' || c == '\\')
        file += '\\';
      file += c;
    }
    return " loc(\"" + file + "\":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ")";
  }

  const Program &program;
  const Function &function;
  PrintLocations locations;
  std::string &out;
  std::vector<bool> live;
  std::vector<std::string> names;
};

} // namespace

static std::string captureText(const Capture &capture) {
  std::string dims;
  for (const CaptureDim &dim : capture.dims) {
    dims += dims.empty() ? "" : ", ";
    if (dim.kind == CaptureDim::Fixed)
      dims += std::to_string(dim.size);
    else if (dim.kind == CaptureDim::Named)
      dims += dimText(dim.named);
    else
      dims += "?";
  }
  return "  attn.capture @" + capture.name + " : " + std::string(scalarTypeText(capture.type)) + " [" + dims + "]" +
         (capture.isSorted ? " sorted" : "") + (capture.wantsGradient ? " grad" : "") + "\n";
}

std::string print(const Program &program, PrintLocations locations) {
  std::string out = "attn.variant @" + program.name + " {\n";
  for (const Capture &capture : program.captures)
    out += captureText(capture);
  for (const Param &param : program.params) {
    out += "  attn.scalar @" + param.name + " : " + std::string(scalarTypeText(param.type));
    if (param.defaultBits)
      out += " = " + constantText(param.type, *param.defaultBits);
    out += "\n";
  }
  if (program.scale)
    out += "  attn.scale " + floatText(std::bit_cast<uint32_t>(*program.scale)) + " : f32\n";
  using enum ArgumentKind;
  if (program.scoreMod)
    FunctionPrinter(program, *program.scoreMod, locations, out)
        .print("score_mod", {Score, Batch, Head, QueryIndex, KvIndex});
  if (program.maskMod)
    FunctionPrinter(program, *program.maskMod, locations, out).print("mask_mod", {Batch, Head, QueryIndex, KvIndex});
  if (program.sink)
    FunctionPrinter(program, *program.sink, locations, out).print("sink", {Batch, Head});
  return out + "}\n";
}

} // namespace attnc

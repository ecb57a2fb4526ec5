#include "runtime/emulator/ProgramBuilder.h"

#include <algorithm>

namespace attnc::emulator {

namespace {

constexpr uint32_t kMaxFrameBytes = 1 << 18;
constexpr uint32_t kMaxParameterBytes = 32764;
constexpr uint32_t kMaxSharedBytes = 1 << 20;

const std::unordered_map<std::string_view, void (*)(Form &)> &opcodes() {
  static const auto kTable = [] {
    std::unordered_map<std::string_view, void (*)(Form &)> table;
    for (const OpcodeTable *rows :
         {&integerOpcodes(), &bitOpcodes(), &arithmeticOpcodes(), &specialFunctionOpcodes(), &compareOpcodes(),
          &convertOpcodes(), &moveOpcodes(), &memoryOpcodes(), &atomicOpcodes(), &controlOpcodes(), &barrierOpcodes(),
          &warpOpcodes(), &matrixOpcodes(), &asyncCopyOpcodes(), &mbarrierOpcodes(), &wgmmaOpcodes(),
          &registerPoolOpcodes()})
      for (const OpcodeRow &row : *rows)
        table.emplace(row.base, row.decode);
    return table;
  }();
  return kTable;
}

uint32_t naturalAlignment(const PtxVariable &variable) {
  return variable.alignment != 0 ? variable.alignment : std::max(1U, uint32_t(bitsOf(variable.type)) / 8);
}

// %r12 is the family %r and 12.
std::string_view familyOf(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9')
    name.remove_suffix(1);
  return name;
}

} // namespace

std::string ProgramBuilder::build(const PtxFunction &kernel) {
  program.name = std::string(kernel.name);
  layOutModule();
  addFunction(kernel);
  // Calls add functions while the loop runs.
  for (size_t index = 0; index < functions.size(); ++index)
    if (std::string error = decodeFunction(int(index)); !error.empty())
      return error;
  if (isRecursive())
    return "kernel '" + program.name + "' calls functions recursively, which the emulator has no stack for";
  if (std::string error = resolveLabels(); !error.empty())
    return error;
  program.staticSharedBytes = sharedBytes;
  program.dynamicSharedOffset = (sharedBytes + 1023) & ~1023U;
  if (!hasDynamicShared)
    program.dynamicSharedOffset = sharedBytes;
  if (program.parameterBytes > kMaxParameterBytes)
    return "kernel '" + program.name + "' has more bytes of parameters than any device takes";
  if (sharedBytes > kMaxSharedBytes || program.localBytes > kMaxFrameBytes)
    return "kernel '" + program.name + "' declares more shared or local memory than any device has";
  assignSlots(program, values, effects);
  return {};
}

bool ProgramBuilder::isRecursive() const {
  // Removes functions that call none of those that are left; what stays is on a cycle or
  // leads to one.
  std::vector<bool> isLeft(functions.size(), true);
  for (bool hasChanged = true; hasChanged;) {
    hasChanged = false;
    for (size_t index = 0; index < functions.size(); ++index) {
      const bool callsOne = std::ranges::any_of(
          calls, [&](const auto &call) { return size_t(call.first) == index && isLeft[size_t(call.second)]; });
      if (isLeft[index] && !callsOne)
        isLeft[index] = false, hasChanged = true;
    }
  }
  return std::ranges::find(isLeft, true) != isLeft.end();
}

uint32_t ProgramBuilder::allocate(uint32_t &total, uint64_t bytes, uint32_t alignment) {
  const uint64_t offset = (uint64_t(total) + alignment - 1) / alignment * alignment;
  // Beyond this the kernel is refused at the end; the sum must not wrap before.
  total = uint32_t(std::min<uint64_t>(offset + bytes, kMaxSharedBytes * 4));
  return uint32_t(std::min<uint64_t>(offset, kMaxSharedBytes * 4));
}

void ProgramBuilder::layOutModule() {
  for (size_t index = 0; index < module.variables.size(); ++index) {
    const PtxVariable &variable = module.variables[index];
    Place place{variable.space, 0, variable.bytes(), int(index)};
    if (variable.space == Space::Shared && variable.isUnsized)
      place.isDynamicShared = hasDynamicShared = true;
    else if (variable.space == Space::Shared)
      place.offset = allocate(sharedBytes, variable.bytes(), naturalAlignment(variable));
    modulePlaces.emplace(variable.name, place);
  }
}

int ProgramBuilder::addFunction(const PtxFunction &source) {
  const int index = int(functions.size());
  functionOf.emplace(source.name, index);
  Function function;
  function.source = &source;
  function.registers.resize(source.parentScope.size());
  function.families.resize(source.parentScope.size());
  function.places.resize(source.parentScope.size());
  declareVariables(function, index == 0);
  functions.push_back(std::move(function));
  return index;
}

ProgramBuilder::Place ProgramBuilder::frameVariable(const PtxVariable &variable) {
  return {variable.space, allocate(program.localBytes, variable.bytes(), std::max(8U, naturalAlignment(variable))),
          variable.bytes()};
}

void ProgramBuilder::declareVariables(Function &function, bool isKernel) {
  for (const PtxVariable &parameter : function.source->parameters) {
    if (!isKernel) {
      function.places[0].emplace(parameter.name, frameVariable(parameter));
      continue;
    }
    const auto bytes = uint32_t(parameter.bytes());
    const uint32_t offset = allocate(program.parameterBytes, bytes, naturalAlignment(parameter));
    program.parameters.push_back({std::string(parameter.name), offset, bytes});
    function.places[0].emplace(parameter.name, Place{Space::Param, offset, bytes, 0, true, false});
  }
  for (const PtxVariable &result : function.source->results)
    function.places[0].emplace(result.name, frameVariable(result));
  for (const PtxVariable &variable : function.source->variables) {
    auto &places = function.places[size_t(variable.scope)];
    if (variable.space == Space::Register)
      function.families[size_t(variable.scope)].emplace(variable.name, variable);
    else if (variable.space == Space::Shared)
      places.emplace(
          variable.name,
          Place{Space::Shared, allocate(sharedBytes, variable.bytes(), naturalAlignment(variable)), variable.bytes()});
    else
      places.emplace(variable.name, frameVariable(variable));
  }
}

int32_t ProgramBuilder::registerValue(std::string_view name, int inScope) {
  Function &function = functions[size_t(currentFunction)];
  const std::string_view family = familyOf(name);
  for (int at = inScope; at >= 0; at = function.source->parentScope[size_t(at)]) {
    auto &registers = function.registers[size_t(at)];
    if (const auto found = registers.find(name); found != registers.end())
      return found->second;
    const auto &families = function.families[size_t(at)];
    auto declared = families.find(name);
    if (declared == families.end() || declared->second.count > 0) {
      declared = family.size() < name.size() ? families.find(family) : families.end();
      if (declared == families.end() || name.size() - family.size() > 7 ||
          std::stoi(std::string(name.substr(family.size()))) >= declared->second.count)
        continue;
    }
    Value value;
    value.bits = bitsOf(declared->second.type);
    value.kind = value.bits == 1 ? Value::Kind::Predicate : Value::Kind::Register;
    value.function = currentFunction;
    value.name = name;
    const auto number = int32_t(values.size());
    values.push_back(value);
    registers.emplace(name, number);
    return number;
  }
  return -1;
}

int32_t ProgramBuilder::presetValue(const Preset &preset) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Value &value = values[i];
    if (value.kind == Value::Kind::Preset && value.preset.special == preset.special &&
        value.preset.bits == preset.bits && value.preset.index == preset.index && value.preset.value == preset.value)
      return int32_t(i);
  }
  Value value;
  value.kind = Value::Kind::Preset;
  value.bits = preset.bits;
  value.preset = preset;
  values.push_back(value);
  return int32_t(values.size()) - 1;
}

int32_t ProgramBuilder::constantValue(uint64_t bits, int width) {
  if (width < 64)
    bits &= (uint64_t(1) << width) - 1;
  auto &known = width > 32 ? constants64 : constants32;
  const auto [found, isNew] = known.emplace(bits, int32_t(values.size()));
  if (isNew) {
    Value value;
    value.kind = Value::Kind::Preset;
    value.bits = width > 32 ? 64 : 32;
    value.preset = {Special::Constant, 0, value.bits, 0, bits};
    values.push_back(value);
  }
  return found->second;
}

const ProgramBuilder::Place *ProgramBuilder::findVariable(std::string_view name, int inScope) const {
  const Function &function = functions[size_t(currentFunction)];
  for (int at = inScope; at >= 0; at = function.source->parentScope[size_t(at)]) {
    const auto &places = function.places[size_t(at)];
    if (const auto found = places.find(name); found != places.end())
      return &found->second;
  }
  const auto found = modulePlaces.find(name);
  return found == modulePlaces.end() ? nullptr : &found->second;
}

void ProgramBuilder::jumpTo(std::string_view label) {
  fixups.push_back({int(program.code.size()), label, scope, currentFunction, -1});
}

bool ProgramBuilder::branchTable(std::string_view name, uint32_t &first, uint32_t &count) {
  for (const PtxBranchTable &table : functions[size_t(currentFunction)].source->branchTables) {
    if (table.name != name)
      continue;
    first = uint32_t(program.tables.size());
    count = uint32_t(table.targets.size());
    for (std::string_view target : table.targets) {
      fixups.push_back({int(program.code.size()), target, table.scope, currentFunction, int(program.tables.size())});
      program.tables.push_back(0);
    }
    return true;
  }
  return false;
}

int32_t ProgramBuilder::returnSlotValue() {
  Function &function = functions[size_t(currentFunction)];
  if (function.returnValue < 0) {
    Value value;
    value.function = currentFunction;
    value.name = "return address";
    function.returnValue = int32_t(values.size());
    values.push_back(value);
  }
  return function.returnValue;
}

void ProgramBuilder::call(Form &form, const PtxOperand *results, std::string_view callee, const PtxOperand *arguments) {
  int index = -1;
  if (const auto known = functionOf.find(callee); known != functionOf.end()) {
    index = known->second;
  } else {
    for (const PtxFunction &function : module.functions)
      if (function.name == callee && function.hasBody && !function.isKernel)
        index = addFunction(function);
  }
  if (index <= 0)
    return form.fail("function '" + std::string(callee) + "' has no body in this module");

  // Parameters are copied between the frames' variables: source, destination, bytes.
  const PtxFunction &target = *functions[size_t(index)].source;
  const auto copies = [&](const PtxOperand *list, const std::vector<PtxVariable> &formals, bool isResult) {
    const size_t count = list == nullptr ? 0 : list->elements.size();
    if (count != formals.size())
      form.fail("the call's parameters are not the function's");
    const auto first = uint32_t(program.tables.size());
    program.tables.push_back(int32_t(count));
    for (size_t i = 0; i < count && !form.hasFailed(); ++i) {
      const Place *actual = findVariable(list->elements[i].name, form.source.scope);
      const Place &formal = functions[size_t(index)].places[0].at(formals[i].name);
      if (actual == nullptr || actual->space != Space::Param || actual->isKernelParameter ||
          actual->bytes < formal.bytes) {
        form.fail("parameter '" + std::string(list->elements[i].name) + "' does not fit");
        break;
      }
      const auto from = int32_t(isResult ? formal.offset : actual->offset);
      const auto to = int32_t(isResult ? actual->offset : formal.offset);
      program.tables.insert(program.tables.end(), {from, to, int32_t(formal.bytes)});
    }
    return first;
  };
  form.instruction.operands = copies(arguments, target.parameters, false);
  form.instruction.detail = copies(results, target.results, true);

  const int caller = currentFunction;
  currentFunction = index;
  form.instruction.d = returnSlotValue();
  currentFunction = caller;
  noteAccess(form.instruction.d, true);
  callFixups.push_back({int(program.code.size()), index});
  calls.emplace_back(currentFunction, index);
}

void ProgramBuilder::appendEmpty() {
  InstructionEffects effect;
  effect.function = currentFunction;
  effects.push_back(effect);
}

std::string ProgramBuilder::decodeFunction(int index) {
  currentFunction = index;
  // Kept in a local: calls may grow `functions`.
  const PtxFunction &source = *functions[size_t(index)].source;
  functions[size_t(index)].firstPc = int(program.code.size());
  std::vector<int> pcs;
  for (const PtxInstruction &instruction : source.instructions) {
    pcs.push_back(int(program.code.size()));
    if (std::string error = decodeInstruction(instruction); !error.empty())
      return error;
  }
  pcs.push_back(int(program.code.size()));
  // A body that runs off its end returns.
  PtxInstruction end;
  end.opcode = {"ret"};
  end.text = "ret;";
  end.line = source.instructions.empty() ? source.line : source.instructions.back().line;
  pcOf.push_back(std::move(pcs));
  return decodeInstruction(end);
}

std::string ProgramBuilder::decodeInstruction(const PtxInstruction &source) {
  scope = source.scope;
  appendEmpty();
  Form form(*this, source);
  const auto row = opcodes().find(form.base());
  if (row == opcodes().end()) {
    form.fail("the opcode is not known");
  } else {
    row->second(form);
    form.finish();
  }
  if (form.hasFailed())
    return "PTX line " + std::to_string(source.line) + ": cannot emulate '" + std::string(source.text) +
           "': " + form.reason();
  effects.back().isMove = form.isMove;
  effects.back().isProduct = form.isProduct;
  append(source, form.instruction);
  if (form.followUp) {
    appendEmpty();
    if (form.followUp->guard >= 0)
      noteAccess(form.followUp->guard, false);
    append(source, *form.followUp);
  }
  return {};
}

void ProgramBuilder::append(const PtxInstruction &source, const Instruction &instruction) {
  program.code.push_back(instruction);
  Program::Origin origin;
  origin.line = source.line;
  origin.text = std::string(source.text);
  if (source.location >= 0) {
    const PtxLocation &location = module.locations[size_t(source.location)];
    if (const auto file = module.files.find(location.file); file != module.files.end())
      origin.source = {file->second, location.line};
  }
  program.origins.push_back(std::move(origin));
}

std::string ProgramBuilder::resolveLabels() {
  for (const Fixup &fixup : fixups) {
    const PtxFunction &function = *functions[size_t(fixup.function)].source;
    int target = -1;
    for (int at = fixup.scope; at >= 0 && target < 0; at = function.parentScope[size_t(at)])
      for (const PtxLabel &label : function.labels)
        if (label.scope == at && label.name == fixup.label)
          target = pcOf[size_t(fixup.function)][label.at];
    if (target < 0)
      return "PTX line " + std::to_string(program.origins[size_t(fixup.pc)].line) + ": there is no label '" +
             std::string(fixup.label) + "'";
    effects[size_t(fixup.pc)].targets.push_back(target);
    if (fixup.tableIndex >= 0)
      program.tables[size_t(fixup.tableIndex)] = target;
    else
      program.code[size_t(fixup.pc)].immediate = target;
  }
  for (const CallFixup &fixup : callFixups) {
    program.code[size_t(fixup.pc)].immediate = functions[size_t(fixup.function)].firstPc;
  }
  return {};
}

} // namespace attnc::emulator

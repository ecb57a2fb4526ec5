#include "runtime/emulator/Form.h"

#include <bit>

#include "runtime/emulator/ProgramBuilder.h"

namespace attnc::emulator {

namespace {

using Kind = PtxOperand::Kind;

const PtxOperand kNoOperand;

struct SpecialRow {
  std::string_view name, member;
  Special special;
};

constexpr SpecialRow kSpecials[] = {
    {"%tid", "x", Special::TidX},
    {"%tid", "y", Special::TidY},
    {"%tid", "z", Special::TidZ},
    {"%ntid", "x", Special::NtidX},
    {"%ntid", "y", Special::NtidY},
    {"%ntid", "z", Special::NtidZ},
    {"%ctaid", "x", Special::CtaidX},
    {"%ctaid", "y", Special::CtaidY},
    {"%ctaid", "z", Special::CtaidZ},
    {"%nctaid", "x", Special::NctaidX},
    {"%nctaid", "y", Special::NctaidY},
    {"%nctaid", "z", Special::NctaidZ},
    {"%laneid", "", Special::Laneid},
    {"%warpid", "", Special::Warpid},
    {"%nwarpid", "", Special::Nwarpid},
    {"%smid", "", Special::Smid},
    {"%nsmid", "", Special::Nsmid},
    {"%gridid", "", Special::Gridid},
    {"%lanemask_eq", "", Special::LanemaskEq},
    {"%lanemask_le", "", Special::LanemaskLe},
    {"%lanemask_lt", "", Special::LanemaskLt},
    {"%lanemask_ge", "", Special::LanemaskGe},
    {"%lanemask_gt", "", Special::LanemaskGt},
    {"%dynamic_smem_size", "", Special::DynamicSharedBytes},
    {"%total_smem_size", "", Special::TotalSharedBytes},
};

std::optional<Special> specialOf(const PtxOperand &operand) {
  for (const SpecialRow &row : kSpecials)
    if (row.name == operand.name && row.member == operand.member)
      return row.special;
  return std::nullopt;
}

uint64_t literalBits(const PtxOperand &operand, Type type) {
  if (operand.kind == Kind::Float64 && type == Type::F32)
    return std::bit_cast<uint32_t>(float(std::bit_cast<double>(operand.bits)));
  if (operand.kind == Kind::Float32 && type == Type::F64)
    return std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(operand.bits))));
  return operand.bits;
}

} // namespace

Form::Form(ProgramBuilder &builder, const PtxInstruction &source)
    : builder(builder), source(source), taken(source.opcode.size()), used(source.operands.size()) {
  taken[0] = true;
  if (source.guard.empty())
    return;
  PtxOperand guard;
  guard.kind = Kind::Name;
  guard.name = source.guard;
  bool isNegated = false;
  instruction.guard = readPredicate(guard, isNegated);
  instruction.isGuardNegated = source.isGuardNegated;
}

bool Form::take(std::string_view modifier) {
  for (size_t i = 1; i < taken.size(); ++i)
    if (!taken[i] && source.opcode[i] == modifier)
      return taken[i] = true;
  return false;
}

void Form::takeAny(std::initializer_list<std::string_view> modifiers) {
  for (std::string_view modifier : modifiers)
    take(modifier);
}

std::string_view Form::next() const {
  for (size_t i = 1; i < taken.size(); ++i)
    if (!taken[i])
      return source.opcode[i];
  return {};
}

std::string_view Form::takeNext() {
  const std::string_view modifier = next();
  take(modifier);
  return modifier;
}

std::optional<Type> Form::maybeType() {
  for (size_t i = 1; i < taken.size(); ++i) {
    if (taken[i])
      continue;
    if (const auto found = typeFromName(source.opcode[i])) {
      taken[i] = true;
      return found;
    }
  }
  return std::nullopt;
}

Type Form::type() {
  const auto found = maybeType();
  if (!found)
    fail("its type is missing");
  return found.value_or(Type::B32);
}

const PtxOperand &Form::operand(size_t index) const {
  return index < source.operands.size() ? source.operands[index] : kNoOperand;
}

void Form::expectOperands(size_t least, size_t most) {
  if (operandCount() < least || operandCount() > most)
    fail("it has " + std::to_string(operandCount()) + " operands");
  used.assign(used.size(), true);
}

int32_t Form::writeWide(const PtxOperand &operand, Type type, int &bits) {
  bits = bitsOf(type);
  if (bits > 64)
    fail("values of 128 bits are not known");
  if (operand.kind == Kind::Discarded)
    return -1;
  const int32_t number =
      operand.kind == Kind::Name && operand.member.empty() ? builder.registerValue(operand.name, source.scope) : -1;
  if (number < 0) {
    fail("its destination is not a register");
    return -1;
  }
  const Value &value = builder.value(number);
  bits = value.bits;
  if (value.kind != Value::Kind::Register || bits < bitsOf(type)) {
    fail("register " + std::string(operand.name) + " is too narrow");
    return -1;
  }
  builder.noteAccess(number, true);
  return number;
}

int32_t Form::writeOrSink(const PtxOperand &operand, Type type) {
  return operand.kind == Kind::Discarded ? -1 : write(operand, type);
}

int32_t Form::write(const PtxOperand &operand, Type type) {
  if (operand.kind == Kind::Discarded)
    fail("its destination is a sink");
  int bits = 0;
  const int32_t number = writeWide(operand, type, bits);
  if (bits != bitsOf(type) && !(bitsOf(type) == 8 && bits == 16))
    fail("register " + std::string(operand.name) + " has " + std::to_string(bits) + " bits");
  return number;
}

int32_t Form::readWide(const PtxOperand &operand, Type type, int &bits) {
  bits = bitsOf(type);
  if (bits > 64)
    fail("values of 128 bits are not known");
  if (operand.kind == Kind::Integer || operand.kind == Kind::Float32 || operand.kind == Kind::Float64)
    return builder.constantValue(literalBits(operand, type), bits);
  if (operand.kind != Kind::Name || operand.isNegated || !operand.paired.empty()) {
    fail("an operand is of a kind that is not known here");
    return builder.constantValue(0, bits);
  }
  if (operand.member.empty()) {
    const int32_t number = builder.registerValue(operand.name, source.scope);
    if (number >= 0) {
      const Value &value = builder.value(number);
      bits = value.bits;
      if (value.kind != Value::Kind::Register || bits < bitsOf(type))
        fail("register " + std::string(operand.name) + " is too narrow");
      builder.noteAccess(number, false);
      return number;
    }
    if (const ProgramBuilder::Place *place = builder.findVariable(operand.name, source.scope)) {
      const uint64_t offset = uint64_t(place->offset) + operand.bits;
      if (bits < 32)
        fail("an address has more bits");
      if (place->isKernelParameter)
        return builder.presetValue({Special::ParameterAddress, 0, bits, 0, offset});
      if (place->isDynamicShared)
        return builder.presetValue({Special::DynamicShared, 0, bits, 0, operand.bits});
      if (place->space == Space::Global || place->space == Space::Const)
        return builder.presetValue({Special::VariableAddress, 0, bits, place->index, operand.bits});
      return builder.constantValue(offset, bits);
    }
  }
  if (const auto special = specialOf(operand)) {
    bits = std::max(32, bitsOf(type));
    return builder.presetValue({*special, 0, bits, 0, 0});
  }
  fail("'" + std::string(operand.name) + (operand.member.empty() ? "" : "." + std::string(operand.member)) +
       "' is not known");
  return builder.constantValue(0, bits);
}

int32_t Form::read(const PtxOperand &operand, Type type) {
  int bits = 0;
  const int32_t number = readWide(operand, type, bits);
  if (bits != bitsOf(type) && !(bitsOf(type) == 8 && bits == 16))
    fail("register " + std::string(operand.name) + " has " + std::to_string(bits) + " bits");
  return number;
}

int32_t Form::readWrite(const PtxOperand &operand, Type type) {
  const int32_t number = write(operand, type);
  if (number >= 0)
    builder.noteAccess(number, false);
  return number;
}

int32_t Form::writePredicate(std::string_view name) {
  if (name == "_")
    return -1;
  const int32_t number = builder.registerValue(name, source.scope);
  if (number < 0 || builder.value(number).kind != Value::Kind::Predicate) {
    fail("'" + std::string(name) + "' is not a predicate");
    return -1;
  }
  builder.noteAccess(number, true);
  return number;
}

int32_t Form::readPredicate(const PtxOperand &operand, bool &isNegated) {
  isNegated = operand.isNegated;
  if (operand.kind == Kind::Integer) // an immediate truth
    return builder.presetValue({Special::Constant, 0, 1, 0, operand.bits != 0 ? 0xffffffffU : 0U});
  const int32_t number = operand.kind == Kind::Name ? builder.registerValue(operand.name, source.scope) : -1;
  if (number < 0 || builder.value(number).kind != Value::Kind::Predicate) {
    fail("'" + std::string(operand.name) + "' is not a predicate");
    return -1;
  }
  builder.noteAccess(number, false);
  return number;
}

bool Form::isPredicate(const PtxOperand &operand) const {
  const int32_t number = operand.kind == Kind::Name ? builder.registerValue(operand.name, source.scope) : -1;
  return number >= 0 && builder.value(number).kind == Value::Kind::Predicate;
}

std::vector<int32_t> &Form::tables() { return builder.output().tables; }

std::optional<int64_t> Form::constant(const PtxOperand &operand) const {
  return operand.kind == Kind::Integer ? std::optional(int64_t(operand.bits)) : std::nullopt;
}

int64_t Form::needConstant(const PtxOperand &operand) {
  const auto value = constant(operand);
  if (!value)
    fail("an operand must be a constant");
  return value.value_or(0);
}

void Form::standard(Type d, std::initializer_list<Type> sources) {
  expectOperands(sources.size() + 1, sources.size() + 1);
  int32_t *const slots[] = {&instruction.a, &instruction.b, &instruction.c, &instruction.e};
  size_t index = 0;
  for (Type type : sources) {
    *slots[index] = read(operand(index + 1), type);
    ++index;
  }
  instruction.d = write(operand(0), d);
}

Form::Address Form::address(const PtxOperand &operand, Space space) {
  Address result;
  result.space = space;
  result.offset = int64_t(operand.bits);
  if (operand.kind != Kind::Address) {
    fail("an address is missing");
    return result;
  }
  if (operand.name.empty())
    return result;
  const int32_t number = builder.registerValue(operand.name, source.scope);
  if (number >= 0) {
    const Value &value = builder.value(number);
    if (value.kind != Value::Kind::Register || value.bits < 32)
      fail("register " + std::string(operand.name) + " cannot hold an address");
    builder.noteAccess(number, false);
    result.slot = number;
    result.bits = value.bits;
    return result;
  }
  const ProgramBuilder::Place *place = builder.findVariable(operand.name, source.scope);
  if (place == nullptr) {
    fail("'" + std::string(operand.name) + "' is not known");
    return result;
  }
  const bool isSharedCluster = space == Space::SharedCluster && place->space == Space::Shared;
  if (space != Space::Generic && space != place->space && !isSharedCluster)
    fail("'" + std::string(operand.name) + "' lies in another state space");
  result.space = place->space;
  result.variable = operand.name;
  if (place->space == Space::Global || place->space == Space::Const)
    result.slot = builder.presetValue({Special::VariableAddress, 0, 64, place->index, 0});
  else if (place->isDynamicShared)
    result.slot = builder.presetValue({Special::DynamicShared, 0, result.bits = 32, 0, 0});
  else
    result.offset += place->offset;
  return result;
}

void Form::fail(std::string reason) {
  if (failed)
    return;
  failed = true;
  failure = std::move(reason);
}

void Form::finish() {
  for (size_t i = 0; i < taken.size() && !failed; ++i)
    if (!taken[i])
      fail("'." + std::string(source.opcode[i]) + "' is not known here");
  for (bool isUsed : used)
    if (!isUsed)
      fail("it has operands that are not known");
  if (!failed && instruction.handler == nullptr)
    fail("the form is not known");
}

} // namespace attnc::emulator

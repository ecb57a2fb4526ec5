// atom and red: one lane after the other, in the order of the lanes. Sums of floats depend on
// that order, which a device does not promise; they are therefore a finding.
#include <cmath>

#include "runtime/emulator/Form.h"
#include "runtime/emulator/Formats.h"
#include "runtime/emulator/Lanes.h"
#include "runtime/emulator/MemoryDecode.h"

namespace attnc::emulator {

namespace {

enum class Operation : uint8_t { Add, Min, Max, And, Or, Xor, Exchange, CompareAndSwap, Increment, Decrement };
constexpr std::string_view kOperations[] = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"};

// `old` with operand b, and for cas the new value c.
template <typename T> T combined(Operation operation, T old, T b, T c) {
  using enum Operation;
  switch (operation) {
  case Add:
    return T(std::make_unsigned_t<T>(old) + std::make_unsigned_t<T>(b));
  case Min:
    return b < old ? b : old;
  case Max:
    return b > old ? b : old;
  case And:
    return T(old & b);
  case Or:
    return T(old | b);
  case Xor:
    return T(old ^ b);
  case Exchange:
    return b;
  case CompareAndSwap:
    return old == b ? c : old;
  case Increment:
    return old >= b ? T(0) : T(old + 1);
  case Decrement:
    return old == 0 || old > b ? b : T(old - 1);
  }
}

uint32_t addPair(Format format, uint32_t old, uint32_t b) {
  return uint32_t(addHalf(format, uint16_t(old), uint16_t(b))) |
         uint32_t(addHalf(format, uint16_t(old >> 16), uint16_t(b >> 16))) << 16;
}

template <Type kType, typename T> T combinedFloat(T old, T b) {
  if constexpr (kType == Type::F32)
    return std::bit_cast<uint32_t>(canonical(std::bit_cast<float>(old) + std::bit_cast<float>(b)));
  else if constexpr (kType == Type::F64)
    return std::bit_cast<uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(b));
  else if constexpr (kType == Type::F16 || kType == Type::BF16)
    return addHalf(kType == Type::F16 ? Format::F16 : Format::BF16, old, b);
  else
    return addPair(kType == Type::F16x2 ? Format::F16 : Format::BF16, old, b);
}

// `width` holds the operation; d is -1 for red.
template <typename T, typename Combine>
Flow runAtomic(Warp &warp, const Instruction &i, uint32_t mask, Combine combine) {
  uint64_t addresses[kLanes];
  gatherAddresses(warp, i, addresses);
  forLanes(mask, [&](int lane) {
    uint8_t *at = bytesAt(warp, i, lane, addresses[lane], sizeof(T), AccessKind::Atomic, sizeof(T));
    T old = 0;
    if (at != nullptr) {
      std::memcpy(&old, at, sizeof(T));
      const T b = fromWord<T>(laneWords<T>(warp, i.b)[lane]);
      const T c = i.c < 0 ? T(0) : fromWord<T>(laneWords<T>(warp, i.c)[lane]);
      const T result = combine(old, b, c);
      // Nobody waits for a value that stays: spinning on a lock is no progress.
      if (result != old)
        ++warp.cta->machine->events;
      std::memcpy(at, &result, sizeof(T));
    }
    if (i.d >= 0)
      laneWords<T>(warp, i.d)[lane] = toWord<T>(old);
  });
  if (warp.cta->machine->options.profile && MemorySpace(i.detail & kSpaceMask) == MemorySpace::Global)
    countSectors(warp.cta->machine->profile, addresses, mask, sizeof(T));
  return Flow::Next;
}

template <typename T> Flow runInteger(Warp &warp, const Instruction &i, uint32_t mask) {
  return runAtomic<T>(warp, i, mask, [&](T old, T b, T c) { return combined<T>(Operation(i.width), old, b, c); });
}

template <Type kType, typename T> Flow runFloatAdd(Warp &warp, const Instruction &i, uint32_t mask) {
  Machine &machine = *warp.cta->machine;
  if (warp.isChecked && !machine.hasReported(i, FindingKind::FloatAtomic))
    machine.report(FindingKind::FloatAtomic, warp, firstLane(mask), i,
                   "the sum depends on the order in which the lanes and CTAs come");
  return runAtomic<T>(warp, i, mask, [](T old, T b, T) { return combinedFloat<kType, T>(old, b); });
}

Handler floatHandler(Type type) {
  switch (type) {
  case Type::F32:
    return runFloatAdd<Type::F32, uint32_t>;
  case Type::F64:
    return runFloatAdd<Type::F64, uint64_t>;
  case Type::F16:
    return runFloatAdd<Type::F16, uint16_t>;
  case Type::BF16:
    return runFloatAdd<Type::BF16, uint16_t>;
  case Type::F16x2:
    return runFloatAdd<Type::F16x2, uint32_t>;
  case Type::BF16x2:
    return runFloatAdd<Type::BF16x2, uint32_t>;
  default:
    return nullptr;
  }
}

void decodeAtomic(Form &form) {
  const bool isReduction = form.base() == "red";
  takeStrength(form);
  const Space space = takeSpace(form);
  form.takeAny({"noftz"});
  std::optional<Operation> operation;
  for (size_t k = 0; k < std::size(kOperations) && !operation; ++k)
    if (form.take(kOperations[k]))
      operation = Operation(k);
  if (!operation)
    return form.fail("its operation is not known");
  const Type type = form.type();
  const bool isCas = *operation == Operation::CompareAndSwap;
  const size_t first = isReduction ? 0 : 1, count = first + (isCas ? 3 : 2);
  form.expectOperands(count, count);
  Instruction &i = form.instruction;
  placeAddress(form, form.operand(first), space);
  i.b = form.read(form.operand(first + 1), type);
  if (isCas)
    i.c = form.read(form.operand(first + 2), type);
  if (!isReduction)
    i.d = form.writeOrSink(form.operand(0), type);
  i.width = uint8_t(*operation);
  if (isFloat(type)) {
    if (*operation == Operation::Add)
      form.use(InstructionClass::Atomic, floatHandler(type));
    return;
  }
  withInteger(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) >= 4)
      form.use(InstructionClass::Atomic, runInteger<T>);
    else if constexpr (sizeof(T) == 2 && std::is_unsigned_v<T>)
      if (isCas)
        form.use(InstructionClass::Atomic, runInteger<T>);
  });
}

} // namespace

const OpcodeTable &atomicOpcodes() {
  static const OpcodeTable kTable = {{"atom", decodeAtomic}, {"red", decodeAtomic}};
  return kTable;
}

} // namespace attnc::emulator

// mov with its packing and unpacking, cvta, isspacep.
#include "runtime/emulator/Form.h"
#include "runtime/emulator/Lanes.h"
#include "runtime/emulator/ProgramBuilder.h"

namespace attnc::emulator {

namespace {

constexpr auto kMove = InstructionClass::Move;

template <typename T> Flow runMove(Warp &warp, const Instruction &i, uint32_t mask) {
  const T *a = laneWords<T>(warp, i.a);
  T *d = laneWords<T>(warp, i.d);
  if (mask == kAllLanes)
    std::memmove(d, a, sizeof(T) * kLanes);
  else
    for (int lane = 0; lane < kLanes; ++lane)
      d[lane] = (mask & kLaneBits.bit[lane]) != 0 ? a[lane] : d[lane];
  return Flow::Next;
}

Flow runMovePredicate(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.setPredicate(i.d, warp.predicateOf(i.a, i.detail != 0), mask);
  return Flow::Next;
}

// Time is the count of instructions: the same in every run.
template <typename T> Flow runClock(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint64_t now = warp.cta->machine->executed;
  forLanes(mask, [&](int lane) { laneWords<T>(warp, i.d)[lane] = T(now); });
  return Flow::Next;
}

// Elements of `detail` bits from or to a register of `immediate` bits. The elements' slots
// stand in Program::operands; the first one holds the lowest bits.
uint64_t readLane(Warp &warp, int32_t slot, int64_t bits, int lane) {
  return bits == 64 ? warp.doubleWords(slot)[lane] : warp.words(slot)[lane];
}
void writeLane(Warp &warp, int32_t slot, int64_t bits, int lane, uint64_t value) {
  if (slot < 0)
    return;
  if (bits == 64)
    warp.doubleWords(slot)[lane] = value;
  else
    warp.words(slot)[lane] = uint32_t(value);
}

Flow runPack(Warp &warp, const Instruction &i, uint32_t mask) {
  const int32_t *elements = warp.cta->machine->program->operands.data() + i.operands;
  forLanes(mask, [&](int lane) {
    uint64_t value = 0;
    for (uint32_t k = 0; k < i.width; ++k)
      value |= readLane(warp, elements[k], i.detail, lane) << (k * i.detail);
    writeLane(warp, i.d, i.immediate, lane, value);
  });
  return Flow::Next;
}

Flow runUnpack(Warp &warp, const Instruction &i, uint32_t mask) {
  const int32_t *elements = warp.cta->machine->program->operands.data() + i.operands;
  const uint64_t keep = (uint64_t(1) << i.detail) - 1;
  forLanes(mask, [&](int lane) {
    const uint64_t value = readLane(warp, i.a, i.immediate, lane);
    for (uint32_t k = 0; k < i.width; ++k)
      writeLane(warp, elements[k], i.detail, lane, value >> (k * i.detail) & keep);
  });
  return Flow::Next;
}

void decodePacking(Form &form, Type type, bool isPack) {
  const PtxOperand &vector = form.operand(isPack ? 1 : 0);
  const auto count = int(vector.elements.size());
  const int bits = count == 0 ? 0 : bitsOf(type) / count;
  if ((count != 2 && count != 4) || (bits != 8 && bits != 16 && bits != 32))
    return form.fail("its vector is not known");
  const Type element = bits == 8 ? Type::B8 : bits == 16 ? Type::B16 : Type::B32;
  Instruction &i = form.instruction;
  i.width = uint8_t(count);
  i.detail = uint32_t(bits);
  i.immediate = bitsOf(type);
  std::vector<int32_t> &operands = form.builder.output().operands;
  i.operands = uint32_t(operands.size());
  if (!isPack)
    i.a = form.read(form.operand(1), type);
  for (const PtxOperand &one : vector.elements)
    operands.push_back(isPack ? form.read(one, element) : form.writeOrSink(one, element));
  if (isPack)
    i.d = form.write(form.operand(0), type);
  form.use(kMove, isPack ? runPack : runUnpack);
}

void decodeMov(Form &form) {
  const Type type = form.type();
  form.expectOperands(2, 2);
  Instruction &i = form.instruction;
  const PtxOperand &target = form.operand(0), &value = form.operand(1);
  if (type == Type::Pred) {
    bool isNegated = false;
    i.a = form.readPredicate(value, isNegated);
    i.d = form.writePredicate(target.name);
    i.detail = isNegated;
    form.isMove = true;
    return form.use(kMove, runMovePredicate);
  }
  if (target.kind == PtxOperand::Kind::Vector || value.kind == PtxOperand::Kind::Vector)
    return decodePacking(form, type, value.kind == PtxOperand::Kind::Vector);
  const bool isWide = bitsOf(type) == 64;
  if (value.name == "%clock" || value.name == "%clock_hi" || value.name == "%clock64" || value.name == "%globaltimer" ||
      value.name == "%globaltimer_lo") {
    i.d = form.write(target, type);
    return form.use(kMove, isWide ? runClock<uint64_t> : runClock<uint32_t>);
  }
  if (bitsOf(type) < 16)
    return form.fail("its type is not known");
  i.a = form.read(value, type);
  i.d = form.write(target, type);
  form.isMove = true;
  form.use(kMove, isWide ? runMove<uint64_t> : runMove<uint32_t>);
}

// Shared and local memory are windows of the generic addresses; for the others both are equal.
uint64_t windowOf(Form &form) {
  if (form.take("shared") || form.take("shared::cta") || form.take("shared::cluster"))
    return kSharedWindow;
  if (form.take("local"))
    return kLocalWindow;
  if (!form.take("global") && !form.take("const") && !form.take("param") && !form.take("param::entry"))
    form.fail("its state space is missing");
  return 0;
}

Flow runAddWindow(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint64_t *a = warp.doubleWords(i.a);
  alignas(64) uint64_t result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    result[lane] = a[lane] + uint64_t(i.immediate);
  storeLanes<uint64_t>(warp, i.d, result, mask);
  return Flow::Next;
}

void decodeCvta(Form &form) {
  const bool isToSpace = form.take("to");
  const uint64_t window = windowOf(form);
  if (!form.take("u64"))
    return form.fail("only .u64 is known");
  form.standard(Type::U64, {Type::U64});
  form.instruction.immediate = isToSpace ? -int64_t(window) : int64_t(window);
  form.use(kMove, window == 0 ? runMove<uint64_t> : runAddWindow);
}

Flow runIsInSpace(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t truth = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint64_t address = warp.doubleWords(i.a)[lane];
    const uint64_t window = address - kSharedWindow < kWindowBytes  ? kSharedWindow
                            : address - kLocalWindow < kWindowBytes ? kLocalWindow
                                                                    : 0;
    truth |= uint32_t(window == uint64_t(i.immediate)) << lane;
  }
  warp.setPredicate(i.d, truth, mask);
  return Flow::Next;
}

void decodeIsspacep(Form &form) {
  form.instruction.immediate = int64_t(windowOf(form));
  form.expectOperands(2, 2);
  form.instruction.a = form.read(form.operand(1), Type::U64);
  form.instruction.d = form.writePredicate(form.operand(0).name);
  form.use(kMove, runIsInSpace);
}

} // namespace

const OpcodeTable &moveOpcodes() {
  static const OpcodeTable kTable = {{"mov", decodeMov}, {"cvta", decodeCvta}, {"isspacep", decodeIsspacep}};
  return kTable;
}

} // namespace attnc::emulator

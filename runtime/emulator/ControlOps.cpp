// bra, brx, call, ret, exit, trap, and what does nothing. A call is a jump that leaves the
// return address in a register of the function, so functions must not recurse.
#include "runtime/emulator/Form.h"
#include "runtime/emulator/Lanes.h"
#include "runtime/emulator/ProgramBuilder.h"

namespace attnc::emulator {

namespace {

Flow runBranch(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.moveTo(mask, int32_t(i.immediate));
  return Flow::Jump;
}

void decodeBranch(Form &form) {
  form.take("uni");
  form.expectOperands(1, 1);
  form.builder.jumpTo(form.operand(0).name);
  if (form.source.guard.empty())
    form.builder.endsPath();
  form.use(InstructionClass::Branch, runBranch);
}

// Moves the lanes to their targets, which may differ.
template <typename TargetOf> void scatter(Warp &warp, uint32_t mask, TargetOf targetOf) {
  const int32_t next = warp.pc + 1;
  const uint32_t rest = warp.active & ~mask;
  warp.active = 0;
  for (uint32_t left = mask; left != 0;) {
    const int32_t target = targetOf(std::countr_zero(left));
    uint32_t same = 0;
    forLanes(left, [&](int lane) { same |= uint32_t(targetOf(lane) == target) << lane; });
    warp.park({target, same});
    left &= ~same;
  }
  if (rest != 0)
    warp.park({next, rest});
  warp.takeLowest();
}

Flow runIndexedBranch(Warp &warp, const Instruction &i, uint32_t mask) {
  const int32_t *table = warp.cta->machine->program->tables.data() + i.operands;
  const uint32_t *indices = warp.words(i.a);
  uint32_t outside = 0;
  forLanes(mask, [&](int lane) { outside |= uint32_t(indices[lane] >= i.detail) << lane; });
  if (outside != 0) {
    warp.cta->machine->report(FindingKind::OutOfBounds, warp, firstLane(outside), i,
                              "index " + std::to_string(indices[firstLane(outside)]) + " of a branch table with " +
                                  std::to_string(i.detail) + " entries");
    warp.endLanes(outside);
    mask &= ~outside;
    if (mask == 0)
      return Flow::Exit;
  }
  scatter(warp, mask, [&](int lane) { return table[indices[lane]]; });
  return Flow::Jump;
}

void decodeIndexedBranch(Form &form) {
  if (!form.take("idx"))
    return form.fail("only brx.idx is known");
  form.take("uni");
  form.expectOperands(2, 2);
  Instruction &i = form.instruction;
  i.a = form.read(form.operand(0), Type::U32);
  if (!form.builder.branchTable(form.operand(1).name, i.operands, i.detail) || i.detail == 0)
    return form.fail("its table of targets is not known");
  if (form.source.guard.empty())
    form.builder.endsPath();
  form.use(InstructionClass::Branch, runIndexedBranch);
}

void copyParameters(Warp &warp, uint32_t table, uint32_t mask) {
  const std::vector<int32_t> &tables = warp.cta->machine->program->tables;
  const size_t frame = warp.local.size() / kLanes;
  const auto count = size_t(tables[table]);
  for (size_t k = 0; k < count; ++k) {
    const int32_t *copy = tables.data() + table + 1 + 3 * k;
    forLanes(mask, [&](int lane) {
      uint8_t *base = warp.local.data() + frame * size_t(lane);
      std::memmove(base + copy[1], base + copy[0], size_t(copy[2]));
    });
  }
}

Flow runCall(Warp &warp, const Instruction &i, uint32_t mask) {
  copyParameters(warp, i.operands, mask);
  const int32_t back = warp.pc + 1;
  forLanes(mask, [&](int lane) { warp.words(i.d)[lane] = uint32_t(back); });
  warp.moveTo(mask, int32_t(i.immediate));
  return Flow::Jump;
}

// Stands behind each call; the callee's results are where its call left the table.
Flow runTakeResults(Warp &warp, const Instruction &i, uint32_t mask) {
  copyParameters(warp, i.detail, mask);
  return Flow::Next;
}

void decodeCall(Form &form) {
  form.take("uni");
  form.expectOperands(1, 4);
  size_t index = 0;
  const PtxOperand *results = nullptr, *arguments = nullptr;
  if (form.operand(index).kind == PtxOperand::Kind::Vector)
    results = &form.operand(index++);
  const PtxOperand &callee = form.operand(index++);
  if (index < form.operandCount() && form.operand(index).kind == PtxOperand::Kind::Vector)
    arguments = &form.operand(index++);
  if (callee.kind != PtxOperand::Kind::Name || index != form.operandCount())
    return form.fail("calls through pointers are not known");
  form.use(InstructionClass::Branch, runCall);
  form.builder.call(form, results, callee.name, arguments);
  Instruction take;
  take.guard = form.instruction.guard;
  take.isGuardNegated = form.instruction.isGuardNegated;
  take.kind = InstructionClass::Branch;
  take.handler = runTakeResults;
  take.detail = form.instruction.detail;
  form.followUp = take;
}

Flow runReturn(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint32_t *back = warp.words(i.d);
  scatter(warp, mask, [&](int lane) { return int32_t(back[lane]); });
  return Flow::Jump;
}

Flow runExit(Warp &warp, const Instruction &, uint32_t mask) {
  warp.endLanes(mask);
  return Flow::Exit;
}

void decodeReturn(Form &form) {
  form.take("uni");
  form.expectOperands(0, 0);
  if (form.source.guard.empty())
    form.builder.endsPath();
  if (form.base() == "exit" || form.builder.isInKernel())
    return form.use(InstructionClass::Branch, runExit);
  form.instruction.d = form.builder.returnSlotValue();
  form.use(InstructionClass::Branch, runReturn);
}

Flow runTrap(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.cta->machine->report(FindingKind::Trap, warp, firstLane(mask), i, "the kernel ended itself");
  warp.cta->machine->isStopped = true;
  return Flow::Exit;
}

void decodeTrap(Form &form) {
  form.expectOperands(0, 0);
  form.use(InstructionClass::Other, runTrap);
}

Flow runNothing(Warp &, const Instruction &, uint32_t) { return Flow::Next; }

// Fences order a warp's accesses, which the emulator never reorders; the checker lets the lanes
// of a warp see each other's accesses after one.
Flow runFence(Warp &warp, const Instruction &, uint32_t) {
  ++warp.epoch;
  return Flow::Next;
}

void decodeFence(Form &form) {
  form.takeAny({"sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "sys", "gl",
                "sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
  if (form.take("proxy"))
    form.takeAny({"async", "alias", "async::generic", "global", "shared::cta", "shared::cluster", "async.global"});
  form.take("proxy::async");
  form.take("mbarrier_init");
  form.expectOperands(0, 0);
  form.use(InstructionClass::Barrier, runFence);
}

void decodeIgnored(Form &form) {
  form.takeAny({"u32", "event"});
  form.expectOperands(0, 1);
  if (form.base() != "pmevent" && form.operandCount() == 1 && form.operand(0).kind == PtxOperand::Kind::Name)
    form.read(form.operand(0), Type::U32);
  form.use(InstructionClass::Other, runNothing);
}

} // namespace

const OpcodeTable &controlOpcodes() {
  static const OpcodeTable kTable = {{"bra", decodeBranch},        {"brx", decodeIndexedBranch}, {"call", decodeCall},
                                     {"ret", decodeReturn},        {"exit", decodeReturn},       {"trap", decodeTrap},
                                     {"brkpt", decodeTrap},        {"membar", decodeFence},      {"fence", decodeFence},
                                     {"nanosleep", decodeIgnored}, {"pmevent", decodeIgnored}};
  return kTable;
}

} // namespace attnc::emulator

// setmaxnreg: warpgroups hand registers to each other through the CTA's pool. How many a kernel
// starts with is ptxas' choice; taken is the most that the launch allows, as kernels that use the
// instruction are built.
#include <algorithm>

#include "runtime/emulator/Form.h"
#include "runtime/emulator/Warpgroups.h"

namespace attnc::emulator {

namespace {

constexpr int kLanesOfGroup = kWarpsOfGroup * kLanes;

int registersAtStart(const Launch &launch) {
  const uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  return int(std::min(256U, 65536 / threads / 8 * 8));
}

int registersOf(const Cta &cta, const Warpgroup &group) {
  return group.registers > 0 ? group.registers : registersAtStart(*cta.machine->launch);
}

// Takes what the group asks for; false while the pool has too little.
bool takeRegisters(Cta &cta, Warpgroup &group, int wanted) {
  const int64_t more = int64_t(std::max(0, wanted - registersOf(cta, group))) * kLanesOfGroup;
  if (more > cta.hopper->freeRegisters)
    return false;
  cta.hopper->freeRegisters -= more;
  group.registers = std::max(wanted, registersOf(cta, group));
  group.wanted = 0;
  return true;
}

void serveWaiting(Cta &cta) {
  std::vector<Warpgroup> &groups = cta.hopper->warpgroups;
  for (size_t index = 0; index < groups.size(); ++index)
    if (groups[index].wanted > 0 && takeRegisters(cta, groups[index], groups[index].wanted))
      wakeWarpgroup(&cta.warps[index * kWarpsOfGroup]);
}

Flow runDecrease(Warp &warp, const Instruction &i, uint32_t mask) {
  return meetWarpgroup(warp, i, mask, [&](Warpgroup &group, Warp *) {
    Cta &cta = *warp.cta;
    const int has = registersOf(cta, group);
    if (i.immediate > has)
      cta.machine->report(FindingKind::BarrierMisuse, warp, 0, i,
                          "the warpgroup has only " + std::to_string(has) + " registers a thread to decrease");
    else
      cta.hopper->freeRegisters += (has - i.immediate) * kLanesOfGroup;
    group.registers = int(std::min<int64_t>(has, i.immediate));
    serveWaiting(cta);
    return true;
  });
}

Flow runIncrease(Warp &warp, const Instruction &i, uint32_t mask) {
  return meetWarpgroup(warp, i, mask, [&](Warpgroup &group, Warp *) {
    group.wanted = int(i.immediate);
    return takeRegisters(*warp.cta, group, group.wanted);
  });
}

void decodeSetmaxnreg(Form &form) {
  const bool increases = form.take("inc");
  if ((!increases && !form.take("dec")) || !form.take("sync") || !form.take("aligned") || !form.take("u32"))
    return form.fail("its modifiers are not known");
  form.expectOperands(1, 1);
  const int64_t registers = form.needConstant(form.operand(0));
  if (registers < 24 || registers > 256 || registers % 8 != 0)
    return form.fail("the number of registers must be a multiple of 8 in 24 .. 256");
  form.instruction.immediate = registers;
  form.use(InstructionClass::Other, increases ? runIncrease : runDecrease);
}

} // namespace

const OpcodeTable &registerPoolOpcodes() {
  static const OpcodeTable kTable = {{"setmaxnreg", decodeSetmaxnreg}};
  return kTable;
}

} // namespace attnc::emulator

// wgmma: the four warps of a warpgroup meet at each instruction, as the hardware runs it once
// for all of them; one lane of the group may then release a buffer for all. Operands in shared
// memory are read by the warpgroup's engine, whose reads end for the checker at wait_group. The
// accumulators are written at once, but the checker takes them for busy until then.
#include <algorithm>

#include "runtime/emulator/Barriers.h"
#include "runtime/emulator/Hopper.h"
#include "runtime/emulator/Lanes.h"
#include "runtime/emulator/MemoryAccess.h"
#include "runtime/emulator/ProgramBuilder.h"
#include "runtime/emulator/WarpCollectives.h"
#include "runtime/emulator/Warpgroups.h"

namespace attnc::emulator {

namespace {

constexpr auto kWgmma = InstructionClass::Wgmma;

// `detail` of a product: n in the low nine bits, then these.
constexpr uint32_t kIsBrain = 1 << 9, kTransposesA = 1 << 10, kTransposesB = 1 << 11, kNegatesA = 1 << 12,
                   kNegatesB = 1 << 13, kIsAInRegisters = 1 << 14, kNegatesScale = 1 << 15;

void checkOperand(Warp &warp, const Instruction &i, const SharedShadow::Access &access, uint64_t bits, Major major,
                  int extent) {
  Result<MatrixDescriptor> descriptor = decodeDescriptor(bits);
  if (!descriptor)
    return; // runWgmma says so
  uint32_t pieces[512];
  operandPieces(*descriptor, major, extent, pieces);
  for (int k = 0; k < 2 * extent; ++k)
    if (!checkShared(warp, i, access, pieces[k], 16, false))
      return;
}

Flow runProduct(Warp &warp, const Instruction &i, uint32_t mask) {
  return meetWarpgroup(warp, i, mask, [&](Warpgroup &group, Warp *warps) {
    Cta &cta = *warp.cta;
    Machine &machine = *cta.machine;
    const int32_t *slots = machine.program->operands.data() + i.operands;
    Wgmma wgmma;
    wgmma.type = (i.detail & kIsBrain) != 0 ? HalfType::BF16 : HalfType::F16;
    wgmma.rounding = machine.rounding;
    wgmma.n = int(i.detail & 511);
    wgmma.isAccumulating = (warp.predicateOf(i.p, (i.detail & kNegatesScale) != 0) & 1) != 0;
    wgmma.isNegatingA = (i.detail & kNegatesA) != 0;
    wgmma.isNegatingB = (i.detail & kNegatesB) != 0;
    wgmma.isAInRegisters = (i.detail & kIsAInRegisters) != 0;
    wgmma.majorA = (i.detail & kTransposesA) != 0 ? Major::MN : Major::K;
    wgmma.majorB = (i.detail & kTransposesB) != 0 ? Major::MN : Major::K;
    wgmma.descriptorB = warp.doubleWords(i.b)[0];
    if (!wgmma.isAInRegisters)
      wgmma.descriptorA = warp.doubleWords(i.a)[0];
    float *accumulators[kWarpsOfGroup][128];
    for (int w = 0; w < kWarpsOfGroup; ++w) {
      for (int k = 0; k < wgmma.n / 2; ++k)
        accumulators[w][k] = warps[w].floats(slots[k]);
      wgmma.accumulators[w] = accumulators[w];
      for (int k = 0; k < 4 && wgmma.isAInRegisters; ++k)
        wgmma.registersA[w][k] = warps[w].words(slots[wgmma.n / 2 + k]);
    }
    ++group.time;
    if (warp.isChecked) {
      for (int w = 0; w < kWarpsOfGroup; ++w)
        startProduct(warps[w], i, group.time);
      std::vector<uint32_t> clock = warps[0].clock;
      for (int w = 1; w < kWarpsOfGroup; ++w)
        joinClock(clock, warps[w].clock);
      const int agent = cta.warpgroupAgent(warp.index / kWarpsOfGroup);
      clock[size_t(agent)] = group.time;
      const SharedShadow::Access access = {agent, clock.data(), SharedShadow::kManyLanes, 0};
      if (!wgmma.isAInRegisters)
        checkOperand(warp, i, access, wgmma.descriptorA, wgmma.majorA, 64);
      checkOperand(warp, i, access, wgmma.descriptorB, wgmma.majorB, wgmma.n);
    }
    if (Status status = runWgmma(wgmma, cta.shared); !status)
      machine.report(FindingKind::OutOfBounds, warp, 0, i, status.error().message);
    return true;
  });
}

Flow runFence(Warp &warp, const Instruction &i, uint32_t mask) {
  isWholeWarp(warp, i, mask);
  ++warp.wgmmaFences;
  return Flow::Next;
}

Flow runCommit(Warp &warp, const Instruction &i, uint32_t mask) {
  return meetWarpgroup(warp, i, mask, [](Warpgroup &group, Warp *) {
    group.commits.push_back(group.time);
    return true;
  });
}

Flow runWait(Warp &warp, const Instruction &i, uint32_t mask) {
  return meetWarpgroup(warp, i, mask, [&](Warpgroup &group, Warp *warps) {
    while (int64_t(group.commits.size()) > i.immediate) {
      group.done = group.commits.front();
      group.commits.pop_front();
    }
    const auto agent = size_t(warp.cta->warpgroupAgent(warp.index / kWarpsOfGroup));
    for (int w = 0; w < kWarpsOfGroup; ++w)
      warps[w].clock[agent] = std::max(warps[w].clock[agent], group.done);
    return true;
  });
}

// m64n128k16: the columns, or 0.
int columnsOf(std::string_view shape) {
  if (!shape.starts_with("m64n") || !shape.ends_with("k16") || shape.size() > 10)
    return 0;
  int columns = 0;
  for (char c : shape.substr(4, shape.size() - 7)) {
    if (c < '0' || c > '9')
      return 0;
    columns = 10 * columns + (c - '0');
  }
  return columns % 8 == 0 && columns <= 256 ? columns : 0;
}

bool takeSign(Form &form, const PtxOperand &operand) {
  const int64_t scale = form.needConstant(operand);
  if (scale != 1 && scale != -1)
    form.fail("a scale must be 1 or -1");
  return scale == -1;
}

void decodeProduct(Form &form) {
  const int n = columnsOf(form.takeNext());
  if (n == 0)
    return form.fail("its shape is not known");
  const Type d = form.type(), a = form.type(), b = form.type();
  if (d != Type::F32 || a != b || (a != Type::F16 && a != Type::BF16))
    return form.fail("its types are not known");
  Instruction &i = form.instruction;
  const bool isInRegisters = form.operand(1).kind == PtxOperand::Kind::Vector;
  const size_t count = isInRegisters ? 7 : 8;
  form.expectOperands(count, count);
  std::vector<int32_t> &operands = form.builder.output().operands;
  i.operands = uint32_t(operands.size());
  if (form.operand(0).elements.size() != size_t(n) / 2)
    return form.fail("it names another number of accumulators");
  for (const PtxOperand &element : form.operand(0).elements)
    operands.push_back(form.readWrite(element, Type::F32));
  if (isInRegisters) {
    if (form.operand(1).elements.size() != 4)
      return form.fail("A has four registers");
    for (const PtxOperand &element : form.operand(1).elements)
      operands.push_back(form.read(element, Type::B32));
  } else {
    i.a = form.read(form.operand(1), Type::B64);
  }
  i.b = form.read(form.operand(2), Type::B64);
  bool negatesScale = false;
  i.p = form.readPredicate(form.operand(3), negatesScale);
  i.detail = uint32_t(n) | (a == Type::BF16 ? kIsBrain : 0) | (isInRegisters ? kIsAInRegisters : 0) |
             (negatesScale ? kNegatesScale : 0);
  i.detail |= takeSign(form, form.operand(4)) ? kNegatesA : 0;
  i.detail |= takeSign(form, form.operand(5)) ? kNegatesB : 0;
  if (!isInRegisters)
    i.detail |= form.needConstant(form.operand(6)) != 0 ? kTransposesA : 0;
  i.detail |= form.needConstant(form.operand(count - 1)) != 0 ? kTransposesB : 0;
  // What scale-d discards need not have been written.
  form.isMove = true;
  form.isProduct = true;
  form.use(kWgmma, runProduct);
}

void decodeWgmma(Form &form) {
  if (!form.take("sync") || !form.take("aligned"))
    return form.fail("only .sync.aligned is known");
  if (form.take("mma_async"))
    return decodeProduct(form);
  if (form.take("wait_group")) {
    form.expectOperands(1, 1);
    form.instruction.immediate = form.needConstant(form.operand(0));
    return form.use(kWgmma, runWait);
  }
  form.expectOperands(0, 0);
  if (form.take("fence"))
    return form.use(kWgmma, runFence);
  if (form.take("commit_group"))
    return form.use(kWgmma, runCommit);
}

} // namespace

const OpcodeTable &wgmmaOpcodes() {
  static const OpcodeTable kTable = {{"wgmma", decodeWgmma}};
  return kTable;
}

} // namespace attnc::emulator

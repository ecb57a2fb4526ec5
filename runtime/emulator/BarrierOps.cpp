// bar and barrier: sync, arrive, red; and bar.warp.sync.
#include <algorithm>

#include "runtime/emulator/Barriers.h"
#include "runtime/emulator/Form.h"
#include "runtime/emulator/Lanes.h"
#include "runtime/emulator/WarpCollectives.h"

namespace attnc::emulator {

void joinClock(std::vector<uint32_t> &a, const std::vector<uint32_t> &b) {
  for (size_t agent = 0; agent < a.size(); ++agent)
    a[agent] = std::max(a[agent], b[agent]);
}

namespace {

enum class Reduction : uint32_t { None, Count, And, Or };

// Instruction: a the barrier, b the threads or -1, d and p the result of a reduction, c its
// predicate. `width` holds the reduction, `detail` the marks.
constexpr uint32_t kOnlyArrives = 1, kNegatesPredicate = 2;

void giveReduction(Warp &warp, const Barrier &barrier) {
  const Instruction &i = *warp.waitingAt;
  switch (Reduction(i.width)) {
  case Reduction::None:
    return;
  case Reduction::Count:
    forLanes(warp.waitingMask, [&](int lane) { warp.words(i.d)[lane] = barrier.trueThreads; });
    return;
  case Reduction::And:
    return warp.setPredicate(i.d, barrier.trueThreads == barrier.threads ? kAllLanes : 0, warp.waitingMask);
  case Reduction::Or:
    return warp.setPredicate(i.d, barrier.trueThreads > 0 ? kAllLanes : 0, warp.waitingMask);
  }
}

// An edge leaves the warp: what it does from now on is not covered by it.
void leaveEdge(Warp &warp) {
  ++warp.clock[size_t(warp.index)];
  ++warp.epoch;
}

Flow runBarrier(Warp &warp, const Instruction &i, uint32_t mask) {
  Cta &cta = *warp.cta;
  Machine &machine = *cta.machine;
  const int lane = firstLane(mask);
  const uint32_t index = warp.words(i.a)[lane];
  if (mask != warp.live)
    machine.report(FindingKind::BarrierDivergence, warp, lane, i,
                   "only " + std::to_string(std::popcount(mask)) + " of the warp's " +
                       std::to_string(std::popcount(warp.live)) + " live lanes are at the barrier");
  if (index >= cta.barriers.size()) {
    machine.report(FindingKind::BarrierMisuse, warp, lane, i, "there is no barrier " + std::to_string(index));
    return Flow::Next;
  }
  uint32_t expected = uint32_t(cta.liveWarps);
  if (i.b >= 0) {
    const uint32_t threads = warp.words(i.b)[lane];
    if (threads == 0 || threads % kLanes != 0 || threads / kLanes > cta.warps.size()) {
      machine.report(FindingKind::BarrierMisuse, warp, lane, i,
                     std::to_string(threads) + " threads are not whole warps of this CTA");
      return Flow::Next;
    }
    expected = threads / kLanes;
  }
  Barrier &barrier = cta.barriers[index];
  if (barrier.arrivals == 0) {
    barrier.expectedWarps = expected;
    barrier.countsAll = i.b < 0;
    barrier.trueThreads = barrier.threads = 0;
    std::ranges::fill(barrier.clock, 0);
  } else if (barrier.expectedWarps != expected) {
    machine.report(FindingKind::BarrierMisuse, warp, lane, i,
                   "barrier " + std::to_string(index) + " already waits for " + std::to_string(barrier.expectedWarps) +
                       " warps, not " + std::to_string(expected));
  }
  if ((barrier.arrivedWarps >> warp.index & 1) != 0)
    machine.report(FindingKind::BarrierMisuse, warp, lane, i,
                   "the warp arrives twice at barrier " + std::to_string(index));
  barrier.arrivedWarps |= uint64_t(1) << warp.index;
  ++barrier.arrivals;
  ++machine.profile.barriers;
  joinClock(barrier.clock, warp.clock);
  if (i.c >= 0) {
    const uint32_t truth = warp.predicateOf(i.c, i.detail & kNegatesPredicate);
    barrier.trueThreads += uint32_t(std::popcount(truth & mask));
    barrier.threads += uint32_t(std::popcount(mask));
  }
  ++machine.events;
  if ((i.detail & kOnlyArrives) != 0) {
    leaveEdge(warp);
    releaseIfComplete(cta, int(index));
    return Flow::Next;
  }
  barrier.waiting |= uint64_t(1) << warp.index;
  warp.state = Warp::State::Blocked;
  warp.waitingAt = &i;
  warp.waitingMask = mask;
  warp.waitingBarrier = int(index);
  releaseIfComplete(cta, int(index));
  return Flow::Block;
}

void decodeBarrier(Form &form) {
  if (form.take("warp")) {
    form.take("sync");
    form.expectOperands(1, 1);
    form.instruction.a = form.read(form.operand(0), Type::B32);
    return form.use(InstructionClass::Barrier, [](Warp &warp, const Instruction &i, uint32_t mask) {
      forMembers(warp, i, mask, warp.words(i.a), [](uint32_t) {});
      ++warp.epoch;
      return Flow::Next;
    });
  }
  form.takeAny({"cta", "aligned"});
  Instruction &i = form.instruction;
  const bool arrives = form.take("arrive"), reduces = form.take("red");
  if (!arrives && !reduces && !form.take("sync"))
    return form.fail(".sync, .arrive or .red is missing");
  size_t at = 0;
  if (reduces) {
    const bool counts = form.take("popc"), isAnd = form.take("and");
    if (!counts && !isAnd && !form.take("or"))
      return form.fail("its reduction is not known");
    i.width = uint8_t(counts ? Reduction::Count : isAnd ? Reduction::And : Reduction::Or);
    form.take(counts ? "u32" : "pred");
    form.expectOperands(3, 4);
    i.d = counts ? form.write(form.operand(0), Type::U32) : form.writePredicate(form.operand(0).name);
    bool isNegated = false;
    i.c = form.readPredicate(form.operand(form.operandCount() - 1), isNegated);
    i.detail = isNegated ? kNegatesPredicate : 0;
    at = 1;
  } else {
    i.width = uint8_t(Reduction::None);
    i.detail = arrives ? kOnlyArrives : 0;
    form.expectOperands(arrives ? 2 : 1, 2);
  }
  i.a = form.read(form.operand(at), Type::B32);
  const bool hasThreads = form.operandCount() > (reduces ? 3U : 1U);
  if (hasThreads)
    i.b = form.read(form.operand(at + 1), Type::B32);
  form.use(InstructionClass::Barrier, runBarrier);
}

} // namespace

void releaseIfComplete(Cta &cta, int index) {
  Barrier &barrier = cta.barriers[size_t(index)];
  if (barrier.arrivals == 0)
    return;
  if (barrier.countsAll)
    barrier.expectedWarps = uint32_t(cta.liveWarps);
  if (barrier.arrivals < barrier.expectedWarps)
    return;
  for (Warp &warp : cta.warps) {
    if ((barrier.waiting >> warp.index & 1) == 0)
      continue;
    giveReduction(warp, barrier);
    joinClock(warp.clock, barrier.clock);
    leaveEdge(warp);
    warp.state = Warp::State::Ready;
    warp.waitingAt = nullptr;
    warp.waitingBarrier = -1;
  }
  barrier.waiting = barrier.arrivedWarps = 0;
  barrier.arrivals = 0;
  ++cta.machine->events;
}

const OpcodeTable &barrierOpcodes() {
  static const OpcodeTable kTable = {{"bar", decodeBarrier}, {"barrier", decodeBarrier}};
  return kTable;
}

} // namespace attnc::emulator

// mbarrier: init, inval, arrive, expect_tx, test_wait, try_wait; and griddepcontrol, which has no
// effect here.
#include "runtime/emulator/AsyncCopies.h"
#include "runtime/emulator/Barriers.h"
#include "runtime/emulator/Hopper.h"
#include "runtime/emulator/Lanes.h"
#include "runtime/emulator/MemoryDecode.h"

namespace attnc::emulator {

Mbarrier *mbarrierAt(Warp &warp, const Instruction &i, int lane, uint64_t address) {
  if (address - kSharedWindow < kWindowBytes)
    address -= kSharedWindow;
  auto &all = warp.cta->hopper->mbarriers;
  const auto found = address > UINT32_MAX ? all.end() : all.find(uint32_t(address));
  if (found != all.end())
    return &found->second;
  warp.cta->machine->report(FindingKind::BarrierMisuse, warp, lane, i,
                            "there is no initialised mbarrier at shared address " + std::to_string(address));
  return nullptr;
}

void completePhase(Cta &cta, Mbarrier &mbarrier) {
  if (mbarrier.pending != 0 || mbarrier.bytes != 0)
    return;
  ++mbarrier.phase;
  mbarrier.pending = mbarrier.count;
  mbarrier.doneClock = mbarrier.clock;
  ++cta.machine->events;
}

void arrive(Warp &warp, const Instruction &i, int lane, Mbarrier &mbarrier, uint32_t count) {
  Machine &machine = *warp.cta->machine;
  if (count > mbarrier.pending)
    return machine.report(FindingKind::BarrierMisuse, warp, lane, i,
                          "more arrivals at the mbarrier than the " + std::to_string(mbarrier.count) + " of its phase");
  joinClock(mbarrier.clock, warp.clock);
  mbarrier.pending -= count;
  ++machine.events;
  completePhase(*warp.cta, mbarrier);
}

namespace {

// `body(lane, mbarrier)` for each lane whose address is that of one; the others are reported.
template <typename Body> void forMbarriers(Warp &warp, const Instruction &i, uint32_t mask, Body body) {
  uint64_t addresses[kLanes];
  gatherAddresses(warp, i, addresses);
  forLanes(mask, [&](int lane) {
    if (Mbarrier *mbarrier = mbarrierAt(warp, i, lane, addresses[lane]))
      body(lane, *mbarrier);
  });
}

constexpr auto kMbarrier = InstructionClass::Mbarrier;

Flow runInit(Warp &warp, const Instruction &i, uint32_t mask) {
  Cta &cta = *warp.cta;
  uint64_t addresses[kLanes];
  gatherAddresses(warp, i, addresses);
  forLanes(mask, [&](int lane) {
    uint8_t *at = bytesAt(warp, i, lane, addresses[lane], 8, AccessKind::Write, 8);
    const uint32_t count = warp.words(i.b)[lane];
    if (at == nullptr)
      return;
    if (count == 0 || count > (1U << 20) - 1)
      return cta.machine->report(FindingKind::BarrierMisuse, warp, lane, i,
                                 "an mbarrier cannot count " + std::to_string(count) + " arrivals");
    Mbarrier mbarrier;
    mbarrier.count = mbarrier.pending = count;
    mbarrier.clock.assign(size_t(cta.agents()), 0);
    mbarrier.doneClock = warp.clock;
    cta.hopper->mbarriers[uint32_t(at - cta.shared.data())] = std::move(mbarrier);
  });
  ++cta.machine->events;
  return Flow::Next;
}

Flow runInvalidate(Warp &warp, const Instruction &i, uint32_t mask) {
  uint64_t addresses[kLanes];
  gatherAddresses(warp, i, addresses);
  forLanes(mask, [&](int lane) {
    if (mbarrierAt(warp, i, lane, addresses[lane]) != nullptr)
      warp.cta->hopper->mbarriers.erase(uint32_t(addresses[lane]));
  });
  return Flow::Next;
}

// `width` is a set of these; b has the bytes, c the count or -1.
enum Steps : uint8_t { kExpects = 1, kArrives = 2 };

Flow runArrive(Warp &warp, const Instruction &i, uint32_t mask) {
  forMbarriers(warp, i, mask, [&](int lane, Mbarrier &mbarrier) {
    if (i.d >= 0) // the state is the phase that the arrival belongs to
      warp.doubleWords(i.d)[lane] = mbarrier.phase;
    if ((i.width & kExpects) != 0)
      mbarrier.bytes += warp.words(i.b)[lane];
    if ((i.width & kArrives) != 0)
      arrive(warp, i, lane, mbarrier, i.c < 0 ? 1 : warp.words(i.c)[lane]);
  });
  ++warp.clock[size_t(warp.index)];
  return Flow::Next;
}

// b has the parity, or the state that arrive gave (`width` 0).
Flow runWait(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t done = 0;
  forMbarriers(warp, i, mask, [&](int lane, const Mbarrier &mbarrier) {
    const bool isDone = i.width != 0 ? (mbarrier.phase & 1) != (warp.words(i.b)[lane] & 1)
                                     : mbarrier.phase != warp.doubleWords(i.b)[lane];
    if (!isDone)
      return;
    done |= 1U << lane;
    joinClock(warp.clock, mbarrier.doneClock);
  });
  warp.setPredicate(i.d, done, mask);
  if (done != 0)
    ++warp.epoch;
  return done == mask ? Flow::Next : Flow::Yield;
}

void decodeArriveForm(Form &form, bool hasToken, bool expects, bool arrives) {
  Instruction &i = form.instruction;
  const size_t first = hasToken ? 1 : 0;
  form.expectOperands(first + (expects ? 2U : 1U), first + 2);
  placeAddress(form, form.operand(first), Space::Shared);
  if (expects)
    i.b = form.read(form.operand(first + 1), Type::B32);
  else if (form.operandCount() > first + 1)
    i.c = form.read(form.operand(first + 1), Type::B32);
  if (hasToken)
    i.d = form.writeOrSink(form.operand(0), Type::B64);
  i.width = uint8_t((expects ? kExpects : 0) | (arrives ? kArrives : 0));
  form.use(kMbarrier, runArrive);
}

void decodeWait(Form &form) {
  const bool isParity = form.take("parity");
  form.expectOperands(3, 4);
  Instruction &i = form.instruction;
  placeAddress(form, form.operand(1), Space::Shared);
  i.b = form.read(form.operand(2), isParity ? Type::B32 : Type::B64);
  i.d = form.writePredicate(form.operand(0).name);
  if (form.operandCount() == 4) // how long to sleep
    form.read(form.operand(3), Type::B32);
  i.width = isParity;
  form.use(kMbarrier, runWait);
}

void decodeMbarrier(Form &form) {
  takeStrength(form);
  const Space space = takeSpace(form);
  if (space != Space::Shared && space != Space::Generic)
    return form.fail("mbarriers lie in shared memory");
  if (!form.take("b64"))
    return form.fail(".b64 is missing");
  if (form.take("init")) {
    form.expectOperands(2, 2);
    placeAddress(form, form.operand(0), Space::Shared);
    form.instruction.b = form.read(form.operand(1), Type::B32);
    return form.use(kMbarrier, runInit);
  }
  if (form.take("inval")) {
    form.expectOperands(1, 1);
    placeAddress(form, form.operand(0), Space::Shared);
    return form.use(kMbarrier, runInvalidate);
  }
  const bool arrives = form.take("arrive"), expects = form.take("expect_tx");
  if (arrives || expects)
    return decodeArriveForm(form, arrives, expects, arrives);
  if (form.take("test_wait") || form.take("try_wait"))
    return decodeWait(form);
  form.fail("its operation is not known");
}

Flow runNothing(Warp &, const Instruction &, uint32_t) { return Flow::Next; }

// Launches do not overlap here.
void decodeGridDependency(Form &form) {
  form.takeAny({"wait", "launch_dependents"});
  form.expectOperands(0, 0);
  form.use(InstructionClass::Other, runNothing);
}

} // namespace

// The copies that the warp has started land now, which is one of the moments they may land at,
// and the arrival is theirs.
void decodeArriveOfCopies(Form &form) {
  const bool isCounted = form.take("noinc");
  if (!form.take("arrive") || !form.take("b64"))
    return form.fail("only cp.async.mbarrier.arrive.b64 is known");
  form.takeAny({"shared", "shared::cta"});
  form.expectOperands(1, 1);
  placeAddress(form, form.operand(0), Space::Shared);
  form.instruction.width = isCounted;
  form.use(kMbarrier, [](Warp &warp, const Instruction &i, uint32_t mask) {
    landAllCopies(warp);
    forMbarriers(warp, i, mask, [&](int lane, Mbarrier &mbarrier) {
      // Without .noinc the phase waits for one arrival more, which is this one.
      if (i.width != 0)
        return arrive(warp, i, lane, mbarrier, 1);
      joinClock(mbarrier.clock, warp.clock);
    });
    ++warp.clock[size_t(warp.index)];
    return Flow::Next;
  });
}

const OpcodeTable &mbarrierOpcodes() {
  static const OpcodeTable kTable = {{"mbarrier", decodeMbarrier}, {"griddepcontrol", decodeGridDependency}};
  return kTable;
}

} // namespace attnc::emulator

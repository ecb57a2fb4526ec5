// cp.async with its groups. A copy is started, and lands when the policy says so: at the wait
// that needs it, at once, or at a random moment between. The shared bytes are written, for the
// checker too, when it lands.
#include <algorithm>

#include "runtime/emulator/AsyncCopies.h"
#include "runtime/emulator/Form.h"
#include "runtime/emulator/Hopper.h"
#include "runtime/emulator/Lanes.h"
#include "runtime/emulator/MemoryDecode.h"

namespace attnc::emulator {

namespace {

constexpr auto kCopy = InstructionClass::AsyncCopy;

void land(Warp &warp, AsyncBatch &batch) {
  if (batch.hasLanded)
    return;
  batch.hasLanded = true;
  Cta &cta = *warp.cta;
  const SharedShadow::Access access = {cta.copyAgent(warp), batch.clock.data(), SharedShadow::kManyLanes, 0};
  forLanes(batch.mask, [&](int lane) {
    if (!checkShared(warp, *batch.instruction, access, batch.target[size_t(lane)], batch.bytes, true))
      return;
    uint8_t *to = cta.shared.data() + batch.target[size_t(lane)];
    const size_t bytes = batch.sourceBytes[size_t(lane)];
    const auto *from = reinterpret_cast<const void *>(batch.source[size_t(lane)]); // NOLINT(performance-no-int-to-ptr)
    if (bytes > 0)                                                                 // else the address may be any
      std::memcpy(to, from, bytes);
    std::memset(to + bytes, 0, batch.bytes - bytes);
  });
  ++cta.machine->events;
}

AsyncBatch &startBatch(Warp &warp) {
  AsyncCopies &copies = warp.copies;
  if (copies.spare.empty()) {
    copies.pending.emplace_back();
  } else {
    copies.pending.push_back(std::move(copies.spare.back()));
    copies.spare.pop_back();
  }
  ++copies.uncommitted;
  return copies.pending.back();
}

// a and immediate give the target, b and the entry of `tables` the source, c the bytes to read
// or -1 for all, p the lanes that read none.
Flow runCopy(Warp &warp, const Instruction &i, uint32_t mask) {
  Cta &cta = *warp.cta;
  alignas(64) uint64_t targets[kLanes], sources[kLanes];
  gatherAddresses(warp, i, targets);
  const int64_t sourceOffset = cta.machine->program->tables[i.operands];
  const uint32_t bytes = i.width;
  AsyncBatch &batch = startBatch(warp);
  batch.mask = 0;
  batch.bytes = uint8_t(bytes);
  batch.instruction = &i;
  batch.hasLanded = false;
  for (int lane = 0; lane < kLanes; ++lane)
    sources[lane] = warp.doubleWords(i.b)[lane] + uint64_t(sourceOffset);
  const uint32_t ignored = i.p < 0 ? 0 : warp.predicate(i.p);
  uint32_t reading = 0;
  forLanes(mask, [&](int lane) {
    const auto at = size_t(lane);
    if (targets[lane] % bytes != 0 || targets[lane] > cta.shared.size() || bytes > cta.shared.size() - targets[lane]) {
      sharedBytes(warp, i, lane, targets[lane], bytes, AccessKind::Write, bytes); // makes the finding
      return;
    }
    uint32_t wanted = i.c < 0 ? bytes : std::min(bytes, warp.words(i.c)[lane]);
    if ((ignored >> lane & 1) != 0)
      wanted = 0;
    if (wanted > 0 && globalBytes(warp, i, lane, sources[lane], wanted, AccessKind::Read, bytes) == nullptr)
      wanted = 0;
    reading |= uint32_t(wanted > 0) << lane;
    batch.mask |= 1U << lane;
    batch.target[at] = uint32_t(targets[lane]);
    batch.source[at] = sources[lane];
    batch.sourceBytes[at] = uint8_t(wanted);
  });
  if (cta.machine->options.profile) {
    countWavefronts(cta.machine->profile, targets, mask, bytes);
    if (reading != 0)
      countSectors(cta.machine->profile, sources, reading, bytes);
  }
  if (warp.isChecked) {
    batch.clock = warp.clock;
    batch.clock[size_t(cta.copyAgent(warp))] = ++warp.copies.issued;
    ++warp.clock[size_t(warp.index)]; // what the warp does next is not before the copy
  }
  if (cta.machine->options.async == AsyncPolicy::Eager)
    land(warp, batch);
  return Flow::Next;
}

Flow runCommit(Warp &warp, const Instruction &, uint32_t) {
  warp.copies.groups.push_back(warp.copies.uncommitted);
  warp.copies.uncommitted = 0;
  return Flow::Next;
}

void finishOldest(Warp &warp, size_t batches) {
  AsyncCopies &copies = warp.copies;
  const auto agent = size_t(warp.cta->copyAgent(warp));
  for (size_t k = 0; k < batches; ++k) {
    AsyncBatch &batch = copies.pending.front();
    land(warp, batch);
    if (warp.isChecked)
      warp.clock[agent] = std::max(warp.clock[agent], batch.clock[agent]);
    copies.spare.push_back(std::move(batch));
    copies.pending.pop_front();
  }
}

Flow runWaitGroup(Warp &warp, const Instruction &i, uint32_t) {
  while (int64_t(warp.copies.groups.size()) > i.immediate) {
    finishOldest(warp, warp.copies.groups.front());
    warp.copies.groups.pop_front();
  }
  return Flow::Next;
}

Flow runWaitAll(Warp &warp, const Instruction &, uint32_t) {
  landAllCopies(warp);
  return Flow::Next;
}

void decodeCopy(Form &form) {
  const bool isGlobalCaching = form.take("cg");
  if (!isGlobalCaching && !form.take("ca"))
    return form.fail(".ca or .cg is missing");
  if ((!form.take("shared") && !form.take("shared::cta")) || !form.take("global"))
    return form.fail("it copies from .global to .shared");
  const bool hasPolicy = form.take("L2::cache_hint");
  takeCacheHints(form);
  form.expectOperands(3, 5);
  Instruction &i = form.instruction;
  placeAddress(form, form.operand(0), Space::Shared);
  const Form::Address source = form.address(form.operand(1), Space::Global);
  if (source.slot < 0 || source.bits != 64)
    return form.fail("its source is not a global address");
  i.b = source.slot;
  std::vector<int32_t> &tables = form.tables();
  i.operands = uint32_t(tables.size());
  if (source.offset != int32_t(source.offset))
    return form.fail("its offset is too large");
  tables.push_back(int32_t(source.offset));
  const int64_t bytes = form.needConstant(form.operand(2));
  if (bytes != 16 && (isGlobalCaching || (bytes != 4 && bytes != 8)))
    return form.fail("its size is not known");
  i.width = uint8_t(bytes);
  size_t at = 3;
  if (form.operandCount() > at + size_t(hasPolicy)) {
    const PtxOperand &operand = form.operand(at++);
    if (form.isPredicate(operand)) {
      bool isNegated = false;
      i.p = form.readPredicate(operand, isNegated);
      if (isNegated)
        return form.fail("a negated predicate is not known here");
    } else {
      i.c = form.read(operand, Type::B32);
    }
  }
  if (hasPolicy)
    form.read(form.operand(at++), Type::B64);
  if (at != form.operandCount())
    return form.fail("it has too many operands");
  form.use(kCopy, runCopy);
}

void decodeCp(Form &form) {
  if (!form.take("async"))
    return form.fail("only cp.async is known");
  if (form.take("bulk"))
    return decodeBulkCopy(form);
  if (form.take("mbarrier"))
    return decodeArriveOfCopies(form);
  if (form.take("commit_group")) {
    form.expectOperands(0, 0);
    return form.use(kCopy, runCommit);
  }
  if (form.take("wait_all")) {
    form.expectOperands(0, 0);
    return form.use(kCopy, runWaitAll);
  }
  if (form.take("wait_group")) {
    form.expectOperands(1, 1);
    form.instruction.immediate = form.needConstant(form.operand(0));
    return form.use(kCopy, runWaitGroup);
  }
  decodeCopy(form);
}

} // namespace

void landAllCopies(Warp &warp) {
  finishOldest(warp, warp.copies.pending.size());
  warp.copies.groups.clear();
  warp.copies.uncommitted = 0;
}

void landSomeCopy(Warp &warp) {
  Machine &machine = *warp.cta->machine;
  auto &pending = warp.copies.pending;
  if (!pending.empty() && machine.flip())
    land(warp, pending[machine.random() % pending.size()]);
}

const OpcodeTable &asyncCopyOpcodes() {
  static const OpcodeTable kTable = {{"cp", decodeCp}};
  return kTable;
}

} // namespace attnc::emulator

// cp.async.bulk: boxes of tensors and plain bytes between global and shared memory. Copies into
// shared memory wait in the CTA's queue and land by the policy, each time with a bulk engine's
// clock, and count down their mbarrier's bytes. Copies out of shared memory are done at once;
// for the checker their reads end at the wait that covers them.
#include <algorithm>

#include "runtime/emulator/Barriers.h"
#include "runtime/emulator/Hopper.h"
#include "runtime/emulator/Lanes.h"
#include "runtime/emulator/MemoryDecode.h"
#include "runtime/emulator/ProgramBuilder.h"

namespace attnc::emulator {

namespace {

constexpr auto kBulk = InstructionClass::BulkCopy;

// `detail`, beside the address' bits.
constexpr uint32_t kIsTensor = 16;

SharedShadow::Access bulkAccess(int agent, const std::vector<uint32_t> &clock) {
  return {agent, clock.data(), SharedShadow::kManyLanes, 0};
}

// The tensor map at a lane's address, with the lane's coordinates.
bool readBox(Warp &warp, const Instruction &i, int lane, TensorMap &map,
             std::array<int32_t, kMaxTmaRank> &coordinates) {
  Machine &machine = *warp.cta->machine;
  const uint8_t *bytes =
      genericBytes(warp, i, lane, warp.doubleWords(i.b)[lane], kTensorMapBytes, AccessKind::Read, 64);
  if (bytes == nullptr)
    return false;
  Result<TensorMap> decoded = decodeTensorMap(bytes);
  if (!decoded) {
    machine.report(FindingKind::BarrierMisuse, warp, lane, i, decoded.error().message);
    return false;
  }
  map = *decoded;
  if (map.rank != i.width) {
    machine.report(FindingKind::BarrierMisuse, warp, lane, i,
                   "the tensor map has " + std::to_string(map.rank) + " dimensions");
    return false;
  }
  const int32_t *slots = machine.program->operands.data() + i.operands;
  for (uint32_t axis = 0; axis < map.rank; ++axis)
    coordinates[axis] = int32_t(warp.words(slots[axis])[lane]);
  return true;
}

// Both ends' bounds of one box, before anything is copied.
bool isBoxInside(Warp &warp, const Instruction &i, int lane, const TensorMap &map,
                 const std::array<int32_t, kMaxTmaRank> &coordinates, uint32_t address, AccessKind kind) {
  Machine &machine = *warp.cta->machine;
  const std::span<const int32_t> span(coordinates.data(), map.rank);
  if (address % kBoxAlignment != 0) {
    machine.report(FindingKind::Misaligned, warp, lane, i,
                   "a box's shared address " + std::to_string(address) + " is not a multiple of " +
                       std::to_string(kBoxAlignment));
    return false;
  }
  if (Status status = checkBox(map, span, warp.cta->shared.size(), address); !status) {
    machine.report(FindingKind::OutOfBounds, warp, lane, i, status.error().message);
    return false;
  }
  bool isInside = true;
  visitBox(map, span, address, [&](const BoxPiece &piece) {
    if (isInside && piece.end > piece.begin)
      isInside = globalBytes(warp, i, lane, piece.global + piece.begin, piece.end - piece.begin, kind, 1) != nullptr;
  });
  return isInside;
}

Flow runLoad(Warp &warp, const Instruction &i, uint32_t mask) {
  Cta &cta = *warp.cta;
  uint64_t targets[kLanes];
  gatherAddresses(warp, i, targets);
  forLanes(mask, [&](int lane) {
    BulkCopy copy;
    copy.isTensor = (i.detail & kIsTensor) != 0;
    copy.target = uint32_t(targets[lane]);
    copy.warp = warp.index, copy.lane = lane;
    copy.instruction = &i;
    copy.mbarrier = warp.words(i.c)[lane];
    if (mbarrierAt(warp, i, lane, copy.mbarrier) == nullptr)
      return;
    if (copy.isTensor) {
      if (!readBox(warp, i, lane, copy.map, copy.coordinates) ||
          !isBoxInside(warp, i, lane, copy.map, copy.coordinates, copy.target, AccessKind::Read))
        return;
      copy.bytes = copy.map.boxBytes();
    } else {
      copy.source = warp.doubleWords(i.b)[lane];
      copy.bytes = warp.words(i.e)[lane];
      if (copy.bytes % 16 != 0 || copy.target % 16 != 0)
        return cta.machine->report(FindingKind::Misaligned, warp, lane, i, "a bulk copy moves whole 16 bytes");
      if (globalBytes(warp, i, lane, copy.source, copy.bytes, AccessKind::Read, 16) == nullptr)
        return;
      if (copy.target > cta.shared.size() || copy.bytes > cta.shared.size() - copy.target)
        return cta.machine->report(FindingKind::OutOfBounds, warp, lane, i, "the target lies outside shared memory");
    }
    copy.clock = warp.clock;
    copy.clock[size_t(cta.loadAgent(copy.mbarrier))] = ++cta.hopper->bulkTime;
    cta.hopper->copies.push_back(std::move(copy));
    ++warp.clock[size_t(warp.index)]; // what the warp does next is not before the copy
    ++cta.machine->events;
    if (cta.machine->options.async == AsyncPolicy::Eager)
      landBulkCopy(cta, cta.hopper->copies.size() - 1);
  });
  return Flow::Next;
}

Flow runStore(Warp &warp, const Instruction &i, uint32_t mask) {
  Cta &cta = *warp.cta;
  uint64_t sources[kLanes];
  gatherAddresses(warp, i, sources);
  forLanes(mask, [&](int lane) {
    std::vector<uint32_t> clock = warp.clock;
    clock[size_t(cta.bulkAgent())] = ++cta.hopper->bulkTime;
    const SharedShadow::Access access = bulkAccess(cta.bulkAgent(), clock);
    const auto address = uint32_t(sources[lane]);
    if ((i.detail & kIsTensor) != 0) {
      TensorMap map;
      std::array<int32_t, kMaxTmaRank> coordinates = {};
      if (!readBox(warp, i, lane, map, coordinates) ||
          !isBoxInside(warp, i, lane, map, coordinates, address, AccessKind::Write))
        return;
      const std::span<const int32_t> span(coordinates.data(), map.rank);
      visitBox(map, span, address, [&](const BoxPiece &piece) {
        if (piece.end > piece.begin)
          checkShared(warp, i, access, piece.shared, std::min(16U, map.boxRowBytes()), false);
      });
      static_cast<void>(copyBoxToGlobal(map, span, cta.shared, address)); // checked above
    } else {
      const uint32_t bytes = warp.words(i.e)[lane];
      uint8_t *to = globalBytes(warp, i, lane, warp.doubleWords(i.b)[lane], bytes, AccessKind::Write, 16);
      if (to != nullptr && checkShared(warp, i, access, address, bytes, false))
        std::memcpy(to, cta.shared.data() + address, bytes);
    }
    cta.hopper->groups[size_t(warp.index)].last = cta.hopper->bulkTime;
    ++warp.clock[size_t(warp.index)];
  });
  ++cta.machine->events;
  return Flow::Next;
}

Flow runCommit(Warp &warp, const Instruction &, uint32_t) {
  BulkGroups &groups = warp.cta->hopper->groups[size_t(warp.index)];
  groups.committed.push_back(groups.last);
  return Flow::Next;
}

Flow runWait(Warp &warp, const Instruction &i, uint32_t) {
  BulkGroups &groups = warp.cta->hopper->groups[size_t(warp.index)];
  uint32_t &seen = warp.clock[size_t(warp.cta->bulkAgent())];
  while (int64_t(groups.committed.size()) > i.immediate) {
    seen = std::max(seen, groups.committed.front());
    groups.committed.pop_front();
  }
  return Flow::Next;
}

// [map, {c0, c1}]: the map's address to b, coordinates to the operand list.
void takeBox(Form &form, const PtxOperand &operand, int rank) {
  Instruction &i = form.instruction;
  const Form::Address map = form.address(operand, Space::Generic);
  if (map.slot < 0 || map.bits != 64 || map.offset != 0)
    return form.fail("its tensor map is not given by a register");
  i.b = map.slot;
  if (operand.elements.size() != 1 || operand.elements[0].elements.size() != size_t(rank))
    return form.fail("its coordinates are not as many as its dimensions");
  std::vector<int32_t> &operands = form.builder.output().operands;
  i.operands = uint32_t(operands.size());
  i.width = uint8_t(rank);
  for (const PtxOperand &coordinate : operand.elements[0].elements)
    operands.push_back(form.read(coordinate, Type::S32));
}

int32_t takeRegisterAddress(Form &form, const PtxOperand &operand, Space space, int bits) {
  const Form::Address address = form.address(operand, space);
  if (address.slot < 0 || address.bits != bits || address.offset != 0)
    form.fail("an address is not a register's value");
  return address.slot;
}

} // namespace

void landBulkCopy(Cta &cta, size_t index) {
  BulkCopy copy = std::move(cta.hopper->copies[index]);
  cta.hopper->copies.erase(cta.hopper->copies.begin() + int64_t(index));
  Warp &warp = cta.warps[size_t(copy.warp)];
  const Instruction &i = *copy.instruction;
  const SharedShadow::Access access = bulkAccess(cta.loadAgent(copy.mbarrier), copy.clock);
  if (copy.isTensor) {
    const std::span<const int32_t> coordinates(copy.coordinates.data(), copy.map.rank);
    if (warp.isChecked)
      visitBox(copy.map, coordinates, copy.target, [&](const BoxPiece &piece) {
        const uint32_t bytes = std::min(16U, copy.map.boxRowBytes());
        checkShared(warp, i, access, piece.shared, bytes, true);
      });
    static_cast<void>(copyBoxToShared(copy.map, coordinates, cta.shared, copy.target)); // checked at the start
  } else if (checkShared(warp, i, access, copy.target, copy.bytes, true)) {
    std::memcpy(cta.shared.data() + copy.target,
                reinterpret_cast<const void *>(copy.source), // NOLINT(performance-no-int-to-ptr)
                copy.bytes);
  }
  ++cta.machine->events;
  Mbarrier *mbarrier = mbarrierAt(warp, i, copy.lane, copy.mbarrier);
  if (mbarrier == nullptr)
    return;
  joinClock(mbarrier->clock, copy.clock);
  mbarrier->bytes -= copy.bytes;
  completePhase(cta, *mbarrier);
}

void decodeBulkCopy(Form &form) {
  Instruction &i = form.instruction;
  if (form.take("commit_group")) {
    form.expectOperands(0, 0);
    return form.use(kBulk, runCommit);
  }
  if (form.take("wait_group")) {
    form.take("read");
    form.expectOperands(1, 1);
    i.immediate = form.needConstant(form.operand(0));
    return form.use(kBulk, runWait);
  }
  const bool isTensor = form.take("tensor");
  int rank = 0;
  for (int axis = 1; axis <= kMaxTmaRank && isTensor; ++axis)
    if (form.take(std::to_string(axis) + "d"))
      rank = axis;
  if (isTensor && rank == 0)
    return form.fail("its number of dimensions is missing");
  form.take("tile");
  const bool hasPolicy = form.take("L2::cache_hint");
  const bool isLoad = form.take("mbarrier::complete_tx::bytes");
  if (!isLoad && !form.take("bulk_group"))
    return form.fail("it completes in a way that is not known");
  if (!form.take("global") || (!form.take("shared::cta") && !(isLoad && form.take("shared::cluster"))))
    return form.fail("its state spaces are not known");
  const size_t base = isTensor ? (isLoad ? 3U : 2U) : (isLoad ? 4U : 3U);
  form.expectOperands(base + size_t(hasPolicy), base + size_t(hasPolicy));
  if (hasPolicy)
    form.read(form.operand(base), Type::B64);
  const PtxOperand &shared = form.operand(isLoad ? 0 : 1), &global = form.operand(isLoad ? 1 : 0);
  placeAddress(form, shared, Space::Shared);
  if (isTensor)
    takeBox(form, global, rank);
  else
    i.b = takeRegisterAddress(form, global, Space::Global, 64);
  if (!isTensor)
    i.e = form.read(form.operand(2), Type::B32);
  if (isLoad)
    i.c = takeRegisterAddress(form, form.operand(base - 1), Space::Shared, 32);
  i.detail |= isTensor ? kIsTensor : 0;
  form.use(kBulk, isLoad ? runLoad : runStore);
}

} // namespace attnc::emulator

// ld and st of all state spaces, prefetches, and what only concerns caches.
#include <algorithm>

#include "runtime/emulator/Form.h"
#include "runtime/emulator/Lanes.h"
#include "runtime/emulator/MemoryAccess.h"
#include "runtime/emulator/MemoryDecode.h"
#include "runtime/emulator/ProgramBuilder.h"

namespace attnc::emulator {

void takeCacheHints(Form &form) {
  form.takeAny({"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1::no_allocate", "L1::evict_normal",
                "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L2::evict_normal", "L2::evict_first",
                "L2::evict_last", "L2::64B", "L2::128B", "L2::256B"});
}

bool takeStrength(Form &form) {
  bool isStrong = false;
  for (std::string_view name : {"volatile", "relaxed", "acquire", "release", "acq_rel", "seq_cst", "mmio"})
    isStrong |= form.take(name);
  form.takeAny({"weak", "cta", "cluster", "gpu", "sys"});
  return isStrong;
}

Space takeSpace(Form &form) {
  constexpr std::pair<std::string_view, Space> kSpaces[] = {
      {"global", Space::Global}, {"shared", Space::Shared},    {"shared::cta", Space::Shared},
      {"local", Space::Local},   {"param", Space::Param},      {"param::entry", Space::Param},
      {"const", Space::Const},   {"param::func", Space::Param}};
  for (const auto &[name, space] : kSpaces)
    if (form.take(name))
      return space;
  return Space::Generic;
}

MemorySpace placeAddress(Form &form, const PtxOperand &operand, Space space) {
  Form::Address address = form.address(operand, space);
  Instruction &i = form.instruction;
  i.a = address.slot;
  i.immediate = address.offset;
  MemorySpace result = MemorySpace::Generic;
  switch (address.space) {
  case Space::Global:
  case Space::Const:
    result = MemorySpace::Global;
    break;
  case Space::Shared:
  case Space::SharedCluster:
    result = MemorySpace::Shared;
    break;
  case Space::Local:
    result = MemorySpace::Local;
    break;
  case Space::Param: {
    if (address.slot >= 0) { // a parameter's address was taken: it is a global one here
      result = MemorySpace::Global;
      break;
    }
    const ProgramBuilder::Place *place = form.builder.findVariable(address.variable, form.source.scope);
    result = place != nullptr && place->isKernelParameter ? MemorySpace::Parameter : MemorySpace::Local;
    break;
  }
  default:
    break;
  }
  if (address.slot >= 0 && address.bits == 32 && result == MemorySpace::Global)
    form.fail("a global address has 64 bits");
  i.detail = uint32_t(result) | (address.bits == 32 ? kNarrowAddress : 0);
  return result;
}

void gatherAddresses(Warp &warp, const Instruction &i, uint64_t *addresses) {
  if (i.a < 0) {
    std::fill_n(addresses, kLanes, uint64_t(i.immediate));
  } else if ((i.detail & kNarrowAddress) != 0) {
    const uint32_t *a = warp.words(i.a);
    for (int lane = 0; lane < kLanes; ++lane)
      addresses[lane] = uint32_t(a[lane] + uint32_t(i.immediate));
  } else {
    const uint64_t *a = warp.doubleWords(i.a);
    for (int lane = 0; lane < kLanes; ++lane)
      addresses[lane] = a[lane] + uint64_t(i.immediate);
  }
}

uint8_t *bytesAt(Warp &warp, const Instruction &i, int lane, uint64_t address, uint32_t bytes, AccessKind kind,
                 uint32_t alignment) {
  switch (MemorySpace(i.detail & kSpaceMask)) {
  case MemorySpace::Shared:
    return sharedBytes(warp, i, lane, address, bytes, kind, alignment);
  case MemorySpace::Global:
    return globalBytes(warp, i, lane, address, bytes, kind, alignment);
  case MemorySpace::Local:
    return localBytes(warp, i, lane, address, bytes, alignment);
  default:
    return genericBytes(warp, i, lane, address, bytes, kind, alignment);
  }
}

namespace {

constexpr uint32_t kIsStrong = 16;
constexpr uint32_t kIsHalfRegister = 32; // a 16-bit register: its word's upper half is zero

void countAccess(Warp &warp, const Instruction &i, const uint64_t *addresses, uint32_t mask, uint32_t bytes) {
  Machine &machine = *warp.cta->machine;
  if (!machine.options.profile)
    return;
  switch (MemorySpace(i.detail & kSpaceMask)) {
  case MemorySpace::Shared:
    return countWavefronts(machine.profile, addresses, mask, bytes);
  case MemorySpace::Global:
    return countSectors(machine.profile, addresses, mask, bytes);
  case MemorySpace::Generic:
    if (addresses[firstLane(mask)] - kSharedWindow < kWindowBytes)
      return countWavefronts(machine.profile, addresses, mask, bytes);
    if (addresses[firstLane(mask)] < kSharedWindow)
      return countSectors(machine.profile, addresses, mask, bytes);
    return;
  default:
    return;
  }
}

// Element is what lies in memory, Word what a register lane has.
template <typename Element, typename Word> Word loaded(const uint8_t *from, uint32_t detail) {
  Element value;
  std::memcpy(&value, from, sizeof(Element));
  const auto word = Word(value); // NOLINT(bugprone-signed-char-misuse): sign extension is meant
  return (detail & kIsHalfRegister) != 0 ? Word(word & 0xffff) : word;
}

template <typename Element, typename Word> Flow runLoad(Warp &warp, const Instruction &i, uint32_t mask) {
  alignas(64) uint64_t addresses[kLanes];
  gatherAddresses(warp, i, addresses);
  const int32_t *targets = warp.cta->machine->program->operands.data() + i.operands;
  const uint32_t bytes = uint32_t(sizeof(Element)) * i.width;
  const bool isShared = MemorySpace(i.detail & kSpaceMask) == MemorySpace::Shared;
  const AccessKind kind = (i.detail & kIsStrong) != 0 && !isShared ? AccessKind::Atomic : AccessKind::Read;
  forLanes(mask, [&](int lane) {
    const uint8_t *from = bytesAt(warp, i, lane, addresses[lane], bytes, kind, bytes);
    for (int k = 0; k < i.width; ++k) {
      if (targets[k] < 0)
        continue;
      const Word word = from == nullptr ? Word(0) : loaded<Element, Word>(from + sizeof(Element) * size_t(k), i.detail);
      laneWords<Word>(warp, targets[k])[lane] = word;
    }
  });
  countAccess(warp, i, addresses, mask, bytes);
  return Flow::Next;
}

// Kernel parameters are the same for all lanes; the decoder has checked the bounds.
template <typename Element, typename Word> Flow runLoadParameter(Warp &warp, const Instruction &i, uint32_t mask) {
  const int32_t *targets = warp.cta->machine->program->operands.data() + i.operands;
  const uint8_t *from = warp.cta->machine->parameters + i.immediate;
  for (int k = 0; k < i.width; ++k) {
    if (targets[k] < 0)
      continue;
    const Word word = loaded<Element, Word>(from + sizeof(Element) * size_t(k), i.detail);
    alignas(64) Word words[kLanes];
    std::fill_n(words, kLanes, word);
    storeLanes<Word>(warp, targets[k], words, mask);
  }
  return Flow::Next;
}

// Two lanes of one store that write different values to one place: which stays is open.
void checkLanes(Warp &warp, const Instruction &i, const uint64_t *addresses, uint32_t mask, const uint8_t *values,
                uint32_t bytes) {
  int order[kLanes];
  int count = 0;
  bool isAscending = true;
  forLanes(mask, [&](int lane) {
    isAscending &= count == 0 || addresses[lane] >= addresses[order[count - 1]] + bytes;
    order[count++] = lane;
  });
  if (isAscending)
    return;
  std::sort(order, order + count,
            [&](int x, int y) { return addresses[x] != addresses[y] ? addresses[x] < addresses[y] : x < y; });
  for (int k = 1; k < count; ++k) {
    const int x = order[k - 1], y = order[k];
    if (addresses[x] == addresses[y] && std::memcmp(values + 16 * x, values + 16 * y, bytes) != 0)
      return warp.cta->machine->report(FindingKind::GlobalRace, warp, y, i,
                                       "lanes " + std::to_string(x) + " and " + std::to_string(y) +
                                           " write different values to " +
                                           warp.cta->machine->memory.describe(addresses[y]));
  }
}

template <typename Element, typename Word> Flow runStore(Warp &warp, const Instruction &i, uint32_t mask) {
  alignas(64) uint64_t addresses[kLanes];
  gatherAddresses(warp, i, addresses);
  const int32_t *sources = warp.cta->machine->program->operands.data() + i.operands;
  const uint32_t bytes = uint32_t(sizeof(Element)) * i.width;
  alignas(16) uint8_t values[kLanes][16];
  for (int k = 0; k < i.width; ++k) {
    const Word *words = laneWords<Word>(warp, sources[k]);
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto element = Element(words[lane]);
      std::memcpy(values[lane] + sizeof(Element) * size_t(k), &element, sizeof(Element));
    }
  }
  const auto space = MemorySpace(i.detail & kSpaceMask);
  const bool isOrdered = (i.detail & kIsStrong) != 0 && space != MemorySpace::Shared;
  const AccessKind kind = isOrdered ? AccessKind::Atomic : AccessKind::Write;
  if (warp.isChecked && space == MemorySpace::Global && kind == AccessKind::Write)
    checkLanes(warp, i, addresses, mask, values[0], bytes);
  forLanes(mask, [&](int lane) {
    // Lanes that write what already stands there do no harm, in whatever order.
    if (space == MemorySpace::Shared && addresses[lane] % bytes == 0 &&
        addresses[lane] + bytes <= warp.cta->shared.size() && lane != firstLane(mask) &&
        addresses[lane] == addresses[firstLane(mask)] && std::memcmp(values[lane], values[firstLane(mask)], bytes) == 0)
      return;
    if (uint8_t *to = bytesAt(warp, i, lane, addresses[lane], bytes, kind, bytes))
      std::memcpy(to, values[lane], bytes);
  });
  if (space != MemorySpace::Local)
    ++warp.cta->machine->events;
  countAccess(warp, i, addresses, mask, bytes);
  return Flow::Next;
}

InstructionClass classOf(MemorySpace space, bool isLoad) {
  switch (space) {
  case MemorySpace::Shared:
    return InstructionClass::SharedAccess;
  case MemorySpace::Parameter:
    return InstructionClass::Parameter;
  case MemorySpace::Local:
    return InstructionClass::Local;
  default:
    return isLoad ? InstructionClass::GlobalLoad : InstructionClass::GlobalStore;
  }
}

template <typename Element> Handler loadHandler(MemorySpace space, bool isWide) {
  if (space == MemorySpace::Parameter)
    return isWide ? runLoadParameter<Element, uint64_t> : runLoadParameter<Element, uint32_t>;
  return isWide ? runLoad<Element, uint64_t> : runLoad<Element, uint32_t>;
}

// The registers of a scalar or a vector, all of one width.
void takeRegisters(Form &form, const PtxOperand &operand, Type type, bool isLoad, int &bits) {
  const std::vector<PtxOperand> single = {operand};
  const auto &elements = operand.kind == PtxOperand::Kind::Vector ? operand.elements : single;
  std::vector<int32_t> &operands = form.builder.output().operands;
  form.instruction.operands = uint32_t(operands.size());
  form.instruction.width = uint8_t(std::min<size_t>(elements.size(), 16));
  bits = 0;
  for (const PtxOperand &element : elements) {
    int one = 0;
    const int32_t number = isLoad ? form.writeWide(element, type, one) : form.readWide(element, type, one);
    operands.push_back(number);
    if (number < 0)
      continue;
    if (bits != 0 && (bits > 32) != (one > 32))
      form.fail("its registers differ in width");
    bits = one;
  }
}

void decodeAccess(Form &form, bool isLoad) {
  const bool isStrong = takeStrength(form);
  const Space space = takeSpace(form);
  takeCacheHints(form);
  const bool hasPolicy = form.take("L2::cache_hint");
  const size_t count = form.take("v2") ? 2 : form.take("v4") ? 4 : form.take("v8") ? 8 : 1;
  const Type type = form.type();
  form.expectOperands(hasPolicy ? 3 : 2, hasPolicy ? 3 : 2);
  if (type == Type::Pred || bitsOf(type) > 64 || size_t(bitsOf(type)) / 8 * count > 16)
    return form.fail("its type is not known");
  Instruction &i = form.instruction;
  if (hasPolicy)
    form.read(form.operand(2), Type::B64);
  const MemorySpace place = placeAddress(form, form.operand(isLoad ? 1 : 0), space);
  int bits = 0;
  takeRegisters(form, form.operand(isLoad ? 0 : 1), type, isLoad, bits);
  if (i.width != count)
    return form.fail("its vector has another number of elements");
  i.detail |= (isStrong ? kIsStrong : 0) | (bits == 16 ? kIsHalfRegister : 0);
  const bool isWide = bits > 32;
  if (place == MemorySpace::Parameter) {
    if (!isLoad)
      return form.fail("a kernel's parameters cannot be written");
    if (i.immediate < 0 ||
        uint64_t(i.immediate) + size_t(bitsOf(type)) / 8 * count > form.builder.output().parameterBytes)
      return form.fail("it reads beyond the parameters");
  }
  Handler handler = nullptr;
  const Type storage = bitsOf(type) == 8    ? (isSigned(type) ? Type::S8 : Type::B8)
                       : bitsOf(type) == 16 ? (isSigned(type) ? Type::S16 : Type::B16)
                       : bitsOf(type) == 32 ? (isSigned(type) ? Type::S32 : Type::B32)
                                            : Type::B64;
  withInteger(storage, [&](auto tag) {
    using Element = typename decltype(tag)::type;
    if (isLoad)
      handler = loadHandler<Element>(place, isWide);
    else
      handler = isWide ? runStore<std::make_unsigned_t<Element>, uint64_t>
                       : runStore<std::make_unsigned_t<Element>, uint32_t>;
  });
  form.use(classOf(place, isLoad), handler);
}

void decodeLoad(Form &form) { decodeAccess(form, true); }
void decodeStore(Form &form) { decodeAccess(form, false); }

Flow runNothing(Warp &, const Instruction &, uint32_t) { return Flow::Next; }

// Hints to caches and scheduling: no effect that could be seen.
void decodePrefetch(Form &form) {
  form.takeAny({"global", "local", "param", "const", "L1", "L2", "tensormap", "tensormap::generic", "L2::evict_last",
                "L2::evict_normal", "L2::128B"});
  if (form.base() == "applypriority" || form.base() == "discard")
    return form.fail("the opcode is not known");
  form.expectOperands(1, 1);
  if (form.operand(0).kind == PtxOperand::Kind::Address)
    form.address(form.operand(0), Space::Generic);
  form.use(InstructionClass::Other, runNothing);
}

// createpolicy gives a descriptor of a cache policy; its bits mean nothing here.
void decodeCreatePolicy(Form &form) {
  while (!form.next().empty() && form.next() != "b64")
    form.takeNext();
  form.take("b64");
  form.expectOperands(1, 4);
  Instruction &i = form.instruction;
  i.d = form.write(form.operand(0), Type::B64);
  form.use(InstructionClass::Other, [](Warp &warp, const Instruction &i, uint32_t mask) {
    forLanes(mask, [&](int lane) { warp.doubleWords(i.d)[lane] = 0; });
    return Flow::Next;
  });
}

} // namespace

const OpcodeTable &memoryOpcodes() {
  static const OpcodeTable kTable = {
      {"ld", decodeLoad},           {"ldu", decodeLoad},           {"st", decodeStore},
      {"prefetch", decodePrefetch}, {"prefetchu", decodePrefetch}, {"createpolicy", decodeCreatePolicy}};
  return kTable;
}

} // namespace attnc::emulator

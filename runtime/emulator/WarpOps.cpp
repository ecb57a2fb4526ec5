// shfl, vote, match, redux, activemask, elect.
#include <algorithm>

#include "runtime/emulator/Form.h"
#include "runtime/emulator/Lanes.h"
#include "runtime/emulator/WarpCollectives.h"

namespace attnc::emulator {

void checkMembers(Warp &warp, const Instruction &i, uint32_t group, uint32_t named) {
  // Lanes that have ended do not count.
  const uint32_t missing = named & warp.live & ~group, unnamed = group & ~named;
  if (missing != 0 || unnamed != 0)
    warp.cta->machine->report(FindingKind::PartialWarp, warp, firstLane(missing != 0 ? missing : unnamed), i,
                              missing != 0 ? "a lane of the member mask is not at the instruction"
                                           : "a lane executes it that the member mask does not name");
}

bool isWholeWarp(Warp &warp, const Instruction &i, uint32_t mask) {
  if (mask == kAllLanes)
    return true;
  warp.cta->machine->report(FindingKind::PartialWarp, warp, firstLane(~mask), i,
                            "only " + std::to_string(std::popcount(mask)) + " of 32 lanes execute it");
  return false;
}

namespace {

constexpr auto kShuffle = InstructionClass::Shuffle;

enum class ShuffleMode : uint32_t { Up, Down, Butterfly, Index };

template <ShuffleMode kMode> Flow runShuffle(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint32_t *a = warp.words(i.a), *b = warp.words(i.b), *c = warp.words(i.c), *members = warp.words(i.e);
  forMembers(warp, i, mask, members, [](uint32_t) {});
  alignas(64) uint32_t result[kLanes];
  uint32_t valid = 0, absent = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int amount = int(b[lane] & 31), segment = int(c[lane] >> 8 & 31), limit = int(c[lane] & 31);
    const int last = (lane & segment) | (limit & ~segment);
    int source = 0;
    bool isValid = false;
    if constexpr (kMode == ShuffleMode::Up) {
      source = lane - amount;
      isValid = source >= last;
    } else {
      source = kMode == ShuffleMode::Down        ? lane + amount
               : kMode == ShuffleMode::Butterfly ? lane ^ amount
                                                 : (lane & segment) | (amount & ~segment);
      isValid = source <= last;
    }
    source = isValid ? source & 31 : lane;
    valid |= uint32_t(isValid) << lane;
    absent |= uint32_t((mask & members[lane] & kLaneBits.bit[source]) == 0) << lane;
    result[lane] = a[source];
  }
  if ((absent & mask) != 0)
    warp.cta->machine->report(FindingKind::PartialWarp, warp, firstLane(absent & mask), i,
                              "the lane reads from one that does not execute the shuffle");
  if (i.d >= 0)
    storeLanes<uint32_t>(warp, i.d, result, mask);
  warp.setPredicate(i.p, valid, mask);
  return Flow::Next;
}

void decodeShfl(Form &form) {
  if (!form.take("sync"))
    return form.fail("only shfl.sync is known");
  constexpr std::pair<std::string_view, Handler> kModes[] = {{"up", runShuffle<ShuffleMode::Up>},
                                                             {"down", runShuffle<ShuffleMode::Down>},
                                                             {"bfly", runShuffle<ShuffleMode::Butterfly>},
                                                             {"idx", runShuffle<ShuffleMode::Index>}};
  Handler handler = nullptr;
  for (const auto &[name, one] : kModes)
    if (form.take(name))
      handler = one;
  if (!form.take("b32"))
    return form.fail("only .b32 is known");
  form.expectOperands(5, 5);
  Instruction &i = form.instruction;
  i.a = form.read(form.operand(1), Type::B32);
  i.b = form.read(form.operand(2), Type::B32);
  i.c = form.read(form.operand(3), Type::B32);
  i.e = form.read(form.operand(4), Type::B32);
  i.d = form.writeOrSink(form.operand(0), Type::B32);
  if (!form.operand(0).paired.empty())
    i.p = form.writePredicate(form.operand(0).paired);
  form.use(kShuffle, handler);
}

enum class Vote : uint32_t { All, Any, Uniform, Ballot };
constexpr uint32_t kNegated = 8;

void voteOf(Warp &warp, const Instruction &i, uint32_t group) {
  const uint32_t truth = warp.predicateOf(i.p, i.detail & kNegated) & group;
  switch (Vote(i.detail & 7)) {
  case Vote::All:
    return warp.setPredicate(i.d, truth == group ? kAllLanes : 0, group);
  case Vote::Any:
    return warp.setPredicate(i.d, truth != 0 ? kAllLanes : 0, group);
  case Vote::Uniform:
    return warp.setPredicate(i.d, truth == group || truth == 0 ? kAllLanes : 0, group);
  case Vote::Ballot:
    return forLanes(group, [&](int lane) { warp.words(i.d)[lane] = truth; });
  }
}

Flow runVote(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t members[kLanes]; // a ballot may overwrite the register of the masks
  std::copy_n(warp.words(i.e), kLanes, members);
  forMembers(warp, i, mask, members, [&](uint32_t group) { voteOf(warp, i, group); });
  return Flow::Next;
}

void decodeVote(Form &form) {
  if (!form.take("sync"))
    return form.fail("only vote.sync is known");
  Vote vote = Vote::Ballot;
  if (form.take("all"))
    vote = Vote::All;
  else if (form.take("any"))
    vote = Vote::Any;
  else if (form.take("uni"))
    vote = Vote::Uniform;
  else if (!form.take("ballot"))
    return form.fail("its mode is not known");
  form.take(vote == Vote::Ballot ? "b32" : "pred");
  form.expectOperands(3, 3);
  Instruction &i = form.instruction;
  bool isNegated = false;
  i.p = form.readPredicate(form.operand(1), isNegated);
  i.e = form.read(form.operand(2), Type::B32);
  i.d = vote == Vote::Ballot ? form.write(form.operand(0), Type::B32) : form.writePredicate(form.operand(0).name);
  i.detail = uint32_t(vote) | (isNegated ? kNegated : 0);
  form.use(kShuffle, runVote);
}

template <typename T, bool kIsAll> Flow runMatch(Warp &warp, const Instruction &i, uint32_t mask) {
  const T *a = laneWords<T>(warp, i.a);
  uint32_t result[kLanes] = {}, same = 0;
  forMembers(warp, i, mask, warp.words(i.e), [&](uint32_t group) {
    forLanes(group, [&](int lane) {
      forLanes(group, [&](int other) { result[lane] |= uint32_t(a[other] == a[lane]) << other; });
    });
    if (kIsAll && result[firstLane(group)] != group)
      forLanes(group, [&](int lane) { result[lane] = 0; });
    else
      same |= group;
  });
  if (kIsAll)
    warp.setPredicate(i.p, same, mask);
  if (i.d >= 0)
    storeLanes<uint32_t>(warp, i.d, result, mask);
  return Flow::Next;
}

void decodeMatch(Form &form) {
  const bool isAll = form.take("all");
  if ((!isAll && !form.take("any")) || !form.take("sync"))
    return form.fail("its mode is not known");
  const Type type = form.type();
  form.expectOperands(3, 3);
  Instruction &i = form.instruction;
  i.a = form.read(form.operand(1), type);
  i.e = form.read(form.operand(2), Type::B32);
  i.d = form.writeOrSink(form.operand(0), Type::B32);
  if (!form.operand(0).paired.empty())
    i.p = form.writePredicate(form.operand(0).paired);
  if (type == Type::B32)
    form.use(kShuffle, isAll ? runMatch<uint32_t, true> : runMatch<uint32_t, false>);
  else if (type == Type::B64)
    form.use(kShuffle, isAll ? runMatch<uint64_t, true> : runMatch<uint64_t, false>);
}

template <typename T, typename F> Handler reduxHandler(F) {
  return [](Warp &warp, const Instruction &i, uint32_t mask) {
    const uint32_t *a = warp.words(i.a);
    uint32_t result[kLanes] = {};
    forMembers(warp, i, mask, warp.words(i.e), [&](uint32_t group) {
      T sum = fromWord<T>(a[firstLane(group)]);
      forLanes(group & (group - 1), [&](int lane) { sum = F()(sum, fromWord<T>(a[lane])); });
      forLanes(group, [&](int lane) { result[lane] = toWord<T>(sum); });
    });
    storeLanes<uint32_t>(warp, i.d, result, mask);
    return Flow::Next;
  };
}

void decodeRedux(Form &form) {
  if (!form.take("sync"))
    return form.fail("only redux.sync is known");
  const std::string_view operation = form.takeNext();
  const Type type = form.type();
  form.expectOperands(3, 3);
  Instruction &i = form.instruction;
  i.a = form.read(form.operand(1), type);
  i.e = form.read(form.operand(2), Type::B32);
  i.d = form.write(form.operand(0), type);
  using U = uint32_t;
  using S = int32_t;
  Handler handler = nullptr;
  if (type == Type::B32) {
    if (operation == "and")
      handler = reduxHandler<U>([](U x, U y) { return x & y; });
    else if (operation == "or")
      handler = reduxHandler<U>([](U x, U y) { return x | y; });
    else if (operation == "xor")
      handler = reduxHandler<U>([](U x, U y) { return x ^ y; });
  } else if (type == Type::U32) {
    if (operation == "add")
      handler = reduxHandler<U>([](U x, U y) { return x + y; });
    else if (operation == "min")
      handler = reduxHandler<U>([](U x, U y) { return std::min(x, y); });
    else if (operation == "max")
      handler = reduxHandler<U>([](U x, U y) { return std::max(x, y); });
  } else if (type == Type::S32) {
    if (operation == "add")
      handler = reduxHandler<U>([](U x, U y) { return x + y; });
    else if (operation == "min")
      handler = reduxHandler<S>([](S x, S y) { return std::min(x, y); });
    else if (operation == "max")
      handler = reduxHandler<S>([](S x, S y) { return std::max(x, y); });
  }
  form.use(kShuffle, handler);
}

void decodeActivemask(Form &form) {
  form.take("b32");
  form.expectOperands(1, 1);
  form.instruction.d = form.write(form.operand(0), Type::B32);
  form.use(kShuffle, [](Warp &warp, const Instruction &i, uint32_t mask) {
    forLanes(mask, [&](int lane) { warp.words(i.d)[lane] = mask; });
    return Flow::Next;
  });
}

// The lowest lane is elected; a device may choose another.
void decodeElect(Form &form) {
  if (!form.take("sync"))
    return form.fail("only elect.sync is known");
  form.expectOperands(2, 2);
  Instruction &i = form.instruction;
  i.e = form.read(form.operand(1), Type::B32);
  i.d = form.operand(0).name == "_" ? -1 : form.write(form.operand(0), Type::B32);
  if (form.operand(0).paired.empty())
    return form.fail("its predicate is missing");
  i.p = form.writePredicate(form.operand(0).paired);
  form.use(kShuffle, [](Warp &warp, const Instruction &i, uint32_t mask) {
    uint32_t leaders[kLanes] = {}, elected = 0;
    forMembers(warp, i, mask, warp.words(i.e), [&](uint32_t group) {
      const int leader = firstLane(group);
      forLanes(group, [&](int lane) { leaders[lane] = uint32_t(leader); });
      elected |= kLaneBits.bit[leader];
    });
    if (i.d >= 0)
      storeLanes<uint32_t>(warp, i.d, leaders, mask);
    warp.setPredicate(i.p, elected, mask);
    return Flow::Next;
  });
}

} // namespace

const OpcodeTable &warpOpcodes() {
  static const OpcodeTable kTable = {{"shfl", decodeShfl},
                                     {"vote", decodeVote},
                                     {"match", decodeMatch},
                                     {"redux", decodeRedux},
                                     {"activemask", decodeActivemask},
                                     {"elect", decodeElect}};
  return kTable;
}

} // namespace attnc::emulator

// PTX names a new register for nearly every result: thousands of them. Those whose values are
// never alive together share a slot, which keeps a warp's registers in the processor's cache.
// Lanes that diverge do not disturb each other, because a lane only uses its own words.
#include <algorithm>
#include <climits>

#include "runtime/emulator/ProgramBuilder.h"
#include "runtime/emulator/TensorCore.h"

namespace attnc::emulator {

namespace {

class BitSet {
public:
  explicit BitSet(size_t size) : words((size + 63) / 64) {}
  bool test(size_t i) const { return words[i / 64] >> (i % 64) & 1; }
  void set(size_t i) { words[i / 64] |= uint64_t(1) << (i % 64); }
  template <typename Visit> void forEach(Visit &&visit) const {
    for (size_t w = 0; w < words.size(); ++w)
      for (uint64_t rest = words[w]; rest != 0; rest &= rest - 1)
        visit(w * 64 + size_t(__builtin_ctzll(rest)));
  }

  std::vector<uint64_t> words;
};

struct Block {
  int first = 0, last = 0; // pcs, inclusive
  std::vector<int> successors;
  BitSet used, defined, liveIn, liveOut;

  explicit Block(size_t values) : used(values), defined(values), liveIn(values), liveOut(values) {}
};

struct Range {
  int first = INT_MAX, last = -1;
  void include(int pc) { first = std::min(first, pc), last = std::max(last, pc); }
};

class SlotAssigner {
public:
  SlotAssigner(Program &program, const std::vector<Value> &values, const std::vector<InstructionEffects> &effects)
      : program(program), values(values), effects(effects), slots(values.size(), -1), ranges(values.size()),
        trackedIndex(values.size(), -1) {}

  void run() {
    buildBlocks();
    solve();
    findRanges();
    findTracked();
    findWgmmaRegisters();
    place();
    rewrite();
  }

private:
  void buildBlocks() {
    const size_t count = program.code.size();
    std::vector<bool> isLeader(count + 1, false);
    for (size_t pc = 0; pc < count; ++pc) {
      const InstructionEffects &effect = effects[pc];
      if (pc == 0 || effect.function != effects[pc - 1].function)
        isLeader[pc] = true;
      for (int target : effect.targets)
        isLeader[size_t(target)] = true;
      if (!effect.targets.empty() || !effect.fallsThrough)
        isLeader[pc + 1] = true;
    }
    std::vector<int> blockOf(count + 1, -1);
    for (size_t pc = 0; pc < count; ++pc) {
      if (isLeader[pc]) {
        blocks.emplace_back(values.size());
        blocks.back().first = int(pc);
      }
      blocks.back().last = int(pc);
      blockOf[pc] = int(blocks.size()) - 1;
    }
    for (Block &block : blocks) {
      const InstructionEffects &last = effects[size_t(block.last)];
      for (int target : last.targets)
        block.successors.push_back(blockOf[size_t(target)]);
      const bool mayContinue = last.fallsThrough || program.code[size_t(block.last)].guard >= 0;
      if (mayContinue && size_t(block.last) + 1 < count)
        block.successors.push_back(blockOf[size_t(block.last) + 1]);
      for (int pc = block.first; pc <= block.last; ++pc)
        noteUses(block, pc);
    }
  }

  void noteUses(Block &block, int pc) {
    for (const ValueAccess &access : effects[size_t(pc)].accesses)
      if (!access.isWrite && !block.defined.test(size_t(access.value)))
        block.used.set(size_t(access.value));
    if (program.code[size_t(pc)].guard >= 0)
      return; // a guarded write may leave the old value
    for (const ValueAccess &access : effects[size_t(pc)].accesses)
      if (access.isWrite)
        block.defined.set(size_t(access.value));
  }

  void solve() {
    for (bool hasChanged = true; hasChanged;) {
      hasChanged = false;
      for (size_t i = blocks.size(); i-- > 0;) {
        Block &block = blocks[i];
        for (size_t w = 0; w < block.liveIn.words.size(); ++w) {
          uint64_t out = 0;
          for (int successor : block.successors)
            out |= blocks[size_t(successor)].liveIn.words[w];
          const uint64_t in = block.used.words[w] | (out & ~block.defined.words[w]);
          hasChanged |= in != block.liveIn.words[w];
          block.liveOut.words[w] = out;
          block.liveIn.words[w] = in;
        }
      }
    }
  }

  void findRanges() {
    for (size_t pc = 0; pc < effects.size(); ++pc)
      for (const ValueAccess &access : effects[pc].accesses)
        ranges[size_t(access.value)].include(int(pc));
    for (const Block &block : blocks) {
      block.liveIn.forEach([&](size_t value) { ranges[value].include(block.first); });
      block.liveOut.forEach([&](size_t value) { ranges[value].include(block.last); });
    }
  }

  // What is alive where its function begins was perhaps never written; and so is what a move
  // copies from such a register.
  void findTracked() {
    for (size_t i = 0; i < blocks.size(); ++i) {
      const int first = blocks[i].first;
      if (first != 0 && effects[size_t(first)].function == effects[size_t(first) - 1].function)
        continue;
      blocks[i].liveIn.forEach([&](size_t value) {
        if (values[value].kind != Value::Kind::Preset && values[value].name != "return address")
          track(value);
      });
    }
    for (bool hasChanged = true; hasChanged;) {
      hasChanged = false;
      for (const InstructionEffects &effect : effects) {
        if (!effect.isMove)
          continue;
        const bool readsTracked = std::ranges::any_of(effect.accesses, [&](const ValueAccess &access) {
          return !access.isWrite && trackedIndex[size_t(access.value)] >= 0;
        });
        for (const ValueAccess &access : effect.accesses)
          if (readsTracked && access.isWrite && trackedIndex[size_t(access.value)] < 0)
            track(size_t(access.value)), hasChanged = true;
      }
    }
    program.trackedRegisters = int(program.trackedNames.size());
    if (program.trackedRegisters == 0)
      return;
    program.tracked.resize(program.code.size());
    for (size_t pc = 0; pc < effects.size(); ++pc) {
      TrackedAccess &tracked = program.tracked[pc];
      for (const ValueAccess &access : effects[pc].accesses)
        if (const int index = trackedIndex[size_t(access.value)]; index >= 0)
          (access.isWrite ? tracked.writes : tracked.reads).push_back(index);
      tracked.isMove = effects[pc].isMove;
      program.code[pc].isTracked |= !tracked.reads.empty() || !tracked.writes.empty();
    }
  }

  void track(size_t value) {
    if (trackedIndex[value] >= 0)
      return;
    trackedIndex[value] = int(program.trackedNames.size());
    program.trackedNames.emplace_back(values[value].name);
  }

  // Registers that a wgmma names, and those that moves bring them from or to.
  void findWgmmaRegisters() {
    std::vector<int> indices(values.size(), -1);
    const auto watch = [&](int32_t value) {
      const bool isNew = indices[size_t(value)] < 0 && values[size_t(value)].kind == Value::Kind::Register &&
                         values[size_t(value)].bits == 32;
      if (isNew) {
        indices[size_t(value)] = int(program.wgmmaNames.size());
        program.wgmmaNames.emplace_back(values[size_t(value)].name);
      }
      return isNew;
    };
    for (const InstructionEffects &effect : effects)
      for (const ValueAccess &access : effect.accesses)
        if (effect.isProduct)
          watch(access.value);
    if (program.wgmmaNames.empty())
      return;
    for (bool hasChanged = true; hasChanged;) {
      hasChanged = false;
      for (const InstructionEffects &effect : effects)
        if (effect.isMove && std::ranges::any_of(effect.accesses, [&](const ValueAccess &access) {
              return indices[size_t(access.value)] >= 0;
            }))
          for (const ValueAccess &access : effect.accesses)
            hasChanged |= watch(access.value);
    }
    noteWgmmaAccesses(indices);
  }

  void noteWgmmaAccesses(const std::vector<int> &indices) {
    program.wgmmaAccesses.resize(program.code.size());
    for (size_t pc = 0; pc < effects.size(); ++pc) {
      WgmmaAccess &noted = program.wgmmaAccesses[pc];
      for (const ValueAccess &access : effects[pc].accesses)
        if (const int index = indices[size_t(access.value)]; index >= 0)
          (access.isWrite ? noted.writes : noted.reads).push_back(index);
      noted.isMove = effects[pc].isMove;
      noted.isProduct = effects[pc].isProduct;
      program.code[pc].isTracked |= !noted.reads.empty() || !noted.writes.empty();
    }
  }

  void place() {
    int words = 0;
    for (size_t value = 0; value < values.size(); ++value)
      if (values[value].kind == Value::Kind::Predicate || values[value].bits == 1)
        slots[value] = words++;
    words = (words + kLanes - 1) / kLanes * kLanes;
    std::vector<size_t> shared;
    for (size_t value = 0; value < values.size(); ++value) {
      if (slots[value] >= 0)
        continue;
      if (values[value].kind == Value::Kind::Register && trackedIndex[value] < 0 &&
          values[value].name != "return address") {
        if (ranges[value].last >= 0)
          shared.push_back(value);
        continue;
      }
      slots[value] = words;
      words += values[value].bits > 32 ? 2 * kLanes : kLanes;
    }
    std::ranges::sort(shared, {}, [&](size_t value) { return ranges[value].first; });
    // Free slots by function and width. A call keeps the caller's values alive outside their
    // range of pcs, therefore functions do not share. A slot is free only after the
    // instruction that last reads it: handlers may write before they have read all lanes.
    struct Active {
      int last;
      int slot;
      int pool;
    };
    std::vector<std::vector<int>> freeSlots;
    std::vector<Active> active; // a heap, the earliest end on top
    const auto later = [](const Active &x, const Active &y) { return x.last > y.last; };
    for (size_t value : shared) {
      const bool isWide = values[value].bits > 32;
      const int pool = values[value].function * 2 + int(isWide);
      if (size_t(pool) >= freeSlots.size())
        freeSlots.resize(size_t(pool) + 1);
      while (!active.empty() && active.front().last < ranges[value].first) {
        freeSlots[size_t(active.front().pool)].push_back(active.front().slot);
        std::ranges::pop_heap(active, later);
        active.pop_back();
      }
      int slot = words;
      if (!freeSlots[size_t(pool)].empty()) {
        slot = freeSlots[size_t(pool)].back();
        freeSlots[size_t(pool)].pop_back();
      } else {
        words += isWide ? 2 * kLanes : kLanes;
      }
      slots[value] = slot;
      active.push_back({ranges[value].last, slot, pool});
      std::ranges::push_heap(active, later);
    }
    program.registerWords = words;
  }

  void rewrite() {
    const auto toSlot = [&](int32_t &field) { field = field < 0 ? -1 : slots[size_t(field)]; };
    for (Instruction &instruction : program.code)
      for (int32_t *field : {&instruction.guard, &instruction.d, &instruction.p, &instruction.a, &instruction.b,
                             &instruction.c, &instruction.e})
        toSlot(*field);
    for (int32_t &operand : program.operands)
      toSlot(operand);
    for (size_t value = 0; value < values.size(); ++value)
      if (values[value].kind == Value::Kind::Preset) {
        program.presets.push_back(values[value].preset);
        program.presets.back().slot = slots[value];
      }
  }

  Program &program;
  const std::vector<Value> &values;
  const std::vector<InstructionEffects> &effects;
  std::vector<int32_t> slots;
  std::vector<Range> ranges;
  std::vector<int> trackedIndex;
  std::vector<Block> blocks;
};

} // namespace

void assignSlots(Program &program, const std::vector<Value> &values, const std::vector<InstructionEffects> &effects) {
  SlotAssigner(program, values, effects).run();
}

} // namespace attnc::emulator

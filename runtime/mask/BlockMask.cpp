// From the analysis to runs: a quadtree over blocks, one tree for each different slice.
#include "attnc/BlockMask.h"

#include <algorithm>
#include <map>

#include "runtime/mask/Analysis.h"

namespace attnc {

namespace {

struct Slice {
  std::vector<uint32_t> firstRun; // of each query block, and the end
  std::vector<BlockRun> runs;
  BlockMask::Counts counts;
};

} // namespace

struct BlockMask::State {
  Problem problem;
  int blockM = 0, blockN = 0;
  int64_t queryBlocks = 0, kvBlocks = 0;
  std::vector<uint32_t> sliceOf; // of batch * heads + head; one entry when all are alike
  std::vector<Slice> slices;
};

namespace {

class SliceBuilder {
public:
  SliceBuilder(const BlockMask::State &state, const MaskAnalysis *analysis)
      : state(state), analysis(analysis), perBlock(state.queryBlocks) {}

  Slice build() {
    if (state.queryBlocks > 0 && state.kvBlocks > 0)
      visit(0, state.queryBlocks, 0, state.kvBlocks);
    Slice slice;
    slice.counts.empty = state.queryBlocks * state.kvBlocks;
    for (const std::vector<BlockRun> &runs : perBlock) {
      slice.firstRun.push_back(static_cast<uint32_t>(slice.runs.size()));
      for (const BlockRun &run : runs) {
        (run.isFull ? slice.counts.full : slice.counts.partial) += run.count;
        slice.counts.empty -= run.count;
        slice.runs.push_back(run);
      }
    }
    slice.firstRun.push_back(static_cast<uint32_t>(slice.runs.size()));
    return slice;
  }

private:
  // Blocks [q0, q1) x [k0, k1). Lower keys first, so that runs come in ascending order.
  void visit(int64_t q0, int64_t q1, int64_t k0, int64_t k1) {
    const Rectangle rectangle = pointsOf(q0, q1, k0, k1);
    Truth truth = analysis ? analysis->classify(rectangle) : Truth::Full;
    const bool isTile = q1 - q0 == 1 && k1 - k0 == 1;
    if (truth == Truth::Unknown && isTile)
      truth = analysis->evaluateDensely(rectangle);
    if (truth == Truth::Empty)
      return;
    if (truth == Truth::Full || isTile) {
      for (int64_t q = q0; q < q1; ++q)
        append(q, k0, k1, truth == Truth::Full);
      return;
    }
    // Halve what is longer, so that tiles of a long strip stay square.
    const int64_t qMid = q1 - q0 >= k1 - k0 ? q0 + (q1 - q0 + 1) / 2 : q1;
    const int64_t kMid = k1 - k0 >= q1 - q0 ? k0 + (k1 - k0 + 1) / 2 : k1;
    visit(q0, qMid, k0, kMid);
    if (kMid < k1)
      visit(q0, qMid, kMid, k1);
    if (qMid < q1)
      visit(qMid, q1, k0, kMid);
    if (qMid < q1 && kMid < k1)
      visit(qMid, q1, kMid, k1);
  }

  Rectangle pointsOf(int64_t q0, int64_t q1, int64_t k0, int64_t k1) const {
    const Problem &problem = state.problem;
    return {problem.queryOffset + q0 * state.blockM,
            problem.queryOffset + std::min(q1 * state.blockM, problem.queryLength) - 1, k0 * state.blockN,
            std::min(k1 * state.blockN, problem.kvLength) - 1};
  }

  // The full path reads all keys of a tile, so a last tile with fewer is partial.
  void append(int64_t q, int64_t k0, int64_t k1, bool isFull) {
    const bool hasTail = k1 * state.blockN > state.problem.kvLength;
    if (isFull && hasTail) {
      if (k1 - k0 > 1)
        appendRun(q, k0, k1 - 1, true);
      appendRun(q, k1 - 1, k1, false);
    } else {
      appendRun(q, k0, k1, isFull);
    }
  }

  void appendRun(int64_t q, int64_t k0, int64_t k1, bool isFull) {
    std::vector<BlockRun> &runs = perBlock[q];
    if (!runs.empty() && runs.back().first + runs.back().count == k0 && runs.back().isFull == isFull)
      runs.back().count += static_cast<int32_t>(k1 - k0);
    else
      runs.push_back({static_cast<int32_t>(k0), static_cast<int32_t>(k1 - k0), isFull});
  }

  const BlockMask::State &state;
  const MaskAnalysis *analysis;
  std::vector<std::vector<BlockRun>> perBlock;
};

// The values that depend on batch and head alone and are used where more is: two heads with
// equal ones have equal masks.
std::vector<ValueId> headValues(const Function &mask) {
  const std::vector<Dependence> depends = dependences(mask);
  std::vector<ValueId> values;
  auto take = [&](ValueId id) {
    if (depends[id].onHead && depends[id].isUniform() && std::find(values.begin(), values.end(), id) == values.end())
      values.push_back(id);
  };
  std::vector<bool> live(mask.body.size(), false);
  live[mask.result] = true;
  for (ValueId id = static_cast<ValueId>(mask.body.size()); id-- > 0;) {
    if (!live[id])
      continue;
    if (depends[id].isUniform()) // its operands are computed from batch and head too
      continue;
    for (ValueId operand : mask.body[id].operands) {
      live[operand] = true;
      take(operand);
    }
  }
  take(mask.result);
  return values;
}

} // namespace

Result<BlockMask> BlockMask::create(const Variant &variant, const Problem &problem, const Bindings &bindings,
                                    int blockM, int blockN) {
  auto invalid = [](std::string message) { return Error{ErrorCode::InvalidArgument, std::move(message)}; };
  if (blockM < 1 || blockN < 1)
    return invalid("block mask: expected blocks of at least one row and one key, found " + std::to_string(blockM) +
                   " x " + std::to_string(blockN));
  if (problem.batch < 0 || problem.heads < 0 || problem.queryLength < 0 || problem.kvLength < 0 ||
      problem.queryOffset < 0)
    return invalid("block mask: sizes must not be negative");
  if (problem.queryOffset + problem.queryLength > INT32_MAX || problem.kvLength > INT32_MAX)
    return invalid("block mask: positions must stay below 2147483648");
  const Program &program = variant.program();
  auto inputs = ScalarInputs::bind(program, problem, bindings);
  if (!inputs)
    return inputs.error();

  auto state = std::make_shared<State>();
  state->problem = problem;
  state->blockM = blockM;
  state->blockN = blockN;
  state->queryBlocks = (problem.queryLength + blockM - 1) / blockM;
  state->kvBlocks = (problem.kvLength + blockN - 1) / blockN;
  const bool isNothing = state->queryBlocks == 0 || state->kvBlocks == 0 || problem.batch * problem.heads == 0;
  const std::vector<ValueId> keyed =
      program.maskMod && !isNothing ? headValues(*program.maskMod) : std::vector<ValueId>();
  auto build = [&](uint32_t batch, uint32_t head) {
    if (!program.maskMod || isNothing)
      return SliceBuilder(*state, nullptr).build();
    const MaskAnalysis analysis(*program.maskMod, **inputs, batch, head);
    return SliceBuilder(*state, &analysis).build();
  };
  if (keyed.empty()) {
    state->sliceOf = {0};
    state->slices.push_back(build(0, 0));
    return BlockMask(std::move(state));
  }
  std::map<std::vector<uint32_t>, uint32_t> known;
  Tape tape(*program.maskMod, **inputs, keyed);
  for (int64_t batch = 0; batch < problem.batch; ++batch)
    for (int64_t head = 0; head < problem.heads; ++head) {
      tape.run({static_cast<uint32_t>(batch), static_cast<uint32_t>(head), {0}, {0}, 1});
      std::vector<uint32_t> key;
      for (ValueId id : keyed)
        key.push_back(tape.value(id, 0));
      auto [entry, isNew] = known.emplace(std::move(key), static_cast<uint32_t>(state->slices.size()));
      if (isNew)
        state->slices.push_back(build(static_cast<uint32_t>(batch), static_cast<uint32_t>(head)));
      state->sliceOf.push_back(entry->second);
    }
  return BlockMask(std::move(state));
}

const Problem &BlockMask::problem() const { return state->problem; }
int BlockMask::blockM() const { return state->blockM; }
int BlockMask::blockN() const { return state->blockN; }
int64_t BlockMask::queryBlocks() const { return state->queryBlocks; }
int64_t BlockMask::kvBlocks() const { return state->kvBlocks; }
int64_t BlockMask::sliceCount() const { return static_cast<int64_t>(state->slices.size()); }

int64_t BlockMask::slice(int64_t batch, int64_t head) const {
  return state->sliceOf.size() == 1 ? state->sliceOf[0] : state->sliceOf[batch * state->problem.heads + head];
}

BlockMask::Runs BlockMask::runs(int64_t batch, int64_t head, int64_t queryBlock) const {
  const Slice &of = state->slices[slice(batch, head)];
  return {of.runs.data() + of.firstRun[queryBlock], of.runs.data() + of.firstRun[queryBlock + 1]};
}

BlockMask::Counts BlockMask::counts(int64_t batch, int64_t head) const {
  return state->slices[slice(batch, head)].counts;
}

BlockMask::Counts BlockMask::counts() const {
  Counts total;
  for (int64_t batch = 0; batch < state->problem.batch; ++batch)
    for (int64_t head = 0; head < state->problem.heads; ++head) {
      const Counts one = counts(batch, head);
      total.empty += one.empty;
      total.full += one.full;
      total.partial += one.partial;
    }
  return total;
}

double BlockMask::sparsity() const {
  const Counts total = counts();
  const int64_t tiles = total.empty + total.full + total.partial;
  return tiles ? static_cast<double>(total.empty) / static_cast<double>(tiles) : 0;
}

size_t BlockMask::bytes() const {
  size_t total = sizeof(State) + state->sliceOf.size() * sizeof(uint32_t);
  for (const Slice &slice : state->slices)
    total += slice.runs.size() * sizeof(BlockRun) + slice.firstRun.size() * sizeof(uint32_t);
  return total;
}

} // namespace attnc

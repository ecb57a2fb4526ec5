#include "runtime/TileRuns.h"

#include <algorithm>

namespace attnc {

int64_t tileCount(const RunList &runs) {
  int64_t count = 0;
  for (const cpu::TileRun &run : runs)
    count += run.count;
  return count;
}

int64_t partialCount(const RunList &runs) {
  int64_t count = 0;
  for (const cpu::TileRun &run : runs)
    count += run.isPartial ? run.count : 0;
  return count;
}

// Appends, joining with the run before where they touch and agree.
static void append(RunList &runs, cpu::TileRun run) {
  if (!runs.empty() && runs.back().first + runs.back().count == run.first && runs.back().isPartial == run.isPartial)
    runs.back().count += run.count;
  else
    runs.push_back(run);
}

void uniteRuns(const RunList &a, const RunList &b, RunList &into) {
  into.clear();
  size_t i = 0, j = 0;
  int32_t at = 0; // everything below is done
  while (i < a.size() || j < b.size()) {
    const int32_t startA = i < a.size() ? std::max(a[i].first, at) : INT32_MAX;
    const int32_t startB = j < b.size() ? std::max(b[j].first, at) : INT32_MAX;
    const int32_t endA = i < a.size() ? a[i].first + a[i].count : INT32_MAX;
    const int32_t endB = j < b.size() ? b[j].first + b[j].count : INT32_MAX;
    const int32_t start = std::min(startA, startB);
    // Up to the next place where either list changes.
    const int32_t end = std::min(startA > start ? startA : endA, startB > start ? startB : endB);
    const bool isFull = startA == start && startB == start && !a[i].isPartial && !b[j].isPartial;
    append(into, {start, end - start, !isFull});
    at = end;
    i += i < a.size() && endA <= at;
    j += j < b.size() && endB <= at;
  }
}

TileSource::TileSource(const Problem &problem, int tileKeys, const BlockMask *mask, bool skipsEmpty)
    : mask(mask), skipsEmpty(skipsEmpty), kvTiles((problem.kvLength + tileKeys - 1) / tileKeys),
      hasPartialTail(problem.kvLength % tileKeys != 0), refinement(mask ? mask->blockN() / tileKeys : 1) {}

void TileSource::blockRuns(int64_t batch, int64_t head, int64_t block, RunList &into) const {
  into.clear();
  const BlockMask::Runs runs = mask->runs(batch, head, block);
  for (const BlockRun *run = runs.begin; run != runs.end; ++run) {
    const int64_t first = int64_t(run->first) * refinement;
    const int64_t end = std::min(first + int64_t(run->count) * refinement, kvTiles);
    append(into, {static_cast<int32_t>(first), static_cast<int32_t>(end - first), !run->isFull});
  }
}

// A tile that is not whole needs the kernel's masking whatever the mask says.
void TileSource::markTail(RunList &runs) const {
  if (!hasPartialTail || runs.empty())
    return;
  cpu::TileRun &last = runs.back();
  if (last.isPartial || last.first + last.count != kvTiles)
    return;
  const cpu::TileRun tail = {static_cast<int32_t>(kvTiles - 1), 1, true};
  if (--last.count == 0)
    runs.pop_back();
  append(runs, tail);
}

void TileSource::runs(int64_t batch, int64_t head, int64_t firstRow, int64_t rowCount, RunList &into,
                      RunList &spare) const {
  if (isUniform()) {
    into.clear();
    if (kvTiles > 0)
      into.push_back({0, static_cast<int32_t>(kvTiles), !skipsEmpty});
    return markTail(into);
  }
  const int64_t first = firstRow / mask->blockM(), last = (firstRow + rowCount - 1) / mask->blockM();
  blockRuns(batch, head, first, into);
  if (last > first) {
    RunList other; // blocks smaller than a task: rare, so this may allocate
    for (int64_t block = first + 1; block <= last; ++block) {
      blockRuns(batch, head, block, other);
      uniteRuns(into, other, spare);
      into.swap(spare);
    }
  }
  markTail(into);
}

} // namespace attnc

#include "runtime/mask/AxisTable.h"

#include <algorithm>

namespace attnc {

AxisTable::AxisTable(std::vector<int32_t> values) {
  levels.push_back({values, std::move(values)});
  while (levels.back().low.size() > 1) {
    const Level &below = levels.back();
    Level level;
    for (size_t i = 0; i < below.low.size(); i += 2) {
      const size_t j = std::min(i + 1, below.low.size() - 1);
      level.low.push_back(std::min(below.low[i], below.low[j]));
      level.high.push_back(std::max(below.high[i], below.high[j]));
    }
    levels.push_back(std::move(level));
  }
}

ValueRange AxisTable::range(int64_t first, int64_t last) const {
  int32_t low = levels[0].low[first], high = levels[0].high[first];
  auto take = [&](const Level &level, int64_t index) {
    low = std::min(low, level.low[index]);
    high = std::max(high, level.high[index]);
  };
  // Odd ends are taken at their level, the rest is covered one level up.
  for (size_t depth = 0; first <= last; ++depth) {
    const Level &level = levels[depth];
    if (first == last) {
      take(level, first);
      break;
    }
    if (first & 1)
      take(level, first++);
    if (!(last & 1))
      take(level, last--);
    first >>= 1;
    last >>= 1;
  }
  return {low, high};
}

PrefixCount::PrefixCount(int64_t firstIndex, const std::vector<bool> &values)
    : firstIndex(firstIndex), sums(values.size() + 1, 0) {
  for (size_t i = 0; i < values.size(); ++i)
    sums[i + 1] = sums[i] + values[i];
}

int64_t PrefixCount::count(int64_t first, int64_t last) const {
  return int64_t(sums[last - firstIndex + 1]) - sums[first - firstIndex];
}

} // namespace attnc

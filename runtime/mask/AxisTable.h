// Values of one expression along one axis, with the least and the greatest of any range in
// O(log n): a pyramid of minima and maxima over blocks of doubling size.
#pragma once

#include <cstdint>
#include <vector>

namespace attnc {

struct ValueRange {
  int64_t low, high; // attained
};

class AxisTable {
public:
  explicit AxisTable(std::vector<int32_t> values);
  ValueRange range(int64_t first, int64_t last) const; // inclusive
  int32_t at(int64_t index) const { return levels[0].low[index]; }

private:
  struct Level {
    std::vector<int32_t> low, high;
  };
  std::vector<Level> levels;
};

// How often a boolean function of one index is true, over any range, in O(1).
class PrefixCount {
public:
  PrefixCount(int64_t firstIndex, const std::vector<bool> &values);
  int64_t count(int64_t first, int64_t last) const; // inclusive

private:
  int64_t firstIndex;
  std::vector<uint32_t> sums;
};

} // namespace attnc

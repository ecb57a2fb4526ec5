// Properties of the pyramid and the prefix counts, against a loop over the range.
#include "runtime/mask/AxisTable.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"

namespace attnc {
namespace {

TEST(AxisTable, RangesEqualALoop) {
  std::mt19937 random(testing::UnitTest::GetInstance()->random_seed());
  for (int size : {1, 2, 3, 7, 64, 65, 100, 1000}) {
    std::vector<int32_t> values(size);
    for (int32_t &value : values)
      value = static_cast<int32_t>(random());
    const AxisTable table(values);
    for (int round = 0; round < 300; ++round) {
      int first = static_cast<int>(random() % size), last = static_cast<int>(random() % size);
      if (first > last)
        std::swap(first, last);
      const auto [low, high] = std::minmax_element(values.begin() + first, values.begin() + last + 1);
      const ValueRange range = table.range(first, last);
      ASSERT_EQ(range.low, *low) << size << ": " << first << " to " << last;
      ASSERT_EQ(range.high, *high) << size << ": " << first << " to " << last;
    }
  }
}

TEST(PrefixCount, CountsEqualALoop) {
  std::mt19937 random(7);
  std::vector<bool> values(500);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = random() % 3 == 0;
  const PrefixCount counts(-200, values);
  for (int first = -200; first < 300; first += 13)
    for (int last = first; last < 300; last += 17)
      ASSERT_EQ(counts.count(first, last), std::count(values.begin() + first + 200, values.begin() + last + 201, true));
}

} // namespace
} // namespace attnc

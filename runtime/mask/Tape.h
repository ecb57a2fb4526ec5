// Evaluates a function at many points at once: one instruction over a row of points, then
// the next. Used where a value is needed itself rather than its range.
#pragma once

#include <vector>

#include "runtime/mask/ScalarInputs.h"

namespace attnc {

struct Points {
  uint32_t batch = 0, head = 0;
  // One value for all points, or one each.
  std::vector<uint32_t> queries, keys;
  size_t count = 1;
};

class Tape {
public:
  // Only what `results` depend on is evaluated.
  Tape(const Function &function, const ScalarInputs &inputs, const std::vector<ValueId> &results);

  // Leaves the values of every instruction needed; value() then reads them.
  void run(const Points &points);
  uint32_t value(ValueId id, size_t point) const {
    const std::vector<uint32_t> &row = rows[id];
    return row[row.size() == 1 ? 0 : point];
  }

private:
  void evaluate(ValueId id, const Points &points);

  const Function &function;
  const ScalarInputs &inputs;
  std::vector<ValueId> order; // what is needed, in definition order
  std::vector<std::vector<uint32_t>> rows;
};

} // namespace attnc

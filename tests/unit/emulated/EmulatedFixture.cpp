#include "tests/unit/emulated/EmulatedFixture.h"

#include <cmath>

namespace attnc::test {

// The weights of a row sum to one and are rounded to the element type before they meet the
// values, which are of size one, and the output is rounded once: two roundings of half an
// ulp each, plus f32 noise. An output that cancels to less than a value keeps the error of a
// value. The log-sum-exp never leaves f32; it sees what f32 scores of 16-bit inputs lose.
void EmulatedTest::expectNear(const Call &call, const Call &expected) {
  const double ulp = call.dtype == DType::F16 ? 0x1p-11 : 0x1p-8;
  int reported = 0;
  auto expectNearOne = [&](const char *what, int64_t index, double found, double exact, double bound) {
    if (found == exact || std::abs(found - exact) <= bound || reported++ > 3)
      return;
    ADD_FAILURE() << what << " " << index << ": expected " << exact << ", found " << found << ", bound " << bound;
  };
  for (int64_t i = 0; i < call.outputs(); ++i)
    expectNearOne("output", i, call.output(i), expected.output(i), 2 * ulp * (1 + std::abs(expected.output(i))));
  for (int64_t i = 0; i < call.outputs() / call.sizes.valueDim; ++i)
    expectNearOne("lse", i, call.lse(i), expected.lse(i), 1e-5 * (1 + std::abs(expected.lse(i))));
  EXPECT_LE(reported, 0) << "values differ";
}

} // namespace attnc::test

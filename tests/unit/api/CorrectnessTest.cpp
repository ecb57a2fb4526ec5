// Every variant of the standard library against the float64 reference, with random
// captures, odd sizes, grouped heads and poisoned outputs.
#include <cmath>

#include "tests/unit/api/ApiFixture.h"

using namespace attnc;
using namespace attnc::test;

namespace {

class Correctness : public ApiTest {
protected:
  void check(const std::string &name, DType dtype, const Sizes &sizes, unsigned seed, int splitSize) {
    SCOPED_TRACE(testing::Message() << name << " " << dtypeName(dtype) << " " << sizes << " split " << splitSize
                                    << " seed " << seed);
    const Variant variant = stdVariant(name);
    const Kernel kernel = compile(variant, compileOptions(dtype, sizes, splitSize));
    Call call(variant, dtype, sizes, seed), expected(variant, dtype, sizes, seed);
    Status status = kernel.run(call.arguments());
    ASSERT_TRUE(status.ok()) << status.error().message;
    status = runReference(variant, expected.arguments());
    ASSERT_TRUE(status.ok()) << status.error().message;
    compare(call, expected);
  }

  // Outputs are averages of values of size 1: an absolute bound, plus what storing rounds.
  void compare(const Call &call, const Call &expected) {
    const double bound = call.dtype == DType::F32 ? 1e-5 : call.dtype == DType::F16 ? 2e-3 : 2e-2;
    const double relative = call.dtype == DType::F32 ? 1e-5 : call.dtype == DType::F16 ? 2e-3 : 2e-2;
    int reported = 0;
    for (int64_t i = 0; i < call.outputs() && reported < 3; ++i) {
      const double found = call.output(i), exact = expected.output(i);
      if (!(std::abs(found - exact) <= bound + relative * std::abs(exact))) {
        ADD_FAILURE() << "output " << i << ": expected " << exact << ", found " << found;
        ++reported;
      }
    }
    for (int64_t i = 0; i < call.outputs() / call.sizes.valueDim && reported < 3; ++i) {
      const double found = call.lse(i), exact = expected.lse(i);
      if (found != exact &&
          !(std::abs(found - exact) <= 2e-5 * (1 + std::abs(exact)) * (call.dtype == DType::F32 ? 1 : 100))) {
        ADD_FAILURE() << "lse " << i << ": expected " << exact << ", found " << found;
        ++reported;
      }
    }
  }

  void checkAll(DType dtype) {
    auto names = Variant::list("std");
    ASSERT_TRUE(names.ok());
    ASSERT_GT(names->size(), 20u);
    const unsigned seed = std::random_device()();
    for (const std::string &name : *names) {
      // Its buckets jump where a quotient of logarithms is an integer, which f32 and the
      // reference's double may see on different sides. t5_causal has the same code without
      // such a distance.
      if (name == "t5_bidirectional")
        continue;
      check(name, dtype, {2, 4, 2, 75, 140, 65, 16, 24}, seed, 64);
      check(name, dtype, {1, 2, 2, 3, 200, 197, 16, 24}, seed + 1, 64);
      check(name, dtype, {1, 3, 1, 130, 67, 0, 16, 24}, seed + 2, 64);
    }
  }

  void checkDims(DType dtype) {
    const unsigned seed = std::random_device()();
    for (auto [headDim, valueDim] :
         std::vector<std::pair<int, int>>{{1, 1}, {3, 5}, {40, 80}, {64, 64}, {128, 128}, {96, 33}})
      check("alibi_causal", dtype, {1, 2, 1, 70, 150, 80, headDim, valueDim}, seed, 1024);
  }
};

} // namespace

TEST_F(Correctness, CorrectnessF32) { checkAll(DType::F32); }
TEST_F(Correctness, CorrectnessF16) { checkAll(DType::F16); }
TEST_F(Correctness, CorrectnessBF16) { checkAll(DType::BF16); }
TEST_F(Correctness, CorrectnessF32Dims) { checkDims(DType::F32); }
TEST_F(Correctness, CorrectnessF16Dims) { checkDims(DType::F16); }
TEST_F(Correctness, CorrectnessBF16Dims) { checkDims(DType::BF16); }

// Captures in narrower dtypes, and broadcast ones.
TEST_F(Correctness, CorrectnessF32CaptureDtypes) {
  const Sizes sizes = {1, 4, 2, 40, 90, 50, 16, 16};
  const Variant variant = stdVariant("alibi");
  for (DType dtype : {DType::F16, DType::BF16}) {
    CompileOptions options = compileOptions(DType::F32, sizes);
    options.captureDtypes = {{"slopes", dtype}};
    const Kernel kernel = compile(variant, options);
    Call call(variant, DType::F32, sizes, 7), expected(variant, DType::F32, sizes, 7);
    OwnedTensor slopes = *OwnedTensor::zeros(dtype, {4}), exact = *OwnedTensor::zeros(DType::F32, {4});
    for (int i = 0; i < 4; ++i) {
      setElement(slopes.view, i, 0.1 * (i + 1));
      setElement(exact.view, i, element(slopes.view, i));
    }
    call.arguments().bindings.captures = {{"slopes", slopes.view}};
    expected.arguments().bindings.captures = {{"slopes", exact.view}};
    Status status = kernel.run(call.arguments());
    ASSERT_TRUE(status.ok()) << status.error().message;
    ASSERT_TRUE(runReference(variant, expected.arguments()).ok());
    compare(call, expected);
  }
}

TEST_F(Correctness, CorrectnessF32BroadcastCaptures) {
  const Sizes sizes = {2, 4, 4, 40, 90, 50, 16, 16};
  const Variant variant = stdVariant("key_bias");
  const Kernel kernel = compile(variant, compileOptions(DType::F32, sizes));
  Call call(variant, DType::F32, sizes, 7), expected(variant, DType::F32, sizes, 7);
  for (Call *each : {&call, &expected})
    each->arguments().bindings.captures[0].view.strides[0] = 0; // one row for all heads
  ASSERT_TRUE(kernel.run(call.arguments()).ok());
  ASSERT_TRUE(runReference(variant, expected.arguments()).ok());
  compare(call, expected);
}

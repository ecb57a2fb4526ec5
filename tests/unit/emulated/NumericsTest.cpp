// Every variant of the standard library as a CUDA kernel on the emulated device, against the
// float64 reference: random captures, ragged lengths, grouped heads, offsets, splits,
// poisoned outputs.
#include "tests/unit/emulated/EmulatedFixture.h"

using namespace attnc;
using namespace attnc::test;

namespace {

class Numerics : public EmulatedTest {
protected:
  void check(const std::string &name, DType dtype, const std::vector<Sizes> &shapes, unsigned seed, int splitSize,
             const std::string &arch = "sm_80") {
    const Variant variant = stdVariant(name);
    const Kernel kernel = compileEmulated(variant, dtype, shapes[0], splitSize, arch);
    for (const Sizes &sizes : shapes) {
      SCOPED_TRACE(testing::Message() << name << " " << dtypeName(dtype) << " " << arch << " " << sizes << " split "
                                      << splitSize << " seed " << seed);
      Call call(variant, dtype, sizes, seed), expected(variant, dtype, sizes, seed);
      ASSERT_TRUE(runReference(variant, expected.arguments()).ok());
      Status status = kernel.run(call.arguments());
      ASSERT_TRUE(status.ok()) << status.error().message;
      expectNear(call, expected);
    }
  }

  // Half of the variants, so that two processes share the work.
  void checkVariants(DType dtype, size_t parity) {
    auto names = Variant::list("std");
    ASSERT_TRUE(names.ok());
    ASSERT_GT(names->size(), 20u);
    const unsigned seed = std::random_device()();
    for (size_t i = parity; i < names->size(); i += 2) {
      // Its buckets jump where a quotient of logarithms is an integer: see CorrectnessTest.
      if ((*names)[i] == "t5_bidirectional")
        continue;
      check((*names)[i], dtype,
            {{2, 4, 2, 75, 140, 65, 64, 64}, {1, 2, 2, 3, 200, 197, 64, 64}, {1, 3, 1, 130, 67, 0, 64, 64}}, seed, 64);
    }
  }

  void checkDims(DType dtype, const std::vector<std::pair<int, int>> &dims) {
    const unsigned seed = std::random_device()();
    for (auto [headDim, valueDim] : dims)
      for (const char *name : {"alibi_causal", "softcap"})
        check(name, dtype, {{1, 2, 1, 70, 150, 80, headDim, valueDim}, {1, 1, 1, 1, 97, 96, headDim, valueDim}}, seed,
              128);
  }
};

} // namespace

TEST_F(Numerics, VariantsF16Even) { checkVariants(DType::F16, 0); }
TEST_F(Numerics, VariantsF16Odd) { checkVariants(DType::F16, 1); }
TEST_F(Numerics, VariantsBF16Even) { checkVariants(DType::BF16, 0); }
TEST_F(Numerics, VariantsBF16Odd) { checkVariants(DType::BF16, 1); }
TEST_F(Numerics, DimsSmall) { checkDims(DType::BF16, {{8, 8}, {16, 40}, {32, 32}, {40, 16}, {64, 128}}); }
TEST_F(Numerics, DimsMedium) { checkDims(DType::F16, {{72, 72}, {80, 80}, {96, 64}, {128, 128}}); }
TEST_F(Numerics, DimsLarge) { checkDims(DType::BF16, {{136, 136}, {192, 128}, {256, 256}}); }
TEST_F(Numerics, DimsOfOtherArchs) {
  const unsigned seed = std::random_device()();
  for (const char *arch : {"sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"})
    for (int dim : {128, 256})
      check("causal", DType::F16, {{1, 2, 1, 70, 150, 80, dim, dim}}, seed, 128, arch);
}

// No keys, no queries, no heads.
TEST_F(Numerics, DimsOfNothing) {
  const Variant variant = stdVariant("causal");
  const Sizes sizes = {1, 2, 1, 5, 0, 0, 64, 64};
  const Kernel kernel = compileEmulated(variant, DType::F16, sizes);
  Call call(variant, DType::F16, sizes, 1);
  Status status = kernel.run(call.arguments());
  ASSERT_TRUE(status.ok()) << status.error().message;
  for (int64_t i = 0; i < call.outputs(); ++i)
    EXPECT_EQ(call.output(i), 0);
  for (int64_t i = 0; i < 10; ++i)
    EXPECT_EQ(call.lse(i), -INFINITY);
  Call none(variant, DType::F16, {1, 2, 1, 0, 7, 0, 64, 64}, 1);
  EXPECT_TRUE(kernel.run(none.arguments()).ok());
}

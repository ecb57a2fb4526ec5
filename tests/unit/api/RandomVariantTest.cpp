// Random well-typed variants, compiled and run, against the float64 reference: a fuzz of the
// passes and the emitter. Bits are also compared with and without skipping empty tiles.
#include <cstring>

#include "tests/support/RandomVariant.h"
#include "tests/unit/api/ApiFixture.h"

namespace attnc::test {
namespace {

struct Tensors {
  std::vector<float> query, key, value, output, lse;
  RunArguments arguments;

  Tensors(const Sizes &sizes, const Bindings &bindings, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    auto fill = [&](std::vector<float> &into, int64_t count) {
      into.resize(count);
      for (float &element : into)
        element = normal(random);
    };
    const std::vector<int64_t> q = {sizes.batch, sizes.heads, sizes.queries, sizes.headDim};
    const std::vector<int64_t> k = {sizes.batch, sizes.kvHeads, sizes.keys, sizes.headDim};
    fill(query, q[0] * q[1] * q[2] * q[3]);
    fill(key, k[0] * k[1] * k[2] * k[3]);
    fill(value, k[0] * k[1] * k[2] * k[3]);
    output.assign(query.size(), NAN);
    lse.assign(q[0] * q[1] * q[2], NAN);
    arguments.query = TensorView::contiguous(query.data(), DType::F32, q);
    arguments.key = TensorView::contiguous(key.data(), DType::F32, k);
    arguments.value = TensorView::contiguous(value.data(), DType::F32, k);
    arguments.output = TensorView::contiguous(output.data(), DType::F32, q);
    arguments.lse = TensorView::contiguous(lse.data(), DType::F32, {q[0], q[1], q[2]});
    arguments.bindings = bindings;
  }
};

class RandomVariants : public ApiTest {};

TEST_F(RandomVariants, AgreeWithTheReference) {
  const unsigned seed = static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
  std::printf("seed %u (--gtest_random_seed)\n", seed);
  for (unsigned i = 0; i < 60; ++i) {
    const Sizes sizes{.batch = 2, .heads = 2, .kvHeads = 2, .queries = 50, .keys = 90, .headDim = 16, .valueDim = 16};
    const RandomOptions options{.batch = sizes.batch,
                                .heads = sizes.heads,
                                .queries = sizes.queries,
                                .keys = sizes.keys,
                                .hasMask = i % 3 != 0,
                                .hasScore = i % 3 != 1,
                                .depth = 2 + static_cast<int>(i % 3)};
    const RandomVariant made = randomVariant(seed * 104729 + i, options);
    const Variant variant = Variant::fromProgram(made.program);
    const Kernel kernel = compile(variant, compileOptions(DType::F32, sizes));
    Tensors got(sizes, made.bindings, i), expected(sizes, made.bindings, i), visited(sizes, made.bindings, i);
    ASSERT_TRUE(kernel.run(got.arguments).ok());
    ASSERT_TRUE(runReference(variant, expected.arguments).ok());
    visited.arguments.skipEmptyTiles = false;
    ASSERT_TRUE(kernel.run(visited.arguments).ok());
    EXPECT_EQ(std::memcmp(got.output.data(), visited.output.data(), got.output.size() * 4), 0)
        << "skipping changed bits of variant " << i << "\n"
        << variant.ir();
    for (size_t j = 0; j < got.output.size(); ++j) {
      const double difference = std::fabs(got.output[j] - expected.output[j]);
      // A float comparison or a rounding in the variant may fall on the other side in double.
      if (difference > 1e-3 || std::isnan(got.output[j]) != std::isnan(expected.output[j])) {
        EXPECT_FALSE(std::isnan(got.output[j])) << variant.ir();
        ADD_FAILURE() << "variant " << i << " element " << j << ": " << got.output[j] << " against "
                      << expected.output[j] << "\n"
                      << variant.ir();
        return;
      }
    }
  }
}

} // namespace
} // namespace attnc::test

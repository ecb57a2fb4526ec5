// What is masked or beyond the end never reaches a visible row, whatever bits lie there;
// rows that see nothing give 0 and -inf.
#include <cmath>

#include "tests/unit/api/ApiFixture.h"

using namespace attnc;
using namespace attnc::test;

namespace {
class HostileValues : public ApiTest {};
constexpr DType kDtypes[] = {DType::F32, DType::F16, DType::BF16};
// Offsets of lanes are 32 bits wide: a capture that they could leave is refused, never read.
TEST_F(ApiTest, HostileValuesLaneOffsetsBeyond32BitsAreRefused) {
  const Sizes sizes{.queries = 4, .keys = 4};
  const Variant variant = stdVariant("dense_bias");
  const Kernel kernel = compile(variant, compileOptions(DType::F32, sizes));
  Call call(variant, DType::F32, sizes, 1);
  NamedTensor &bias = call.arguments().bindings.captures.at(0);
  bias.view.strides = {0, 0, int64_t(1) << 30, 1}; // spans 3 * 2^30 + 3 elements
  const Status status = kernel.run(call.arguments());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(status.error().message, testing::HasSubstr("'bias'"));
  // The batch axis is addressed in 64 bits and may lie anywhere.
  bias.view.strides = {int64_t(1) << 40, 0, 4, 1};
  EXPECT_TRUE(kernel.run(call.arguments()).ok());
}

} // namespace

// Padding: keys and values from lengths[b] on are NaN or infinite.
TEST_F(HostileValues, HostileValuesInPadding) {
  const Sizes sizes = {3, 2, 1, 70, 200, 0, 24, 40};
  const Variant variant = stdVariant("padding");
  for (DType dtype : kDtypes)
    for (double poison : {double(NAN), double(INFINITY), double(-INFINITY)}) {
      const Kernel kernel = compile(variant, compileOptions(dtype, sizes, 64));
      Call call(variant, dtype, sizes, 21);
      const int64_t lengths[3] = {0, 77, 200};
      for (int b = 0; b < 3; ++b)
        setElement(call.arguments().bindings.captures[0].view, b, static_cast<double>(lengths[b]));
      ASSERT_TRUE(kernel.run(call.arguments()).ok());
      const std::string expected = call.bits();
      for (int64_t b = 0; b < 3; ++b)
        for (int64_t key = lengths[b]; key < sizes.keys; ++key) {
          for (int64_t d = 0; d < sizes.headDim; ++d)
            setElement(call.arguments().key, (b * sizes.keys + key) * sizes.headDim + d, poison);
          for (int64_t d = 0; d < sizes.valueDim; ++d)
            setElement(call.arguments().value, (b * sizes.keys + key) * sizes.valueDim + d, poison);
        }
      for (bool skips : {true, false}) {
        call.poison();
        call.arguments().skipEmptyTiles = skips;
        ASSERT_TRUE(kernel.run(call.arguments()).ok());
        EXPECT_EQ(call.bits() == expected, true) << dtypeName(dtype) << " " << poison << " skips " << skips;
      }
      for (int64_t i = 0; i < sizes.heads * sizes.queries; ++i)
        ASSERT_EQ(call.lse(i), -INFINITY) << "the first sequence has no keys";
      for (int64_t i = 0; i < sizes.heads * sizes.queries * sizes.valueDim; ++i)
        ASSERT_EQ(call.output(i), 0);
    }
}

// Keys and values lie in longer buffers whose rest is NaN, as caches of keys do; rows of
// the query buffer beyond the call, and columns between rows, too.
TEST_F(HostileValues, HostileValuesBeyondTheEnd) {
  for (DType dtype : kDtypes)
    for (int64_t keys : {1, 63, 65, 130}) {
      const Sizes sizes = {1, 2, 2, 19, keys, 300, 20, 12}, longer = {1, 2, 2, 64, 192, 300, 32, 32};
      const Variant variant = stdVariant("full");
      const Kernel kernel = compile(variant, compileOptions(dtype, sizes, 64));
      Call call(variant, dtype, sizes, 5), large(variant, dtype, longer, 5);
      ASSERT_TRUE(kernel.run(call.arguments()).ok());
      RunArguments padded = large.arguments();
      auto place = [&](TensorView &into, const TensorView &from) {
        for (int64_t i = 0; i < into.elements(); ++i)
          setElement(into, i, NAN);
        for (int64_t i = 0; i < from.elements(); ++i) {
          const int64_t d = from.shape[3], rows = from.shape[2];
          setElement(into, i / (d * rows) * into.strides[1] + i / d % rows * into.strides[2] + i % d, element(from, i));
        }
        into.shape = from.shape;
      };
      place(padded.query, call.arguments().query);
      place(padded.key, call.arguments().key);
      place(padded.value, call.arguments().value);
      padded.output = call.arguments().output;
      padded.lse = call.arguments().lse;
      const std::string expected = call.bits();
      call.poison();
      Status status = kernel.run(padded);
      ASSERT_TRUE(status.ok()) << status.error().message;
      EXPECT_EQ(call.bits() == expected, true) << dtypeName(dtype) << " keys " << keys;
    }
}

// Nothing but the rows of the call is written.
TEST_F(HostileValues, HostileValuesOutputStaysInside) {
  constexpr double kUntouched = 768; // exact in every dtype
  for (DType dtype : kDtypes)
    for (int64_t queries : {1, 15, 17, 63, 65}) {
      const Sizes sizes = {1, 2, 2, queries, 70, 80, 16, 19}, longer = {1, 2, 2, 100, 70, 80, 16, 32};
      const Variant variant = stdVariant("causal");
      const Kernel kernel = compile(variant, compileOptions(dtype, sizes));
      Call call(variant, dtype, sizes, 5), large(variant, dtype, longer, 5);
      RunArguments arguments = call.arguments();
      arguments.output = large.arguments().output;
      for (int64_t i = 0; i < arguments.output.elements(); ++i)
        setElement(arguments.output, i, kUntouched);
      arguments.output.shape = call.arguments().output.shape;
      ASSERT_TRUE(kernel.run(arguments).ok());
      for (int64_t i = 0; i < 2 * 100 * 32; ++i) {
        const bool isInside = i % 32 < 19 && i / 32 % 100 < queries;
        const double value = element(large.arguments().output, i);
        ASSERT_EQ(value == kUntouched, !isInside)
            << dtypeName(dtype) << " queries " << queries << " element " << i << " is " << value;
      }
    }
}

// A NaN that is visible is the user's own: it reaches the rows that see it and no others.
TEST_F(HostileValues, HostileValuesVisibleNanStaysInItsRows) {
  const Sizes sizes = {1, 1, 1, 150, 150, 0, 16, 16};
  const Variant variant = stdVariant("causal");
  for (DType dtype : kDtypes) {
    const Kernel kernel = compile(variant, compileOptions(dtype, sizes, 64));
    Call call(variant, dtype, sizes, 9);
    setElement(call.arguments().value, 100 * 16 + 3, NAN);
    ASSERT_TRUE(kernel.run(call.arguments()).ok());
    for (int64_t row = 0; row < 150; ++row)
      for (int64_t d = 0; d < 16; ++d)
        ASSERT_EQ(std::isnan(call.output(row * 16 + d)), row >= 100 && d == 3)
            << dtypeName(dtype) << " row " << row << " column " << d;
  }
}

TEST_F(HostileValues, HostileValuesNoKeysAtAll) {
  for (const char *name : {"causal", "full"})
    for (DType dtype : kDtypes) {
      const Sizes sizes = {1, 2, 2, 20, 0, 0, 16, 16};
      const Variant variant = stdVariant(name);
      Call call(variant, dtype, sizes, 1);
      Status status = compile(variant, compileOptions(dtype, sizes)).run(call.arguments());
      ASSERT_TRUE(status.ok()) << status.error().message;
      for (int64_t i = 0; i < call.outputs(); ++i)
        ASSERT_EQ(call.output(i), 0);
      for (int64_t i = 0; i < call.outputs() / 16; ++i)
        ASSERT_EQ(call.lse(i), -INFINITY);
    }
}

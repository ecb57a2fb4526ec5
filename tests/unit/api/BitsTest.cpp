// The determinism contract on real kernels: the bits of a row depend on the configuration,
// its own query and its own keys, and on nothing else.
#include <cstring>

#include "codegen/cpu/KernelConfig.h"
#include "tests/unit/api/ApiFixture.h"

using namespace attnc;
using namespace attnc::test;

namespace {

constexpr const char *kVariants[] = {"full",         "causal",         "alibi_causal",
                                     "gemma2_local", "attention_sink", "document_causal"};
constexpr DType kDtypes[] = {DType::F32, DType::F16, DType::BF16};

class Bits : public ApiTest {
protected:
  template <typename Body> void forEach(const Sizes &sizes, Body body) {
    unsigned seed = std::random_device()();
    for (const char *name : kVariants)
      for (DType dtype : kDtypes) {
        SCOPED_TRACE(testing::Message() << name << " " << dtypeName(dtype) << " " << sizes << " seed " << seed);
        const Variant variant = stdVariant(name);
        body(variant, dtype, seed++);
      }
  }
  static void run(const Kernel &kernel, Call &call, LaunchChoices choices = {}) {
    call.poison();
    Status status = runKernel(*kernel.internals(), call.arguments(), nullptr, choices);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
};

} // namespace

TEST_F(Bits, BitsThreadsSchedulesSplitsAndSkipping) {
  const Sizes sizes = {1, 2, 1, 70, 600, 530, 40, 24};
  forEach(sizes, [&](const Variant &variant, DType dtype, unsigned seed) {
    Call call(variant, dtype, sizes, seed);
    std::string expected;
    for (int threads : {1, 2, 7}) {
      const Kernel kernel = compile(variant, compileOptions(dtype, sizes, 128), context(threads));
      for (auto schedule : {LaunchChoices::Narrowest, LaunchChoices::Widest})
        for (auto splits : {LaunchChoices::NeverParallel, LaunchChoices::AlwaysParallel})
          for (bool skips : {true, false}) {
            call.arguments().skipEmptyTiles = skips;
            run(kernel, call, {schedule, splits});
            if (expected.empty())
              expected = call.bits();
            ASSERT_EQ(call.bits() == expected, true)
                << threads << " threads, schedule " << schedule << ", splits " << splits << ", skips " << skips;
          }
    }
  });
}

// Rows computed in chunks, down to one at a time, as decoding does.
TEST_F(Bits, BitsChunks) {
  const Sizes sizes = {1, 2, 1, 90, 300, 210, 32, 32};
  forEach(sizes, [&](const Variant &variant, DType dtype, unsigned seed) {
    Call call(variant, dtype, sizes, seed);
    const Kernel kernel = compile(variant, compileOptions(dtype, sizes, 128));
    run(kernel, call);
    const std::string expected = call.bits();
    for (int64_t rows : {1, 13, 64, 65}) {
      call.poison();
      for (int64_t first = 0; first < sizes.queries; first += rows) {
        Status status = kernel.run(chunkOf(call.arguments(), first, std::min(rows, sizes.queries - first)));
        ASSERT_TRUE(status.ok()) << status.error().message;
      }
      ASSERT_EQ(call.bits() == expected, true) << "chunks of " << rows;
    }
  });
}

// One sequence alone, and the same one among others.
TEST_F(Bits, BitsBatch) {
  const Sizes sizes = {3, 2, 2, 20, 130, 110, 32, 32};
  for (const char *name : {"full", "causal", "gemma2_local"})
    for (DType dtype : kDtypes) {
      const Variant variant = stdVariant(name);
      const Kernel kernel = compile(variant, compileOptions(dtype, sizes, 64));
      Call call(variant, dtype, sizes, 11);
      run(kernel, call);
      const std::string expected = call.bits();
      call.poison();
      for (int64_t batch = 0; batch < sizes.batch; ++batch) {
        RunArguments one = call.arguments();
        for (TensorView *view : {&one.query, &one.key, &one.value, &one.output, &*one.lse}) {
          view->data =
              static_cast<char *>(view->data) + batch * view->strides[0] * static_cast<int64_t>(dtypeSize(view->dtype));
          view->shape[0] = 1;
        }
        ASSERT_TRUE(kernel.run(one).ok());
      }
      EXPECT_EQ(call.bits() == expected, true) << name << " " << dtypeName(dtype);
    }
}

// The same code for every instruction family gives the same bits.
TEST_F(Bits, BitsInstructionFamilies) {
  const Sizes sizes = {1, 2, 1, 70, 200, 130, 40, 24};
  forEach(sizes, [&](const Variant &variant, DType dtype, unsigned seed) {
    Call call(variant, dtype, sizes, seed);
    std::string expected;
    for (cpu::Isa isa : {cpu::Isa::Sse, cpu::Isa::Avx2, cpu::Isa::Avx512, cpu::Isa::Avx512Bf16, cpu::Isa::Neon}) {
      if (!cpu::hostRuns(isa))
        continue;
      CompileOptions options = compileOptions(dtype, sizes, 64);
      options.target = "cpu:" + std::string(cpu::isaName(isa));
      run(compile(variant, options), call);
      if (expected.empty())
        expected = call.bits();
      EXPECT_EQ(call.bits() == expected, true) << options.target;
    }
  });
}

// Memory layout: [batch, sequence, heads, dim] views of the same numbers.
TEST_F(Bits, BitsStrides) {
  const Sizes sizes = {2, 4, 2, 33, 100, 67, 16, 16};
  const Variant variant = stdVariant("causal");
  const Kernel kernel = compile(variant, compileOptions(DType::F32, sizes));
  Call call(variant, DType::F32, sizes, 3);
  run(kernel, call);
  RunArguments other = call.arguments();
  std::vector<OwnedTensor> owned;
  auto transpose = [&](TensorView &view) {
    const TensorView from = view;
    owned.push_back(*OwnedTensor::zeros(DType::F32, {from.shape[0], from.shape[2], from.shape[1], from.shape[3]}));
    const int64_t s = from.shape[2], h = from.shape[1], d = from.shape[3];
    view.data = owned.back().view.data;
    view.strides = {s * h * d, d, h * d, 1};
    for (int64_t i = 0; i < from.elements(); ++i) {
      const int64_t b = i / (h * s * d), head = i / (s * d) % h, row = i / d % s, column = i % d;
      setElement(view, b * view.strides[0] + head * d + row * h * d + column, element(from, i));
    }
  };
  for (TensorView *view : {&other.query, &other.key, &other.value, &other.output})
    transpose(*view);
  ASSERT_TRUE(kernel.run(other).ok());
  for (int64_t b = 0, i = 0; b < 2; ++b)
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t row = 0; row < 33; ++row)
        for (int64_t d = 0; d < 16; ++d, ++i)
          ASSERT_EQ(call.output(i), element(other.output, b * other.output.strides[0] + h * other.output.strides[1] +
                                                              row * other.output.strides[2] + d));
}

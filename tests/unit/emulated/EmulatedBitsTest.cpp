// The determinism contract on CUDA kernels: the bits of a row depend on the configuration,
// its own query and its own keys. Here that also means: not on when copies land, in which
// order CTAs and warps run, or how many CTAs are resident.
#include "tests/unit/emulated/EmulatedFixture.h"

using namespace attnc;
using namespace attnc::test;
using emulator::AsyncPolicy;

namespace {

constexpr const char *kVariants[] = {"full",         "causal",         "alibi_causal",
                                     "gemma2_local", "attention_sink", "document_causal"};

class EmulatedBits : public EmulatedTest {
protected:
  template <typename Body> void forEach(const Sizes &sizes, int splitSize, Body body) {
    unsigned seed = std::random_device()();
    for (const char *name : kVariants) {
      const DType dtype = seed % 2 ? DType::F16 : DType::BF16;
      SCOPED_TRACE(testing::Message() << name << " " << dtypeName(dtype) << " " << sizes << " seed " << seed);
      const Variant variant = stdVariant(name);
      const Kernel kernel = compileEmulated(variant, dtype, sizes, splitSize);
      Call call(variant, dtype, sizes, seed++);
      call.poison();
      launch(kernel, call.arguments());
      body(kernel, call, call.bits());
    }
  }
};

} // namespace

TEST_F(EmulatedBits, SchedulesAndCopies) {
  forEach({1, 2, 1, 140, 300, 160, 64, 64}, 128, [&](const Kernel &kernel, Call &call, const std::string &expected) {
    for (AsyncPolicy policy : {AsyncPolicy::Latest, AsyncPolicy::Eager, AsyncPolicy::Random})
      for (uint64_t seed : {0, 1, 2})
        for (int resident : {1, 0}) {
          call.poison();
          launch(kernel, call.arguments(), {.async = policy, .seed = seed, .residentCtas = resident});
          ASSERT_TRUE(call.bits() == expected)
              << "policy " << int(policy) << " seed " << seed << " resident " << resident;
        }
  });
}

TEST_F(EmulatedBits, WideHeads) {
  forEach({1, 1, 1, 70, 200, 130, 160, 256}, 128, [&](const Kernel &kernel, Call &call, const std::string &expected) {
    for (AsyncPolicy policy : {AsyncPolicy::Eager, AsyncPolicy::Random}) {
      call.poison();
      launch(kernel, call.arguments(), {.async = policy, .seed = 7, .residentCtas = 0});
      ASSERT_TRUE(call.bits() == expected) << "policy " << int(policy);
    }
  });
}

TEST_F(EmulatedBits, SkippingAndBlockSizes) {
  for (int dim : {64, 160})
    forEach(
        {1, 2, 1, 140, 300, 160, dim, dim}, 128, [&](const Kernel &kernel, Call &call, const std::string &expected) {
          call.arguments().skipEmptyTiles = false;
          call.poison();
          launch(kernel, call.arguments());
          ASSERT_TRUE(call.bits() == expected) << "every tile";
          call.arguments().skipEmptyTiles = true;
          const Sizes &s = call.sizes;
          const Problem problem{s.batch, s.heads, s.kvHeads, s.queries, s.keys, s.headDim, s.valueDim, s.offset};
          for (auto [blockM, blockN] : {std::pair(16, 64), std::pair(64, 64), std::pair(96, 128), std::pair(256, 64)}) {
            auto mask = BlockMask::create(kernel.variant(), problem, call.arguments().bindings, blockM, blockN);
            ASSERT_TRUE(mask.ok()) << mask.error().message;
            call.arguments().blockMask = &*mask;
            call.poison();
            launch(kernel, call.arguments());
            ASSERT_TRUE(call.bits() == expected) << blockM << " x " << blockN;
            auto lists = BlockLists::create(kernel, *mask);
            ASSERT_TRUE(lists.ok()) << lists.error().message;
            call.arguments().blockMask = nullptr;
            call.arguments().blockLists = &*lists;
            call.poison();
            launch(kernel, call.arguments());
            ASSERT_TRUE(call.bits() == expected) << "lists of " << blockM << " x " << blockN;
            call.arguments().blockLists = nullptr;
          }
        });
}

// Rows computed in chunks, down to one at a time, as prefill in chunks and decoding do.
TEST_F(EmulatedBits, Chunks) {
  const Sizes sizes = {1, 2, 1, 70, 300, 230, 64, 64};
  forEach(sizes, 128, [&](const Kernel &kernel, Call &call, const std::string &expected) {
    for (int64_t rows : {1, 13, 64}) {
      call.poison();
      for (int64_t first = 0; first < sizes.queries; first += rows) {
        const RunArguments chunk = chunkOf(call.arguments(), first, std::min(rows, sizes.queries - first));
        launch(kernel, chunk, {.check = rows != 1});
      }
      ASSERT_TRUE(call.bits() == expected) << "chunks of " << rows;
    }
  });
}

// One sequence alone, and the same one among others.
TEST_F(EmulatedBits, BatchCompanions) {
  const Sizes sizes = {3, 2, 2, 20, 130, 110, 64, 64};
  for (const char *name : {"full", "causal", "gemma2_local"}) {
    const Variant variant = stdVariant(name);
    const Kernel kernel = compileEmulated(variant, DType::BF16, sizes, 64);
    Call call(variant, DType::BF16, sizes, 11);
    launch(kernel, call.arguments());
    const std::string expected = call.bits();
    call.poison();
    for (int64_t batch = 0; batch < sizes.batch; ++batch) {
      RunArguments one = call.arguments();
      for (TensorView *view : {&one.query, &one.key, &one.value, &one.output, &*one.lse}) {
        view->data =
            static_cast<char *>(view->data) + batch * view->strides[0] * static_cast<int64_t>(dtypeSize(view->dtype));
        view->shape[0] = 1;
      }
      launch(kernel, one);
    }
    EXPECT_TRUE(call.bits() == expected) << name;
  }
}

// Keys beyond what a row sees change nothing, whatever they hold.
TEST_F(EmulatedBits, UnseenKeys) {
  const Sizes sizes = {1, 1, 1, 70, 200, 60, 64, 64};
  for (const char *name : {"causal", "gemma2_local"})
    for (double poison : {double(NAN), double(INFINITY), 1e4}) {
      const Variant variant = stdVariant(name);
      const Kernel kernel = compileEmulated(variant, DType::BF16, sizes, 64);
      Call call(variant, DType::BF16, sizes, 5);
      launch(kernel, call.arguments());
      const std::string expected = call.bits();
      call.poison();
      for (int64_t key = sizes.offset + sizes.queries; key < sizes.keys; ++key)
        for (int d = 0; d < 64; ++d) {
          setElement(call.arguments().key, key * 64 + d, poison);
          setElement(call.arguments().value, key * 64 + d, poison);
        }
      launch(kernel, call.arguments());
      EXPECT_TRUE(call.bits() == expected) << name << " " << poison;
    }
}

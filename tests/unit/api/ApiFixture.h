// Contexts over the real compiler, and calls with random data for any variant: since every
// operation of the language is total, random captures are meaningful for all of them.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "attnc/attnc.h"
#include "runtime/KernelState.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attnc::test {

// Where the compiler library is; empty if there is none.
std::string compilerPath();

// One context for the whole process, kernels in memory only.
const Context &context(int threads = 2);

Variant stdVariant(const std::string &name);

struct Sizes {
  int64_t batch = 1, heads = 1, kvHeads = 1, queries = 1, keys = 1, offset = 0;
  int headDim = 16, valueDim = 16;
};
std::ostream &operator<<(std::ostream &out, const Sizes &sizes);

// Memory of one call: query, key, value, poisoned output and lse, captures, params.
class Call {
public:
  Call(const Variant &variant, DType dtype, Sizes sizes, unsigned seed);

  void poison(); // NaN in output and lse
  RunArguments &arguments() { return args; }
  // Bytes of the results, for comparison.
  std::string bits() const;
  double output(int64_t index) const;
  double lse(int64_t index) const { return static_cast<const float *>(args.lse->data)[index]; }
  int64_t outputs() const { return args.output.elements(); }

  const Sizes sizes;
  const DType dtype;

private:
  TensorView tensor(DType dtype, std::vector<int64_t> shape);
  void fillNormal(const TensorView &view, double deviation);
  void bindCaptures(const Program &program);

  std::mt19937 random;
  std::vector<OwnedTensor> owned;
  RunArguments args;
};

void setElement(const TensorView &view, int64_t index, double value);
double element(const TensorView &view, int64_t index);

// A row's numbers in a larger call: rows [first, first + count) of every head as a call of
// its own, with the offset that keeps q_idx.
RunArguments chunkOf(const RunArguments &whole, int64_t first, int64_t count);

CompileOptions compileOptions(DType dtype, const Sizes &sizes, int splitSize = 1024);

class ApiTest : public testing::Test {
protected:
  void SetUp() override {
    if (compilerPath().empty())
      GTEST_SKIP() << "no compiler library: build with ATTNC_COMPILER=ON or set ATTNC_COMPILER";
  }
  Kernel compile(const Variant &variant, const CompileOptions &options, const Context &in = context()) {
    auto kernel = in.compile(variant, options);
    EXPECT_TRUE(kernel.ok()) << variant.name() << ": " << kernel.error().message;
    return *kernel;
  }
};

} // namespace attnc::test

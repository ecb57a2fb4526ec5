// The kernels that attnc writes, run two ways that share nothing but the text: as PTX by NVRTC in
// the emulator, and compiled for the processor behind a shim. All bits must be equal, and near
// attention in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "codegen/cuda/device/abi.cuh"
#include "runtime/emulator/Formats.h"
#include "tests/unit/emulator/CudaFile.h"
#include "tests/unit/emulator/HostKernel.h"
#include "tests/unit/emulator/PtxRunner.h"

namespace attnc::emulator {

namespace {

// A variant, the shapes it is run on, and what it means.
struct Case {
  std::string name;
  std::string variant; // for `attnc dump`; text if it has a brace
  std::string dtype = "bf16";
  int headDim = 64, valueDim = 64, splitSize = 1024;
  int batch = 1, heads = 2, kvHeads = 2, queries = 200, keys = 200;
  std::function<bool(int query, int key)> keeps = [](int, int) { return true; };
  std::vector<float> slopes = {}; // of heads, on the distance
  bool hasNonFinite = false;      // among the values
};
void PrintTo(const Case &test, std::ostream *stream) { *stream << test.name; }

std::string dump(const Case &test) {
  std::string variant = test.variant;
  const std::string file = (std::filesystem::temp_directory_path() / ("attnc_shim_" + test.name + ".attn")).string();
  if (variant.find('{') != std::string::npos) {
    std::ofstream(file) << variant;
    variant = file;
  }
  const std::string command =
      std::string(ATTNC_TOOL) + " dump " + variant + " --emit=cuda --target=sm_80 --dtype=" + test.dtype +
      " --head-dim=" + std::to_string(test.headDim) + " --value-dim=" + std::to_string(test.valueDim) +
      " --split-size=" + std::to_string(test.splitSize) + " 2>&1";
  std::string text;
  if (FILE *pipe = popen(command.c_str(), "r")) { // NOLINT: a fixed command
    char buffer[4096];
    while (const size_t size = std::fread(buffer, 1, sizeof buffer, pipe))
      text.append(buffer, size);
    EXPECT_EQ(pclose(pipe), 0) << text;
  }
  std::filesystem::remove(file);
  return text;
}

using Words = std::vector<uint16_t>;

struct Inputs {
  Format format;
  Words query, key, value;

  explicit Inputs(const Case &test) : format(test.dtype == "bf16" ? Format::BF16 : Format::F16) {
    std::mt19937 random(17);
    std::normal_distribution<float> normal;
    const auto fill = [&](Words &words, int heads, int rows, int columns) {
      words.resize(size_t(test.batch) * heads * rows * columns);
      for (uint16_t &word : words)
        word = uint16_t(narrow(format, normal(random)));
    };
    fill(query, test.heads, test.queries, test.headDim);
    fill(key, test.kvHeads, test.keys, test.headDim);
    fill(value, test.kvHeads, test.keys, test.valueDim);
    if (test.hasNonFinite)
      for (float odd : {NAN, INFINITY, -INFINITY})
        for (int i = 0; i < 5; ++i)
          value[random() % value.size()] = uint16_t(narrow(format, odd));
  }
};

// Of every block of queries the tiles that it sees, as full and partial ones; one slice for all.
struct Lists {
  std::vector<int> slices, offsets = {0};
  std::vector<attnc_device::Run> runs;

  Lists(const Case &test, int blockQueries, int blockKeys) : slices(size_t(test.batch) * test.heads) {
    for (int first = 0; first < test.queries; first += blockQueries) {
      for (int tile = 0; tile * blockKeys < test.keys; ++tile)
        add(test, first, std::min(first + blockQueries, test.queries), tile, blockKeys);
      offsets.push_back(int(runs.size()));
    }
  }

  void add(const Case &test, int first, int end, int tile, int blockKeys) {
    bool sees = false, misses = (tile + 1) * blockKeys > test.keys;
    for (int query = first; query < end; ++query)
      for (int key = tile * blockKeys; key < std::min((tile + 1) * blockKeys, test.keys); ++key)
        (test.keeps(query, key) ? sees : misses) = true;
    if (sees)
      runs.push_back({tile, 2 | int(misses)});
  }
};

struct Outputs {
  Words output;
  std::vector<float> lse;
  explicit Outputs(const Case &test)
      : output(size_t(test.batch) * test.heads * test.queries * test.valueDim, 0x1234),
        lse(size_t(test.batch) * test.heads * test.queries, -7) {}
};

void setStrides(long long (&strides)[3], int heads, int rows, int columns) {
  strides[0] = (long long)heads * rows * columns;
  strides[1] = (long long)rows * columns;
  strides[2] = columns;
}

// The kernel's parameter: a Call and, with slopes, the one captured tensor.
std::vector<std::byte> parameters(const Case &test, const Inputs &inputs, const Lists &lists, Outputs &outputs) {
  attnc_device::Call call = {};
  call.query = inputs.query.data(), call.key = inputs.key.data(), call.value = inputs.value.data();
  call.output = outputs.output.data(), call.lse = outputs.lse.data();
  setStrides(call.queryStrides, test.heads, test.queries, test.headDim);
  setStrides(call.keyStrides, test.kvHeads, test.keys, test.headDim);
  setStrides(call.valueStrides, test.kvHeads, test.keys, test.valueDim);
  setStrides(call.outputStrides, test.heads, test.queries, test.valueDim);
  setStrides(call.lseStrides, test.heads, test.queries, 1);
  call.slices = lists.slices.data(), call.runOffsets = lists.offsets.data(), call.runs = lists.runs.data();
  call.batch = test.batch, call.heads = test.heads, call.kvHeads = test.kvHeads;
  call.queryLength = test.queries, call.kvLength = test.keys;
  call.scale = 1 / std::sqrt(float(test.headDim));
  std::vector<std::byte> bytes = argument(call);
  if (!test.slopes.empty()) {
    attnc_device::Capture capture = {};
    capture.data = test.slopes.data();
    capture.strides[0] = 1;
    capture.shape[0] = int(test.slopes.size());
    const std::vector<std::byte> more = argument(capture);
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  return bytes;
}

void emulate(const Case &test, const Module &module, const HostKernel::Shape &shape, std::array<uint32_t, 3> grid,
             const Inputs &inputs, const Lists &lists, Outputs &outputs, const Options &options) {
  Launch launch;
  launch.kernel = "attnc_forward";
  launch.grid = grid;
  launch.block = {shape.threads, 1, 1};
  launch.dynamicSharedBytes = shape.sharedBytes;
  launch.arguments = {parameters(test, inputs, lists, outputs)};
  std::vector<MemoryRegion> memory;
  const auto add = [&](const char *name, const auto &data, bool isWritable) {
    memory.push_back(
        {name, const_cast<void *>(static_cast<const void *>(data.data())), data.size() * sizeof(data[0]), isWritable});
  };
  add("query", inputs.query, false), add("key", inputs.key, false), add("value", inputs.value, false);
  add("output", outputs.output, true), add("lse", outputs.lse, true);
  add("slices", lists.slices, false), add("offsets", lists.offsets, false), add("runs", lists.runs, false);
  if (!test.slopes.empty())
    add("slopes", test.slopes, false);
  Result<Report> report = run(module, launch, memory, options);
  ASSERT_TRUE(report) << report.error().message;
  for (const Finding &finding : report->findings)
    ADD_FAILURE() << finding.text();
}

// The largest difference from attention in double precision, of finite results.
double errorOf(const Case &test, const Inputs &inputs, const Outputs &outputs) {
  double worst = 0;
  const auto at = [&](const Words &words, int head, int rows, int row, int columns, int column) {
    return double(widen(inputs.format, words[((size_t(head) * rows) + row) * columns + column]));
  };
  for (int head = 0; head < test.batch * test.heads; ++head)
    for (int query = 0; query < test.queries; ++query) {
      const int kvHead = head / (test.heads / test.kvHeads);
      std::vector<double> sums(test.valueDim);
      double total = 0;
      for (int key = 0; key < test.keys; ++key) {
        if (!test.keeps(query, key))
          continue;
        double score = 0;
        for (int x = 0; x < test.headDim; ++x)
          score += at(inputs.query, head, test.queries, query, test.headDim, x) *
                   at(inputs.key, kvHead, test.keys, key, test.headDim, x);
        score /= std::sqrt(test.headDim);
        if (!test.slopes.empty())
          score += double(test.slopes[head % test.heads]) * (key - query);
        const double weight = std::exp(score);
        total += weight;
        for (int x = 0; x < test.valueDim; ++x)
          sums[x] += weight * at(inputs.value, kvHead, test.keys, key, test.valueDim, x);
      }
      for (int x = 0; x < test.valueDim; ++x) {
        const double expected = total == 0 ? 0 : sums[x] / total;
        const double actual = at(outputs.output, head, test.queries, query, test.valueDim, x);
        worst = std::max(worst, std::isfinite(expected) ? (std::isfinite(actual) ? std::fabs(expected - actual) : 1e9)
                                : std::isnan(expected)  ? (std::isnan(actual) ? 0 : 1e9)
                                : expected == actual    ? 0
                                                        : 1e9);
      }
    }
  return worst;
}

const std::vector<Case> kCases = {
    {.name = "CausalInSplits",
     .variant = "std:causal",
     .splitSize = 128,
     .queries = 300,
     .keys = 300,
     .keeps = [](int query, int key) { return key <= query; }},
    {.name = "AlibiInF16",
     .variant = "std:alibi",
     .dtype = "f16",
     .heads = 4,
     .kvHeads = 2,
     .queries = 130,
     .keys = 190,
     .slopes = {0.5F, 0.25F, 0.125F, 0.0625F}},
    {.name = "RaggedHeads",
     .variant = "std:causal",
     .dtype = "f16",
     .headDim = 40,
     .valueDim = 88,
     .batch = 2,
     .queries = 70,
     .keys = 70,
     .keeps = [](int query, int key) { return key <= query; }},
    {.name = "ThinnedMask",
     .variant = "variant thinned { mask_mod = (q_idx * 7 + kv_idx) % 3 != 0 and kv_idx < q_idx + 90; }",
     .headDim = 32,
     .valueDim = 32,
     .splitSize = 128,
     .queries = 150,
     .keys = 260,
     .keeps = [](int query, int key) { return (query * 7 + key) % 3 != 0 && key < query + 90; }},
    {.name = "NonFiniteValues",
     .variant = "std:causal",
     .headDim = 32,
     .valueDim = 32,
     .queries = 140,
     .keys = 140,
     .keeps = [](int query, int key) { return key <= query; },
     .hasNonFinite = true},
};

class Shim : public testing::TestWithParam<Case> {};

} // namespace

TEST(InlinePtx, BecomesCalls) {
  const auto rewritten = withoutInlinePtx(
      "x; asm volatile(\"a %0, [%1];\" : \"=r\"(f(a::b, 1)[0]), \"+f\"(d) : \"r\"(x ? y : z) : \"memory\"); asmx(1);"
      "asm(\"b\" \"c\" ::: \"memory\");");
  ASSERT_TRUE(rewritten);
  EXPECT_EQ(*rewritten, "x; ::host::Asm(\"a %0, [%1];\" ).out(f(a::b, 1)[0]).out(d) .in(x ? y : z) .run(); asmx(1);"
                        "::host::Asm(\"b\" \"c\" ).run();");
  EXPECT_FALSE(withoutInlinePtx("asm(\"b\""));
}

TEST_P(Shim, HasTheEmulatorsBits) {
  const Case &test = GetParam();
  const std::string text = dump(test);
  const auto ptx = compileText(text, "kernel.cu", "sm_80");
  if (!ptx)
    GTEST_SKIP() << "NVRTC is not installed";
  Result<Module> module = Module::parse(*ptx);
  ASSERT_TRUE(module) << module.error().message;
  Result<HostKernel> host = HostKernel::compile(text);
  ASSERT_TRUE(host) << host.error().message;
  const HostKernel::Shape &shape = host->shape();

  const Inputs inputs(test);
  const Lists lists(test, int(shape.blockQueries), int(shape.blockKeys));
  const std::array<uint32_t, 3> grid = {uint32_t(lists.offsets.size() - 1), uint32_t(test.heads), uint32_t(test.batch)};
  Outputs emulated(test), native(test);
  const std::vector<std::byte> arguments = parameters(test, inputs, lists, native);
  ASSERT_EQ(arguments.size(), shape.parameterBytes);
  for (const Options &options : allSchedules()) {
    emulated = Outputs(test);
    emulate(test, *module, shape, grid, inputs, lists, emulated, options);
  }
  ASSERT_EQ(host->run(arguments.data(), grid), "");
  EXPECT_EQ(emulated.output, native.output);
  EXPECT_EQ(std::memcmp(emulated.lse.data(), native.lse.data(), 4 * native.lse.size()), 0);
  EXPECT_LT(errorOf(test, inputs, native), test.dtype == "bf16" ? 3e-2 : 4e-3);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Shim, testing::ValuesIn(kCases), [](const auto &info) { return info.param.name; });

} // namespace attnc::emulator

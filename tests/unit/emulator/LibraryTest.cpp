// Kernels that we did not write: NVIDIA's CUB and libcu++ from the installed toolkit, through
// NVRTC, give what plain C++ gives, under every schedule and without a finding.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <random>

#include "tests/unit/emulator/CudaFile.h"
#include "tests/unit/emulator/PtxRunner.h"

namespace attnc::emulator {

namespace {

using Words = std::vector<uint32_t>;

constexpr size_t kThreads = 128, kItems = 512, kCtas = 3; // of kernels/cub.cu

// A kernel of a library, and what it makes of its input.
struct Case {
  std::string kernel;
  size_t inWords, outWords; // of a CTA
  std::function<Words(const Words &in, size_t cta)> expected;
  // A read that its writers know to be of nothing, and whose value they never use.
  bool readsUnwrittenShared = false;
};
void PrintTo(const Case &test, std::ostream *stream) { *stream << test.kernel; }

// The libraries ask for headers that only a toolkit brings. Compiled once a file and generation.
const std::optional<Module> &library(const std::string &file, const std::string &arch) {
  static std::map<std::string, std::optional<Module>> modules;
  auto [place, isNew] = modules.try_emplace(file + arch);
#ifdef ATTNC_CCCL_INCLUDE
  if (isNew)
    place->second = compileFile(file, arch, {"-I" ATTNC_CUDA_INCLUDE, "-I" ATTNC_CCCL_INCLUDE, "--device-int128"});
#endif
  return place->second;
}

Words randomWords(size_t count) {
  std::mt19937 random(5);
  Words words(count);
  for (uint32_t &word : words)
    word = random() >> (random() % 24);
  return words;
}

RunResult runLibrary(const Module &module, const Case &test, const Words &in, Words &out, size_t ctas,
                     const Options &options) {
  Launch launch;
  launch.kernel = test.kernel;
  launch.grid = {uint32_t(ctas), 1, 1};
  launch.block = {kThreads, 1, 1};
  launch.arguments = {argument(out.data()), argument(in.data())};
  const std::vector<MemoryRegion> memory = {{"out", out.data(), out.size() * 4, true},
                                            {"in", const_cast<uint32_t *>(in.data()), in.size() * 4, false}};
  RunResult result;
  Result<Report> report = run(module, launch, memory, options);
  if (report)
    result.report = *report;
  else
    result.error = report.error().message;
  return result;
}

void check(const std::string &file, const std::string &arch, const Case &test, size_t ctas) {
  const std::optional<Module> &module = library(file, arch);
  if (!module)
    GTEST_SKIP() << "NVRTC or the toolkit's headers are not installed";
  const Words in = randomWords(test.inWords * ctas);
  Words expected;
  for (size_t cta = 0; cta < ctas; ++cta) {
    const auto first = in.begin() + ptrdiff_t(cta * test.inWords);
    Words part = test.expected(Words(first, first + ptrdiff_t(test.inWords)), cta);
    part.resize(test.outWords);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  for (const Options &options : allSchedules()) {
    Words out(expected.size());
    RunResult result = runLibrary(*module, test, in, out, ctas, options);
    if (test.readsUnwrittenShared)
      std::erase_if(result.report.findings,
                    [](const Finding &finding) { return finding.kind == FindingKind::UninitialisedShared; });
    ASSERT_EQ(result.texts(), "") << test.kernel << " policy " << int(options.async) << " seed " << options.seed;
    ASSERT_EQ(out, expected) << test.kernel << " policy " << int(options.async) << " seed " << options.seed;
  }
}

// --- CUB ---

Words reduced(const Words &in, size_t) {
  uint32_t some = 0;
  for (size_t thread = 0; thread < kThreads - 27; ++thread)
    some += in[4 * thread];
  return {std::accumulate(in.begin(), in.end(), 0U), *std::ranges::max_element(in), some};
}

Words scanned(const Words &in, size_t cta) {
  Words out(in.size());
  if (cta + 1 < kCtas)
    std::exclusive_scan(in.begin(), in.end(), out.begin(), 0U);
  else
    std::inclusive_scan(in.begin(), in.end(), out.begin(), [](uint32_t a, uint32_t b) { return std::max(a, b); });
  return out;
}

Words sorted(const Words &in, size_t) {
  Words out = in;
  std::ranges::sort(out);
  return out;
}

Words fallingOrder(const Words &in, size_t) {
  Words order(in.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order,
                    [&](uint32_t a, uint32_t b) { return in[a] == in[b] ? a < b : int32_t(in[a]) > int32_t(in[b]); });
  return order;
}

Words counted(const Words &in, size_t) {
  Words counts(128);
  for (uint32_t value : in)
    ++counts[value & 127];
  return counts;
}

// The first of all items is handed on as it is, and always begins a run.
Words compared(const Words &in, size_t) {
  Words out(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const bool differs = i == 0 || ((in[i] ^ in[i - 1]) & 1) != 0;
    out[i] = ((i == 0 ? in[0] : in[i] - in[i - 1]) & 0x7fffffff) | (differs ? 1U << 31 : 0);
  }
  return out;
}

Words ofWarps(const Words &in, size_t) {
  Words out;
  for (size_t thread = 0; thread < kThreads; ++thread) {
    uint64_t sum = 0;
    for (size_t other = thread / 8 * 8; other <= thread; ++other)
      sum += uint64_t(in[other]) * in[other];
    const auto warp = in.begin() + ptrdiff_t(thread / 32 * 32);
    uint32_t length = 0;
    if (in[thread] % 5 == 0)
      for (length = 1; (thread + length) % 32 != 0 && in[thread + length] % 5 != 0;)
        ++length;
    out.insert(out.end(), {uint32_t(sum), uint32_t(sum >> 32), *std::max_element(warp, warp + 32), length});
  }
  return out;
}

Words copied(const Words &in, size_t) { return in; }

// --- libcu++ ---

Words gathered(const Words &in, size_t) {
  Words out(4);
  for (uint32_t value : in) {
    out[0] += value;
    out[1] = std::max(out[1], value);
    out[2] ^= value;
    out[3] += (value & 3) + 1;
  }
  return out;
}

Words passedOn(const Words &in, size_t) {
  Words values = in;
  for (int round = 0; round < 3; ++round) {
    const Words before = values;
    for (size_t i = 0; i < values.size(); ++i)
      values[i] += before[(i + values.size() - 1) % values.size()];
  }
  return values;
}

Words reversed(const Words &in, size_t) { return {in.rbegin(), in.rend()}; }

Words staged(const Words &in, size_t) {
  Words out(in.size());
  for (size_t i = 0; i < in.size(); ++i)
    out[i] = in[i] * 3 + in[i ^ 1];
  return out;
}

Words bitsOf(const Words &in, size_t) {
  Words out;
  for (uint32_t value : in) {
    const uint64_t wide = uint64_t(value) * 0x9e3779b97f4a7c15ULL;
    out.insert(out.end(),
               {uint32_t(std::popcount(value)), uint32_t(std::countl_zero(wide)), uint32_t(std::countr_zero(value)),
                std::rotl(value, int(value & 31)), std::bit_ceil(value >> 1), uint32_t(wide % ((value & 0xffff) + 1)),
                uint32_t(std::popcount(wide / ((value & 0xff) + 3))), uint32_t(std::bit_width(wide >> (value & 63)))});
  }
  return out;
}

Words wideProducts(const Words &in, size_t) {
  using Wide = unsigned __int128;
  Words out;
  for (uint32_t value : in) {
    const Wide a = Wide(value) << 70 | uint64_t(value) * 0xfedcba9876543211ULL;
    const Wide b = ~Wide(0) / (value + 1);
    const Wide c = a * b - (b << 3) + (a >> 5);
    for (int i = 0; i < 4; ++i)
      out.push_back(uint32_t(c >> (32 * i)));
  }
  return out;
}

Words complexProducts(const Words &in, size_t) {
  Words out;
  for (uint32_t value : in) {
    const double a = value & 1023, b = value >> 20;
    for (double part : {a * 2.0 - 3.0 * b, a * b + 3.0 * 2.0}) {
      const auto bits = std::bit_cast<uint64_t>(part);
      out.insert(out.end(), {uint32_t(bits), uint32_t(bits >> 32)});
    }
  }
  return out;
}

class Cub : public testing::TestWithParam<Case> {};
class Libcudacxx : public testing::TestWithParam<Case> {};

std::string nameOfCase(const testing::TestParamInfo<Case> &info) { return info.param.kernel; }

} // namespace

TEST_P(Cub, IsRightOnSm80) { check("cub.cu", "sm_80", GetParam(), kCtas); }
TEST_P(Cub, IsRightOnSm90a) { check("cub.cu", "sm_90a", GetParam(), kCtas); }

TEST_P(Libcudacxx, IsRightOnSm80) {
  check("libcudacxx.cu", "sm_80", GetParam(), GetParam().kernel == "atomics" ? 1 : kCtas);
}
TEST_P(Libcudacxx, IsRightOnSm90a) {
  check("libcudacxx.cu", "sm_90a", GetParam(), GetParam().kernel == "atomics" ? 1 : kCtas);
}

INSTANTIATE_TEST_SUITE_P(
    Library, Cub,
    testing::Values(Case{"reduceByWarps", kItems, kItems, reduced}, Case{"reduceByRaking", kItems, kItems, reduced},
                    Case{"reduceCommutative", kItems, kItems, reduced}, Case{"scanByWarps", kItems, kItems, scanned},
                    Case{"scanByRaking", kItems, kItems, scanned}, Case{"scanMemoized", kItems, kItems, scanned},
                    Case{"radixSort", kItems, kItems, sorted}, Case{"radixSortPairs", kItems, kItems, fallingOrder},
                    // Merging reads one key past the last.
                    Case{"mergeSort", kItems, kItems, sorted, true}, Case{"exchange", kItems, kItems, copied},
                    Case{"histogramByAtomics", kItems, kItems, counted},
                    Case{"histogramBySort", kItems, kItems, counted}, Case{"neighbours", kItems, kItems, compared},
                    Case{"warps", kItems, kItems, ofWarps}),
    nameOfCase);

INSTANTIATE_TEST_SUITE_P(Library, Libcudacxx,
                         testing::Values(Case{"atomics", kThreads, 4, gathered},
                                         Case{"barriers", kThreads, kThreads, passedOn},
                                         Case{"copies", kThreads, kThreads, reversed},
                                         Case{"pipelines", kThreads, kThreads, staged},
                                         Case{"bits", kThreads, 8 * kThreads, bitsOf},
                                         Case{"wideIntegers", kThreads, 4 * kThreads, wideProducts},
                                         Case{"complexNumbers", kThreads, 4 * kThreads, complexProducts}),
                         nameOfCase);

} // namespace attnc::emulator

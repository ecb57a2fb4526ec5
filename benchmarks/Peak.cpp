// Peak rates from register-only loops. Each family is compiled by a function attribute and
// chosen at run time, so the program itself needs no special machine.
#include "benchmarks/Peak.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "benchmarks/Clock.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace attnc::bench {

namespace {
constexpr int kRounds = 9;
constexpr int kChains = 12; // independent accumulators: covers latency 4 to 6 on two units
constexpr size_t kReadBytes = size_t(256) << 20;

// Runs `steps` times kChains operations and returns the floating-point operations done.
using ArithmeticLoop = double (*)(int64_t steps);

struct Arithmetic {
  const char *name;
  const char *feature; // of __builtin_cpu_supports
  ArithmeticLoop loop;
};

// Keeps a result alive.
template <typename T> void keep(T &value) { asm volatile("" : : "r"(&value) : "memory"); }
} // namespace

#if defined(__x86_64__)
// The empty asm holds each accumulator in a register and hides that its inputs are constant.
__attribute__((target("avx2,fma"))) static double fmaAvx2(int64_t steps) {
  __m256 sums[kChains], a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(1e-3f);
  for (__m256 &sum : sums)
    sum = _mm256_set1_ps(1.0f);
  for (int64_t i = 0; i < steps; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < kChains; ++j) {
      sums[j] = _mm256_fmadd_ps(sums[j], a, b);
      asm volatile("" : "+x"(sums[j]));
    }
  keep(sums);
  return double(steps) * kChains * 8 * 2;
}

__attribute__((target("avx512f"))) static double fmaAvx512(int64_t steps) {
  __m512 sums[kChains], a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(1e-3f);
  for (__m512 &sum : sums)
    sum = _mm512_set1_ps(1.0f);
  for (int64_t i = 0; i < steps; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < kChains; ++j) {
      sums[j] = _mm512_fmadd_ps(sums[j], a, b);
      asm volatile("" : "+v"(sums[j]));
    }
  keep(sums);
  return double(steps) * kChains * 16 * 2;
}

__attribute__((target("avx512f,avx512bf16"))) static double dotBf16(int64_t steps) {
  __m512 sums[kChains];
  __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5f), _mm512_set1_ps(0.25f)), b = a;
  for (__m512 &sum : sums)
    sum = _mm512_set1_ps(1.0f);
  for (int64_t i = 0; i < steps; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < kChains; ++j) {
      sums[j] = _mm512_dpbf16_ps(sums[j], a, b);
      asm volatile("" : "+v"(sums[j]));
    }
  keep(sums);
  return double(steps) * kChains * 32 * 2;
}

static bool supports(const std::string &feature) {
  __builtin_cpu_init();
  if (feature == "avx2")
    return __builtin_cpu_supports("x86-64-v3");
  if (feature == "avx512")
    return __builtin_cpu_supports("x86-64-v4");
  return __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512bf16");
}

static const Arithmetic kArithmetic[] = {
    {"fma_avx2", "avx2", fmaAvx2}, {"fma_avx512", "avx512", fmaAvx512}, {"dot_bf16", "avx512_bf16", dotBf16}};
#else
static bool supports(const std::string &) { return true; }

static double fmaNeon(int64_t steps) {
  float32x4_t sums[2 * kChains], a = vdupq_n_f32(0.999f), b = vdupq_n_f32(1e-3f);
  for (float32x4_t &sum : sums)
    sum = vdupq_n_f32(1.0f);
  for (int64_t i = 0; i < steps; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < 2 * kChains; ++j) {
      sums[j] = vfmaq_f32(b, sums[j], a);
      asm volatile("" : "+w"(sums[j]));
    }
  keep(sums);
  return double(steps) * 2 * kChains * 4 * 2;
}

static const Arithmetic kArithmetic[] = {{"fma_neon", "neon", fmaNeon}};
#endif

static void readAll(const uint64_t *data, size_t words) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i + 8 <= words; i += 8)
    for (int j = 0; j < 8; ++j)
      sums[j] ^= data[i + j];
  keep(sums);
}

// Seconds until all threads have finished body(thread), from a common start.
static double runThreads(int threads, const std::function<void(int)> &body) {
  std::atomic<int> ready = 0;
  std::vector<double> begins(threads), ends(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      for (++ready; ready < threads;)
        std::this_thread::yield();
      begins[t] = now();
      body(t);
      ends[t] = now();
    });
  for (std::thread &worker : workers)
    worker.join();
  return *std::max_element(ends.begin(), ends.end()) - *std::min_element(begins.begin(), begins.end());
}

static void settle(Peak &peak, std::vector<double> &rates) {
  std::sort(rates.begin(), rates.end());
  peak.best = rates.back();
  peak.median = rates[rates.size() / 2];
}

static Peak measureArithmetic(const Arithmetic &arithmetic, int threads) {
  Peak peak{arithmetic.name, "GFLOP/s", threads, supports(arithmetic.feature)};
  if (!peak.isSupported)
    return peak;
  constexpr int64_t kSteps = 6'000'000;
  std::vector<double> rates;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<double> done = 0;
    const double seconds = runThreads(threads, [&](int) { done = arithmetic.loop(kSteps); });
    rates.push_back(done * threads / seconds * 1e-9);
  }
  settle(peak, rates);
  return peak;
}

static Peak measureRead(int threads) {
  Peak peak{"read", "GB/s", threads, true};
  struct Free {
    void operator()(void *p) const { std::free(p); }
  };
  std::vector<std::unique_ptr<void, Free>> memory;
  for (int t = 0; t < threads; ++t) {
    memory.emplace_back(std::aligned_alloc(4096, kReadBytes));
    if (!memory.back()) {
      peak.isSupported = false;
      return peak;
    }
    std::memset(memory.back().get(), 1, kReadBytes);
  }
  std::vector<double> rates;
  for (int round = 0; round < kRounds; ++round) {
    const double seconds =
        runThreads(threads, [&](int t) { readAll(static_cast<const uint64_t *>(memory[t].get()), kReadBytes / 8); });
    rates.push_back(double(kReadBytes) * threads / seconds * 1e-9);
  }
  settle(peak, rates);
  return peak;
}

std::vector<Peak> measurePeaks(const std::vector<int> &threadCounts, bool readsMemory) {
  std::vector<Peak> peaks;
  for (int threads : threadCounts) {
    for (const Arithmetic &arithmetic : kArithmetic)
      peaks.push_back(measureArithmetic(arithmetic, threads));
    if (readsMemory)
      peaks.push_back(measureRead(threads));
  }
  return peaks;
}

std::string peakFor(const std::string &target, const std::string &dtype) {
  if (target == "cpu:neon")
    return "fma_neon";
  if (target == "cpu:avx512_bf16" && dtype == "bf16")
    return "dot_bf16";
  return target.starts_with("cpu:avx512") ? "fma_avx512" : "fma_avx2";
}

bool hasTarget(const std::string &target) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (target == "cpu:sse")
    return __builtin_cpu_supports("x86-64-v2");
  for (const char *name : {"avx2", "avx512", "avx512_bf16"})
    if (target == std::string("cpu:") + name)
      return supports(name);
  return false;
#else
  return target == "cpu:neon";
#endif
}

std::string bestTarget() {
  for (const char *target : {"cpu:avx512_bf16", "cpu:avx512", "cpu:avx2", "cpu:sse"})
    if (hasTarget(target))
      return target;
  return "cpu:neon";
}

std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  std::map<std::string, std::string> fields;
  for (std::string line; std::getline(file, line) && !line.empty();)
    if (size_t colon = line.find(':'); colon != line.npos) {
      const std::string key = line.substr(0, line.find_last_not_of(" \t:", colon) + 1);
      fields[key] = line.size() > colon + 2 ? line.substr(colon + 2) : "";
    }
  if (!fields.count("model name"))
    return "unknown processor";
  return fmt::format("{}, family {} model {} stepping {}", fields["model name"], fields["cpu family"], fields["model"],
                     fields["stepping"]);
}

} // namespace attnc::bench

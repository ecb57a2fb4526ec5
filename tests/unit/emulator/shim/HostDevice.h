// What a CUDA kernel of ours needs to be plain C++: the names of CUDA, a fiber for each thread of
// a CTA, and meetings of the lanes of a warp. Written from NVIDIA's documents and kept apart from
// the emulator: nothing of it is included here, so that equal bits mean something. Copies are done
// at once; there is one schedule; nothing is checked.
#pragma once

#include <ucontext.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#define __device__
#define __global__
#define __shared__
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};
inline Dim3 threadIdx, blockIdx, blockDim, gridDim; // NOLINT: CUDA's names

// What `extern __shared__ char shared[]` finds in a kernel, which has C linkage.
extern "C" {
__attribute__((aligned(1024))) char shared[232448];
}

namespace host {

inline std::string failure; // empty while all is well
inline void fail(const std::string &what) {
  if (failure.empty())
    failure = what;
}

// Threads that come together: the last to arrive does what is to be done for all.
struct Meeting {
  unsigned size = 0, arrived = 0, generation = 0;
  bool truth = false; // of a vote
  const void *slots[32] = {};
};

struct Fiber {
  ucontext_t context = {};
  std::unique_ptr<char[]> stack;
  bool isDone = false;
};

struct Cta {
  ucontext_t scheduler = {};
  std::vector<Fiber> fibers;
  std::vector<Meeting> warps;
  Meeting all;
  unsigned current = 0;
  uint64_t events = 0; // arrivals and ends: without one in a round, nobody will ever go on
};
inline Cta cta;

inline void yield() { swapcontext(&cta.fibers[cta.current].context, &cta.scheduler); }

template <typename F> void meet(Meeting &meeting, F &&finish) {
  ++cta.events;
  if (++meeting.arrived == meeting.size) {
    finish();
    meeting.arrived = 0;
    ++meeting.generation;
    return;
  }
  for (const unsigned generation = meeting.generation; meeting.generation == generation;)
    yield();
}

inline Meeting &warp() { return cta.warps[cta.current / 32]; }

// Calls finish(slots) once with what each lane brings; it may write through the slots.
template <typename T, typename F> void together(T &mine, F &&finish) {
  Meeting &lanes = warp();
  lanes.slots[cta.current % 32] = &mine;
  meet(lanes, [&] { finish(lanes.slots); });
}

template <typename Body> struct Entry {
  static inline const Body *body = nullptr;
  static void run() {
    (*body)();
    cta.fibers[cta.current].isDone = true;
    ++cta.events;
    yield();
  }
};

inline bool runRound() {
  bool isLeft = false;
  for (cta.current = 0; cta.current < cta.fibers.size(); ++cta.current) {
    if (cta.fibers[cta.current].isDone)
      continue;
    isLeft = true;
    threadIdx = {cta.current, 0, 0};
    swapcontext(&cta.scheduler, &cta.fibers[cta.current].context);
  }
  return isLeft;
}

template <typename Body> void runCta(unsigned threads, const Body &body) {
  constexpr size_t kStackBytes = 256 << 10;
  Entry<Body>::body = &body;
  cta.warps.assign(threads / 32, {});
  for (Meeting &lanes : cta.warps)
    lanes.size = 32;
  cta.all = {};
  cta.all.size = threads;
  cta.fibers.resize(threads);
  for (Fiber &fiber : cta.fibers) {
    if (!fiber.stack)
      fiber.stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
    fiber.isDone = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    makecontext(&fiber.context, Entry<Body>::run, 0);
  }
  std::memset(shared, 0xff, sizeof shared); // NaN wherever nothing was written
  for (uint64_t before = ~uint64_t(0); before != cta.events && failure.empty();) {
    before = cta.events;
    if (!runRound())
      return;
  }
  fail("the threads of a CTA wait for each other for ever");
}

// One CTA after the other. Says what went wrong, or nothing.
template <typename Body> const char *launch(Dim3 grid, unsigned threads, const Body &body) {
  failure.clear();
  gridDim = grid;
  blockDim = {threads, 1, 1};
  for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x)
        if (failure.empty())
          runCta(threads, body);
  return failure.c_str();
}

} // namespace host

// --- CUDA's functions ---

inline void __syncthreads() {
  host::meet(host::cta.all, [] {});
}
inline int __syncthreads_or(int truth) {
  // A second meeting keeps the result until all have read it.
  host::cta.all.truth |= truth != 0;
  host::meet(host::cta.all, [] {});
  const bool result = host::cta.all.truth;
  host::meet(host::cta.all, [] { host::cta.all.truth = false; });
  return result;
}
template <typename T> T __shfl_xor_sync(unsigned members, T value, int lanes) {
  struct Exchange {
    T value, result;
  } mine = {value, value};
  if (members != ~0U)
    host::fail("a shuffle of a part of a warp");
  host::together(mine, [&](const void **slots) {
    for (int lane = 0; lane < 32; ++lane)
      static_cast<Exchange *>(const_cast<void *>(slots[lane]))->result =
          static_cast<const Exchange *>(slots[lane ^ lanes])->value;
  });
  return mine.result;
}
inline size_t __cvta_generic_to_shared(const void *pointer) {
  return size_t(static_cast<const char *>(pointer) - shared);
}

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0F / a; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __int2float_rn(int value) { return float(value); }
inline int __float2int_rz(float value) {
  return value != value ? 0 : value >= 2147483648.0F ? INT32_MAX : value < -2147483648.0F ? INT32_MIN : int(value);
}

inline int min(int a, int b) { return b < a ? b : a; }
inline unsigned min(unsigned a, unsigned b) { return b < a ? b : a; }
inline long long min(long long a, long long b) { return b < a ? b : a; }
inline int max(int a, int b) { return a < b ? b : a; }
inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
inline long long max(long long a, long long b) { return a < b ? b : a; }

// Not the C library's: of two zeros the device takes the positive as the larger.
inline float larger(float a, float b) {
  return a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? b : a) : a < b ? b : a;
}
inline float smaller(float a, float b) {
  return a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? a : b) : b < a ? b : a;
}
#define fmaxf larger
#define fminf smaller

#include "HostAsm.h"

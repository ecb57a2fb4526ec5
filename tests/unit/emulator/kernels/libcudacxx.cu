// Kernels made of NVIDIA's libcu++: 128 threads, one word of `in` and one or more of `out` each.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/utility>

using u32 = unsigned int;
using u64 = unsigned long long;

namespace {
constexpr int kThreads = 128;
}

// Words 0 to 3: sum, largest, exclusive or, and the last of a chain of compare and swap.
extern "C" __global__ void __launch_bounds__(kThreads) atomics(u32 *out, const u32 *in) {
  const u32 value = in[blockIdx.x * kThreads + threadIdx.x];
  cuda::atomic_ref<u32, cuda::thread_scope_device> sum(out[0]), largest(out[1]), parity(out[2]), product(out[3]);
  sum.fetch_add(value, cuda::memory_order_relaxed);
  largest.fetch_max(value, cuda::memory_order_acq_rel);
  parity.fetch_xor(value);
  u32 seen = product.load(cuda::memory_order_acquire);
  while (!product.compare_exchange_weak(seen, seen + (value & 3) + 1))
    ;
}

// Each thread reads its left neighbour's word after a barrier that is an mbarrier, three times.
extern "C" __global__ void __launch_bounds__(kThreads) barriers(u32 *out, const u32 *in) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ Barrier barrier;
  __shared__ u32 words[2][kThreads];
  if (threadIdx.x == 0)
    init(&barrier, kThreads);
  __syncthreads();
  const u32 thread = threadIdx.x;
  u32 value = in[blockIdx.x * kThreads + thread];
  for (int round = 0; round < 3; ++round) {
    words[round & 1][thread] = value;
    Barrier::arrival_token token = barrier.arrive();
    barrier.wait(cuda::std::move(token));
    value += words[round & 1][(thread + kThreads - 1) % kThreads];
  }
  out[blockIdx.x * kThreads + thread] = value;
}

// Words fetched by memcpy_async against a barrier, returned in reverse.
extern "C" __global__ void __launch_bounds__(kThreads) copies(u32 *out, const u32 *in) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ Barrier barrier;
  __shared__ __align__(16) u32 words[kThreads];
  if (threadIdx.x == 0)
    init(&barrier, kThreads);
  __syncthreads();
  const u32 thread = threadIdx.x;
  if (thread < kThreads / 4)
    cuda::memcpy_async(words + 4 * thread, in + blockIdx.x * kThreads + 4 * thread, cuda::aligned_size_t<16>(16),
                       barrier);
  barrier.arrive_and_wait();
  out[blockIdx.x * kThreads + thread] = words[kThreads - 1 - thread];
}

// The same by a pipeline of the thread's own.
extern "C" __global__ void __launch_bounds__(kThreads) pipelines(u32 *out, const u32 *in) {
  __shared__ __align__(16) u32 words[2][kThreads];
  const u32 thread = threadIdx.x;
  auto pipeline = cuda::make_pipeline();
  for (int stage = 0; stage < 2; ++stage) {
    pipeline.producer_acquire();
    cuda::memcpy_async(&words[stage][thread], in + blockIdx.x * kThreads + (thread ^ stage), cuda::aligned_size_t<4>(4),
                       pipeline);
    pipeline.producer_commit();
  }
  u32 value = 0;
  for (int stage = 0; stage < 2; ++stage) {
    pipeline.consumer_wait();
    value = value * 3 + words[stage][thread];
    pipeline.consumer_release();
  }
  out[blockIdx.x * kThreads + thread] = value;
}

// Eight words a thread of bit counts, rotations and divisions of 32 and 64 bits.
extern "C" __global__ void __launch_bounds__(kThreads) bits(u32 *out, const u32 *in) {
  const u32 thread = blockIdx.x * kThreads + threadIdx.x, value = in[thread];
  const u64 wide = u64(value) * 0x9e3779b97f4a7c15ULL;
  const cuda::std::array<u32, 8> results = {u32(cuda::std::popcount(value)),
                                            u32(cuda::std::countl_zero(wide)),
                                            u32(cuda::std::countr_zero(value)),
                                            cuda::std::rotl(value, int(value & 31)),
                                            cuda::std::bit_ceil(value >> 1),
                                            u32(wide % ((value & 0xffff) + 1)),
                                            u32(cuda::std::popcount(wide / ((value & 0xff) + 3))),
                                            u32(cuda::std::bit_width(wide >> (value & 63)))};
  cuda::std::span<u32> words(out + 8 * thread, 8);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = results[i];
}

// Four words a thread: a product of 128-bit numbers less a third, carries and borrows included.
extern "C" __global__ void __launch_bounds__(kThreads) wideIntegers(u32 *out, const u32 *in) {
  const u32 thread = blockIdx.x * kThreads + threadIdx.x, value = in[thread];
  const unsigned __int128 a = (unsigned __int128)(value) << 70 | u64(value) * 0xfedcba9876543211ULL;
  const unsigned __int128 b = ~(unsigned __int128)(0) / (value + 1);
  const unsigned __int128 c = a * b - (b << 3) + (a >> 5);
  for (int i = 0; i < 4; ++i)
    out[4 * thread + i] = u32(c >> (32 * i));
}

// Four words a thread: a complex product and a quotient, in double precision.
extern "C" __global__ void __launch_bounds__(kThreads) complexNumbers(u32 *out, const u32 *in) {
  const u32 thread = blockIdx.x * kThreads + threadIdx.x, value = in[thread];
  const cuda::std::complex<double> a(double(value & 1023), 3.0), b(2.0, double(value >> 20));
  const cuda::std::complex<double> c = a * b;
  const auto [real, imaginary] = cuda::std::make_tuple(c.real(), c.imag());
  reinterpret_cast<double *>(out)[2 * thread] = real;
  reinterpret_cast<double *>(out)[2 * thread + 1] = imaginary;
}

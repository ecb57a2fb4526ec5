// A small attention forward for sm_90a in bf16, 64 x 64 tiles of 64 columns: a producer warp
// that fetches boxes by TMA into two stages, and a consumer warpgroup with wgmma. Kept to whole
// tiles: length is a multiple of 64. BUG seeds one mistake each; see KernelsTest.cpp.
using u32 = unsigned int;
using u64 = unsigned long long;

#ifndef BUG
#define BUG 0
#endif

struct __align__(128) TensorMap {
  u64 words[16];
};

namespace {

__device__ float exp2Approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ u32 pack(float low, float high) {
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

__device__ void initBarrier(u32 barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ void arriveExpecting(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ void arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ void wait(u32 barrier, u32 parity) {
  asm volatile("{\n.reg .pred done;\nWAIT%=: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@done bra DONE%=;\nbra WAIT%=;\nDONE%=:\n}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

__device__ void loadBox(u32 tile, const TensorMap *map, u32 barrier, int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          tile),
      "l"(u64(map)), "r"(barrier), "r"(0), "r"(row)
      : "memory");
}

__device__ void storeBox(const TensorMap *map, u32 tile, int row) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(u64(map)), "r"(tile),
               "r"(0), "r"(row)
               : "memory");
}

__device__ u64 descriptor(u32 address, u64 leading, u64 stride) {
  return u64((address & 0x3ffff) >> 4) | (leading >> 4) << 16 | (stride >> 4) << 32 | 1ULL << 62;
}

#define ACCUMULATORS                                                                                                   \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,"    \
  "%30,%31}"
#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define ALL(d) FOUR(d, 0), FOUR(d, 4), FOUR(d, 8), FOUR(d, 12), FOUR(d, 16), FOUR(d, 20), FOUR(d, 24), FOUR(d, 28)

__device__ void multiplyShared(float (&d)[32], u64 a, u64 b, int accumulates) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " ACCUMULATORS ", %32, %33, p, 1, 1, 0, 0;\n}"
               : ALL(d)
               : "l"(a), "l"(b), "r"(accumulates));
}

__device__ void multiplyRegisters(float (&d)[32], const u32 *a, u64 b) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " ACCUMULATORS
               ", {%32,%33,%34,%35}, %36, p, 1, 1, 1;\n}"
               : ALL(d)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

__device__ void fenceProducts() {
#if BUG != 11
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

__device__ void finishProducts() {
#if BUG != 12
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
#if BUG != 13
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
}

} // namespace

extern "C" __global__ void __launch_bounds__(256, 1)
    forward(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,
            const __grid_constant__ TensorMap v, const __grid_constant__ TensorMap out, float *lse, int length,
            float scaleLog2) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 full = u32(__cvta_generic_to_shared(memory)), empty = full + 16, queriesFull = full + 32;
  const u32 queries = full + 1024, keys = queries + 8192, values = keys + 16384, results = values + 16384;
  const int group = threadIdx.x >> 7, thread = threadIdx.x & 127, warp = thread >> 5, lane = thread & 31;
  const int firstQuery = blockIdx.x * 64, tileCount = length / 64, firstRow = blockIdx.y * length;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < 2; ++stage) {
      initBarrier(full + 8 * stage, 1);
      initBarrier(empty + 8 * stage, BUG == 1 ? 129 : 128);
    }
    initBarrier(queriesFull, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (group == 1) {
    if (BUG != 14 || warp == 0)
      asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (thread == 0) {
      if (BUG == 9)
        arrive(queriesFull);
      else
        arriveExpecting(queriesFull, 8192);
      loadBox(BUG == 10 ? queries + 16 : queries, &q, queriesFull, firstRow + firstQuery);
      for (int tile = 0; tile < tileCount; ++tile) {
        const int stage = tile & 1, parity = tile >> 1 & 1;
#if BUG != 4
        wait(empty + 8 * stage, BUG == 7 ? parity : parity ^ 1);
#endif
        arriveExpecting(full + 8 * stage, BUG == 3 ? 8192 : 16384);
        loadBox(keys + 8192 * stage, &k, full + 8 * stage, firstRow + tile * 64);
        loadBox(values + 8192 * stage, &v, full + 8 * stage, firstRow + tile * 64);
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  float o[32] = {}, rowMax[2] = {-1e30F, -1e30F}, sum[2] = {};
  wait(queriesFull, 0);
  for (int tile = 0; tile < tileCount; ++tile) {
    const int stage = tile & 1, parity = tile >> 1 & 1;
#if BUG != 2
    wait(full + 8 * stage, BUG == 8 ? parity ^ 1 : parity);
#endif
    float s[32];
    fenceProducts();
#pragma unroll
    for (int step = 0; step < 4; ++step)
      multiplyShared(s, descriptor(queries + 32 * step, 16, 1024),
                     descriptor(keys + 8192 * stage + 32 * step, 16, BUG == 5 ? 512 : 1024), step > 0);
    finishProducts();
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float m = rowMax[h];
#pragma unroll
      for (int n = 0; n < 8; ++n)
        m = fmaxf(m, fmaxf(s[4 * n + 2 * h], s[4 * n + 2 * h + 1]));
      m = fmaxf(m, __shfl_xor_sync(~0U, m, 1));
      m = fmaxf(m, __shfl_xor_sync(~0U, m, 2));
      const float decay = exp2Approximate((rowMax[h] - m) * scaleLog2);
      rowMax[h] = m;
      float partial = 0.0F;
#pragma unroll
      for (int n = 0; n < 8; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int at = 4 * n + 2 * h + e;
          s[at] = exp2Approximate(__fmaf_rn(s[at], scaleLog2, -m * scaleLog2));
          partial += s[at];
          o[at] *= decay;
        }
      sum[h] = sum[h] * decay + partial;
    }
    u32 p[16];
#pragma unroll
    for (int i = 0; i < 16; ++i)
      p[i] = pack(s[2 * i], s[2 * i + 1]);
    fenceProducts();
#pragma unroll
    for (int step = 0; step < 4; ++step)
      multiplyRegisters(o, p + 4 * step, descriptor(values + 8192 * stage + 2048 * step, 8192, 1024));
    finishProducts();
    arrive(empty + 8 * stage);
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    sum[h] += __shfl_xor_sync(~0U, sum[h], 1);
    sum[h] += __shfl_xor_sync(~0U, sum[h], 2);
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        o[4 * n + 2 * h + e] *= __fdividef(1.0F, sum[h]);
  }
#pragma unroll
  for (int n = 0; n < 8; n += 2) {
    const int row = warp * 16 + (lane & 15), chunk = n + (lane >> 4);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(results + row * 128 +
                                                                                       ((chunk ^ (row & 7)) << 4)),
                 "r"(pack(o[4 * n], o[4 * n + 1])), "r"(pack(o[4 * n + 2], o[4 * n + 3])),
                 "r"(pack(o[4 * n + 4], o[4 * n + 5])), "r"(pack(o[4 * n + 6], o[4 * n + 7]))
                 : "memory");
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#if BUG != 6
  asm volatile("bar.sync 1, 128;" ::: "memory");
#endif
  if (thread == 0) {
    storeBox(&out, results, firstRow + firstQuery);
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  if ((lane & 3) == 0)
    for (int h = 0; h < 2; ++h)
      lse[firstRow + (BUG == 15 ? 0 : firstQuery) + warp * 16 + (lane >> 2) + 8 * h] =
          rowMax[h] * scaleLog2 * 0.69314718056F + __logf(sum[h]);
}

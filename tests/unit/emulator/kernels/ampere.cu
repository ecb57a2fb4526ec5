// A small attention forward for sm_80 in f16, 64 x 64 tiles of 64 columns, four warps: enough of
// a real kernel (cp.async in two stages, swizzled tiles, ldmatrix, mma) to test the emulator
// with. BUG seeds one mistake each; see KernelsTest.cpp for what must be seen of it.
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

#ifndef BUG
#define BUG 0
#endif

namespace {

__device__ u32 pack(float low, float high) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

__device__ float exp2Approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ void mma(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ void loadMatrices(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

__device__ void loadTransposed(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// Where the 16-byte chunk of a row lies in a tile of 64 rows by 128 bytes.
__device__ u32 chunkAt(int row, int chunk) {
#if BUG == 7
  return row * 128 + (chunk << 4);
#else
  return row * 128 + ((chunk ^ (row & 7)) << 4);
#endif
}

__device__ void copyTile(u32 tile, const u16 *from, int firstRow, int rows) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int id = threadIdx.x + i * 128, row = id >> 3, chunk = id & 7;
#if BUG == 4
    const bool isInside = true;
#else
    const bool isInside = firstRow + row < rows;
#endif
    const u16 *source = from + u64(isInside ? firstRow + row : 0) * 64 + chunk * 8;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(tile + chunkAt(row, chunk)), "l"(source),
                 "r"(isInside ? 16 : 0)
                 : "memory");
  }
}

} // namespace

extern "C" __global__ void __launch_bounds__(128)
    forward(const u16 *q, const u16 *k, const u16 *v, u16 *out, float *lse, int length, float scaleLog2) {
  __shared__ __align__(128) unsigned char tiles[5 * 8192];
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, firstQuery = blockIdx.x * 64;
  const u64 base = u64(blockIdx.y) * length * 64;
  q += base, k += base, v += base, out += base, lse += u64(blockIdx.y) * length;
  const u32 queries = u32(__cvta_generic_to_shared(tiles)), keys = queries + 8192, values = queries + 3 * 8192;
  const int tileCount = (length + 63) / 64;

  copyTile(queries, q, firstQuery, length);
  copyTile(keys, k, 0, length);
#if BUG != 5
  copyTile(values, v, 0, length);
#endif
  asm volatile("cp.async.commit_group;" ::: "memory");

  u32 a[4][4];
  float o[8][4] = {}, rowMax[2] = {-__int_as_float(0x7f800000), -__int_as_float(0x7f800000)}, sum[2] = {};
  for (int tile = 0; tile < tileCount; ++tile) {
    const u32 stage = (tile & 1) * 8192, next = 8192 - stage;
    if (tile + 1 < tileCount) {
      copyTile(keys + next, k, (tile + 1) * 64, length);
      copyTile(values + next, v, (tile + 1) * 64, length);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
#if BUG == 2
    asm volatile("cp.async.wait_group 2;" ::: "memory");
#elif BUG != 9
    asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
#if BUG != 3
    __syncthreads();
#endif
    if (tile == 0)
      for (int step = 0; step < 4; ++step)
        loadMatrices(a[step], queries + chunkAt(warp * 16 + (lane & 15), step * 2 + (lane >> 4)));

    float s[8][4] = {};
#pragma unroll
    for (int step = 0; step < 4; ++step)
#pragma unroll
      for (int n = 0; n < 8; n += 2) {
        u32 b[4];
        loadMatrices(b, keys + stage + chunkAt(n * 8 + (lane & 7) + ((lane >> 4) << 3), step * 2 + ((lane >> 3) & 1)));
#if BUG == 8
        mma(s[n], a[step], b[1], b[0]);
#else
        mma(s[n], a[step], b[0], b[1]);
#endif
        mma(s[n + 1], a[step], b[2], b[3]);
      }
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (tile * 64 + (lane & 3) * 2 + n * 8 + (e & 1) >= length)
          s[n][e] = -__int_as_float(0x7f800000);

#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float m = rowMax[h];
#pragma unroll
      for (int n = 0; n < 8; ++n)
        m = fmaxf(m, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
      m = fmaxf(m, __shfl_xor_sync(~0U, m, 1));
      m = fmaxf(m, __shfl_xor_sync(~0U, m, 2));
      const float shift = m * scaleLog2, decay = exp2Approximate(rowMax[h] * scaleLog2 - shift);
      rowMax[h] = m;
      float partial = 0.0F;
#pragma unroll
      for (int n = 0; n < 8; ++n)
#pragma unroll
        for (int e = 2 * h; e < 2 * h + 2; ++e) {
          s[n][e] = exp2Approximate(__fmaf_rn(s[n][e], scaleLog2, -shift));
          partial += s[n][e];
          o[n][e] *= decay;
        }
      sum[h] = sum[h] * decay + partial;
    }
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      const float (&left)[4] = s[2 * step], (&right)[4] = s[2 * step + 1];
      const u32 p[4] = {pack(left[0], left[1]), pack(left[2], left[3]), pack(right[0], right[1]),
                        pack(right[2], right[3])};
#pragma unroll
      for (int n = 0; n < 8; n += 2) {
        u32 b[4];
        loadTransposed(b, values + stage + chunkAt(step * 16 + (lane & 15), n + (lane >> 4)));
        mma(o[n], p, b[0], b[1]);
        mma(o[n + 1], p, b[2], b[3]);
      }
    }
#if BUG != 1
    __syncthreads();
#endif
  }

#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float l = sum[h];
    l += __shfl_xor_sync(~0U, l, 1);
    l += __shfl_xor_sync(~0U, l, 2);
    const float inverse = __fdividef(1.0F, l);
    const int row = firstQuery + warp * 16 + (lane >> 2) + h * 8;
    if (BUG == 10 || row < length) {
#if BUG == 6
      if (h == 0)
        __syncthreads();
#endif
#pragma unroll
      for (int n = 0; n < 8; ++n)
        *(u32 *)(out + u64(row) * 64 + n * 8 + (lane & 3) * 2) = pack(o[n][2 * h] * inverse, o[n][2 * h + 1] * inverse);
      if ((lane & 3) == 0)
#if BUG == 12
        atomicAdd(lse + row, rowMax[h] * scaleLog2 * 0.69314718056F + __logf(l));
#else
        lse[BUG == 11 ? row - firstQuery : row] = rowMax[h] * scaleLog2 * 0.69314718056F + __logf(l);
#endif
    }
  }
}

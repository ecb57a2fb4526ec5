// Tensor-core products of one warp: D (16 x 8, f32) += A (16 x 16) B (16 x 8).
//
// Lane l holds of D the rows l / 4 and l / 4 + 8, columns 2 (l % 4) and the next:
// {d[0], d[1]} of the upper row, {d[2], d[3]} of the lower. Two neighbouring D, rounded to
// 16 bits, are an A of the next product without any exchange between lanes.

template <class Element>
ATTNC_DEVICE void multiplyAdd(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1);
template <> __device__ __forceinline__ void multiplyAdd<F16>(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <> __device__ __forceinline__ void multiplyAdd<BF16>(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

ATTNC_DEVICE void loadMatrices(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
ATTNC_DEVICE void loadMatricesTransposed(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// A: rows [row, row + 16), columns 16 k to 16 k + 15 of a row-major tile.
template <class Layout> ATTNC_DEVICE void loadA(u32 (&a)[4], u32 tile, int row, int k) {
  const int lane = threadIdx.x & 31;
  loadMatrices(a, Layout::address(tile, 0, row + (lane & 15), k * 2, lane >> 4));
}
// B of two products, from rows that are its columns (keys): {b[0], b[1]} for columns
// [column, column + 8), {b[2], b[3]} for the next eight.
template <class Layout> ATTNC_DEVICE void loadB(u32 (&b)[4], u32 tile, int column, int k) {
  const int lane = threadIdx.x & 31;
  loadMatrices(b, Layout::address(tile, column, (lane & 7) + ((lane >> 4) << 3), k * 2, (lane >> 3) & 1));
}
// The same from rows that are its rows (values): rows 16 k to 16 k + 15, chunks of eight
// columns `chunk` and `chunk + 1`.
template <class Layout> ATTNC_DEVICE void loadBTransposed(u32 (&b)[4], u32 tile, int k, int chunk) {
  const int lane = threadIdx.x & 31;
  loadMatricesTransposed(b, Layout::address(tile, k * 16, lane & 15, chunk, lane >> 4));
}

// Global to shared memory, asynchronously, 16 bytes at a time.

// Copies `bytes` (0 or 16) and fills the rest of the 16 with zeros.
ATTNC_DEVICE void copyAsync(u32 to, const void *from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
ATTNC_DEVICE void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until at most `kPending` of this thread's groups are under way.
template <int kPending> ATTNC_DEVICE void waitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Rows [firstRow, firstRow + kRows) of a matrix with `rowCount` rows of `kRealColumns`
// columns; what lies beyond either is zero, never read.
template <int kRows, int kColumns, int kRealColumns, int kThreads>
ATTNC_DEVICE void copyTile(u32 to, const u16 *from, long long stride, int firstRow, int rowCount) {
  using Layout = TileLayout<kRows, kColumns>;
  constexpr int kTotal = kRows * Layout::kChunks;
  // Where a step of all threads is whole rows, their number is a power of two, and a thread's
  // copies differ by constants: in shared memory by an XOR (below eight rows) and an offset.
  constexpr bool kIsRegular = kThreads % Layout::kChunks == 0;
  constexpr int kStepRows = kThreads / Layout::kChunks;
  const int lane = threadIdx.x;
  const int laneRow = lane / Layout::kChunks, laneChunk = lane % Layout::kChunks;
  const u32 laneTo = to + Layout::at(laneRow, laneChunk);
  const u16 *laneFrom = from + (firstRow + laneRow) * stride + laneChunk * 8;
#pragma unroll
  for (int step = 0; step < (kTotal + kThreads - 1) / kThreads; ++step) {
    const int index = lane + step * kThreads;
    if (kTotal % kThreads != 0 && index >= kTotal)
      break;
    const int row = kIsRegular ? laneRow + step * kStepRows : index / Layout::kChunks;
    const int chunk = kIsRegular ? laneChunk : index % Layout::kChunks;
    const bool isInside = firstRow + row < rowCount && (kRealColumns == kColumns || chunk * 8 < kRealColumns);
    // Of a copy of no bytes the source is not looked at.
    if (kIsRegular)
      copyAsync((laneTo ^ (step * kStepRows & 7) << 4) + step * kStepRows * Layout::rowBytes(chunk),
                laneFrom + step * kStepRows * stride, isInside ? 16 : 0);
    else
      copyAsync(to + Layout::at(row, chunk), from + (firstRow + row) * stride + chunk * 8, isInside ? 16 : 0);
  }
}

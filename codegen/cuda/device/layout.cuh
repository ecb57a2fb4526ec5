// Tiles in shared memory. A tile of `kColumns` 16-bit columns (a multiple of 16) is cut
// into panels of 64 columns, then 32, then 16; a row of a panel is 8, 4 or 2 chunks of 16
// bytes. Chunks are exchanged by row so that the eight rows that ldmatrix reads at one
// column lie in different banks:
//
//   panel of 8 chunks   row 0:  0 1 2 3 4 5 6 7      chunk c of row r lies at c ^ (r & 7)
//                       row 1:  1 0 3 2 5 4 7 6
//   panel of 4 chunks   c ^ (r >> 1 & 3)             panel of 2 chunks   c ^ (r >> 2 & 1)

template <int kRows, int kColumns> struct TileLayout {
  static_assert(kColumns % 16 == 0, "columns are padded to 16");
  static constexpr int kChunks = kColumns / 8;
  static constexpr int kBytes = kRows * kColumns * 2;

  // Byte offset of chunk `chunk` (8 columns) of row `row`.
  ATTNC_DEVICE u32 at(int row, int chunk) {
    constexpr int kWide = kChunks / 8 * 8;      // chunks in panels of 64 columns
    constexpr bool kHasHalf = (kChunks & 4) != 0; // a panel of 32 columns follows
    if (chunk < kWide)
      return (chunk / 8) * (kRows * 128) + row * 128 + (((chunk ^ row) & 7) << 4);
    u32 base = kWide / 8 * (kRows * 128);
    int rest = chunk - kWide;
    if (kHasHalf && rest < 4)
      return base + row * 64 + (((rest ^ (row >> 1)) & 3) << 4);
    if (kHasHalf) {
      base += kRows * 64;
      rest -= 4;
    }
    return base + row * 32 + (((rest ^ (row >> 2)) & 1) << 4);
  }

  // Bytes from a row to the next in the panel of chunk `chunk`. Rows apart by a multiple of
  // eight exchange their chunks alike, so at(row + 8 n, c) is at(row, c) + 8 n rowBytes(c).
  ATTNC_DEVICE int rowBytes(int chunk) {
    constexpr int kWide = kChunks / 8 * 8;
    return chunk < kWide ? 128 : (kChunks & 4) != 0 && chunk < kWide + 4 ? 64 : 32;
  }

  // Address of chunk `chunk + laneChunk` of row `row + laneRow` of the tile at `tile` (on 128
  // bytes), where `row` is a multiple of 8, `chunk` even, laneChunk 0 or 1. With constant `row`
  // and `chunk`, addresses of a tile differ by an XOR, the exchange, and by the offset that
  // an instruction holds: what a lane adds is the same for all.
  ATTNC_DEVICE u32 address(u32 tile, int row, int laneRow, int chunk, int laneChunk) {
    const int first = chunk < kChunks / 8 * 8 ? chunk / 8 * 8 : chunk / 4 * 4; // of the panel
    const u32 lane = tile + at(laneRow, laneChunk, rowBytes(chunk));
    return (lane ^ ((chunk - first) << 4)) + first * (kRows * 16) + row * rowBytes(chunk);
  }

private:
  // Within a panel whose rows have `bytes` bytes.
  ATTNC_DEVICE u32 at(int row, int chunk, int bytes) {
    const int exchange = bytes == 128 ? row & 7 : bytes == 64 ? row >> 1 & 3 : row >> 2 & 1;
    return row * bytes + ((chunk ^ exchange) << 4);
  }
};

ATTNC_DEVICE u32 sharedAddress(const void *pointer) { return (u32)__cvta_generic_to_shared(pointer); }

// Which elements of a partial tile are kept, as one bit each.
//
// A lane holds of its two rows the columns 8 n + 2 (lane % 4) + {0, 1}. Bit 4 n + 2 half
// + column of the word stands for element (n, 2 half + column) of the accumulators.

// The bits of one row for columns [low, high), both counted from the tile's first key:
// closed form, no comparison an element. Bits 4 n and 4 n + 1.
template <int kBlockN> ATTNC_DEVICE u32 intervalBits(int low, int high) {
  const int offset = 2 * (threadIdx.x & 3);
  auto below = [&](int limit) -> u32 { // columns < limit
    const int inside = min(max(limit - offset, 0), kBlockN);
    const int bits = (inside >> 3) * 4 + min(inside & 7, 2);
    return bits >= 32 ? 0x33333333u : ((1u << bits) - 1) & 0x33333333u;
  };
  return below(high) & ~below(low);
}

// Keys [low, high) that a row may see; every other mask applies on top.
struct Limits {
  int low, high;
};

// What launch code and kernel agree on. Plain C, included by the host as well: every
// pointer is one of the device, every stride counts elements.
#pragma once

namespace attnc_device {

// Tiles [first, first + count / 2) in ascending order; bit 0 of `count` says partial.
struct Run {
  int first;
  int count;
};

// Which tiles of keys a block of rows visits: those of its list or, without lists, all of
// them, as full ones or (for tests) as partial ones.
constexpr int kListedTiles = 0, kAllTilesFull = 1, kAllTilesPartial = 2;

struct Call {
  const void *query; // [batch, heads, queryLength, head dim], last stride 1, rows on 16 bytes
  const void *key;   // [batch, kvHeads, kvLength, head dim]
  const void *value; // [batch, kvHeads, kvLength, value dim]
  void *output;      // [batch, heads, queryLength, value dim]
  float *lse;        // [batch, heads, queryLength], natural logarithm; may be null
  long long queryStrides[3], keyStrides[3], valueStrides[3], outputStrides[3], lseStrides[3];
  const int *slices;     // [batch * heads]: which slice of the lists
  const int *runOffsets; // [slice][query block + 1]
  const Run *runs;
  int batch, heads, kvHeads, queryLength, kvLength;
  int queryOffset; // q_idx of row 0
  float scale;
  int tiles;
};

// A captured tensor: strides in elements, 0 on a broadcast axis.
constexpr int kMaxCaptureRank = 8;
struct Capture {
  const void *data;
  long long strides[kMaxCaptureRank];
  int shape[kMaxCaptureRank];
};

} // namespace attnc_device

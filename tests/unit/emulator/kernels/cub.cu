// Kernels made of NVIDIA's CUB: blocks of 128 threads, four items a thread, 512 items a CTA.
// `in` and `out` hold one word an item for each CTA; the rest is said at each kernel.
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

namespace {

constexpr int kThreads = 128, kItems = 4;

__device__ const u32 *inputOf(const u32 *in) { return in + blockIdx.x * kThreads * kItems; }
__device__ u32 *outputOf(u32 *out) { return out + blockIdx.x * kThreads * kItems; }

__device__ void loadBlocked(const u32 *in, u32 (&items)[kItems]) {
  for (int i = 0; i < kItems; ++i)
    items[i] = inputOf(in)[threadIdx.x * kItems + i];
}
__device__ void storeBlocked(u32 *out, const u32 (&items)[kItems]) {
  for (int i = 0; i < kItems; ++i)
    outputOf(out)[threadIdx.x * kItems + i] = items[i];
}

struct Larger {
  __device__ u32 operator()(u32 a, u32 b) const { return a < b ? b : a; }
};
struct Smaller {
  __device__ bool operator()(u32 a, u32 b) const { return a < b; }
};

// Words 0 to 2 of `out`: the sum, the largest, and the sum of as many items as there are threads
// but 27.
template <cub::BlockReduceAlgorithm kAlgorithm> __device__ void reduceBlock(u32 *out, const u32 *in) {
  using Reduce = cub::BlockReduce<u32, kThreads, kAlgorithm>;
  __shared__ typename Reduce::TempStorage storage;
  u32 items[kItems];
  loadBlocked(in, items);
  const u32 sum = Reduce(storage).Sum(items);
  __syncthreads();
  const u32 largest = Reduce(storage).Reduce(items, Larger());
  __syncthreads();
  const u32 some = Reduce(storage).Sum(items[0], kThreads - 27);
  if (threadIdx.x == 0) {
    outputOf(out)[0] = sum;
    outputOf(out)[1] = largest;
    outputOf(out)[2] = some;
  }
}

// Exclusive sums; of the last CTA running maxima instead.
template <cub::BlockScanAlgorithm kAlgorithm> __device__ void scanBlock(u32 *out, const u32 *in) {
  using Scan = cub::BlockScan<u32, kThreads, kAlgorithm>;
  __shared__ typename Scan::TempStorage storage;
  u32 items[kItems];
  loadBlocked(in, items);
  if (blockIdx.x + 1 < gridDim.x)
    Scan(storage).ExclusiveSum(items, items);
  else
    Scan(storage).InclusiveScan(items, items, Larger());
  storeBlocked(out, items);
}

} // namespace

extern "C" __global__ void __launch_bounds__(kThreads) reduceByWarps(u32 *out, const u32 *in) {
  reduceBlock<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(out, in);
}
extern "C" __global__ void __launch_bounds__(kThreads) reduceByRaking(u32 *out, const u32 *in) {
  reduceBlock<cub::BLOCK_REDUCE_RAKING>(out, in);
}
extern "C" __global__ void __launch_bounds__(kThreads) reduceCommutative(u32 *out, const u32 *in) {
  reduceBlock<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(out, in);
}
extern "C" __global__ void __launch_bounds__(kThreads) scanByWarps(u32 *out, const u32 *in) {
  scanBlock<cub::BLOCK_SCAN_WARP_SCANS>(out, in);
}
extern "C" __global__ void __launch_bounds__(kThreads) scanByRaking(u32 *out, const u32 *in) {
  scanBlock<cub::BLOCK_SCAN_RAKING>(out, in);
}
extern "C" __global__ void __launch_bounds__(kThreads) scanMemoized(u32 *out, const u32 *in) {
  scanBlock<cub::BLOCK_SCAN_RAKING_MEMOIZE>(out, in);
}

// Ascending.
extern "C" __global__ void __launch_bounds__(kThreads) radixSort(u32 *out, const u32 *in) {
  using Sort = cub::BlockRadixSort<u32, kThreads, kItems>;
  __shared__ typename Sort::TempStorage storage;
  u32 items[kItems];
  loadBlocked(in, items);
  Sort(storage).Sort(items);
  storeBlocked(out, items);
}

// The ranks of 64-bit floats in falling order: a stable sort of keys with their places.
extern "C" __global__ void __launch_bounds__(kThreads) radixSortPairs(u32 *out, const u32 *in) {
  using Sort = cub::BlockRadixSort<double, kThreads, kItems, u32>;
  __shared__ typename Sort::TempStorage storage;
  u32 items[kItems];
  double keys[kItems];
  loadBlocked(in, items);
  for (int i = 0; i < kItems; ++i) {
    keys[i] = double(int(items[i])) / 16;
    items[i] = threadIdx.x * kItems + i;
  }
  Sort(storage).SortDescending(keys, items);
  storeBlocked(out, items);
}

extern "C" __global__ void __launch_bounds__(kThreads) mergeSort(u32 *out, const u32 *in) {
  using Sort = cub::BlockMergeSort<u32, kThreads, kItems>;
  __shared__ typename Sort::TempStorage storage;
  u32 items[kItems];
  loadBlocked(in, items);
  Sort(storage).Sort(items, Smaller());
  storeBlocked(out, items);
}

// A copy, by transposes through shared memory and a way back by vectors.
extern "C" __global__ void __launch_bounds__(kThreads) exchange(u32 *out, const u32 *in) {
  using Load = cub::BlockLoad<u32, kThreads, kItems, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Exchange = cub::BlockExchange<u32, kThreads, kItems>;
  using Store = cub::BlockStore<u32, kThreads, kItems, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Exchange::TempStorage exchange;
    typename Store::TempStorage store;
  } storage;
  u32 items[kItems];
  Load(storage.load).Load(inputOf(in), items);
  __syncthreads();
  Exchange(storage.exchange).BlockedToStriped(items, items);
  __syncthreads();
  Exchange(storage.exchange).StripedToBlocked(items, items);
  __syncthreads();
  Store(storage.store).Store(outputOf(out), items);
}

// How often each value modulo 128 occurs, in the first 128 words.
template <cub::BlockHistogramAlgorithm kAlgorithm> __device__ void countValues(u32 *out, const u32 *in) {
  using Histogram = cub::BlockHistogram<unsigned char, kThreads, kItems, 128, kAlgorithm>;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ u32 counts[128];
  u32 items[kItems];
  unsigned char values[kItems];
  loadBlocked(in, items);
  for (int i = 0; i < kItems; ++i)
    values[i] = items[i] & 127;
  Histogram(storage).Histogram(values, counts);
  __syncthreads();
  outputOf(out)[threadIdx.x] = counts[threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(kThreads) histogramByAtomics(u32 *out, const u32 *in) {
  countValues<cub::BLOCK_HISTO_ATOMIC>(out, in);
}
extern "C" __global__ void __launch_bounds__(kThreads) histogramBySort(u32 *out, const u32 *in) {
  countValues<cub::BLOCK_HISTO_SORT>(out, in);
}

struct Minus {
  __device__ u32 operator()(u32 a, u32 b) const { return a - b; }
};
struct DiffersInParity {
  __device__ bool operator()(u32 a, u32 b) const { return (a ^ b) & 1; }
};

// Differences of neighbours, and in the top bit whether they differ in parity.
extern "C" __global__ void __launch_bounds__(kThreads) neighbours(u32 *out, const u32 *in) {
  using Difference = cub::BlockAdjacentDifference<u32, kThreads>;
  using Flag = cub::BlockDiscontinuity<u32, kThreads>;
  __shared__ typename Difference::TempStorage differences;
  __shared__ typename Flag::TempStorage flags;
  u32 items[kItems], steps[kItems];
  int heads[kItems];
  loadBlocked(in, items);
  Difference(differences).SubtractLeft(items, steps, Minus());
  Flag(flags).FlagHeads(heads, items, DiffersInParity());
  for (int i = 0; i < kItems; ++i)
    steps[i] = (steps[i] & 0x7fffffff) | u32(heads[i]) << 31;
  storeBlocked(out, steps);
}

// Of each group of 8 lanes the inclusive 64-bit sums of squares, and of each warp the largest:
// four words a thread, low, high, largest, and the number of the segment's lanes behind a head.
extern "C" __global__ void __launch_bounds__(kThreads) warps(u32 *out, const u32 *in) {
  using Scan = cub::WarpScan<u64, 8>;
  using Reduce = cub::WarpReduce<u32>;
  __shared__ typename Scan::TempStorage scans[kThreads / 8];
  __shared__ typename Reduce::TempStorage reductions[kThreads / 32], segments[kThreads / 32];
  const u32 value = inputOf(in)[threadIdx.x];
  u64 sum = u64(value) * value;
  Scan(scans[threadIdx.x / 8]).InclusiveSum(sum, sum);
  u32 largest = Reduce(reductions[threadIdx.x / 32]).Reduce(value, Larger());
  largest = __shfl_sync(~0u, largest, 0);
  const bool isHead = value % 5 == 0;
  const u32 length = Reduce(segments[threadIdx.x / 32]).HeadSegmentedSum(1u, isHead);
  const u32 items[kItems] = {u32(sum), u32(sum >> 32), largest, isHead ? length : 0};
  storeBlocked(out, items);
}

// Tensor maps and the box copies of TMA. The driver's cuTensorMapEncodeTiled fills the 128
// opaque bytes of a CUtensorMap in a way nobody outside knows; on the emulator they hold
// our own record, made by encodeTensorMap from the same arguments.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "attnc/Status.h"
#include "runtime/emulator/TensorCore.h"

namespace attnc::emulator {

constexpr int kMaxTmaRank = 5;
constexpr uint32_t kBoxAlignment = 128; // of a box in shared memory
constexpr int kTensorMapBytes = 128;

// A tiled tensor map. Dimension 0 is the contiguous one, as in the driver.
struct TensorMap {
  uint64_t base = 0; // an address of the emulator's global memory
  uint32_t rank = 1;
  uint32_t elementBytes = 2;                      // 1, 2, 4 or 8
  std::array<uint64_t, kMaxTmaRank> dims = {};    // elements
  std::array<uint64_t, kMaxTmaRank> strides = {}; // bytes; [0] is elementBytes
  std::array<uint32_t, kMaxTmaRank> box = {};     // elements
  uint32_t swizzle = 0;                           // bytes: 0, 32, 64 or 128

  uint32_t boxRowBytes() const { return box[0] * elementBytes; }
  uint32_t boxRows() const;
  uint32_t boxBytes() const { return boxRowBytes() * boxRows(); }
};

// The record as it stands in a CUtensorMap.
using OpaqueTensorMap = std::array<uint8_t, kTensorMapBytes>;

// cuTensorMapEncodeTiled's conditions (alignments, ranges, the box's row and the swizzle);
// element strides are 1, there is no interleave and out of bounds reads are zero.
Result<OpaqueTensorMap> encodeTensorMap(const TensorMap &map);

// InvalidArgument where the 128 bytes at `bytes` do not hold a record of ours.
Result<TensorMap> decodeTensorMap(const void *bytes);

// Sixteen bytes of a box, or the row's part of them: where they lie in shared memory, and
// of which of them the tensor has elements.
struct BoxPiece {
  uint32_t shared = 0; // swizzled
  uint64_t global = 0; // of the piece's first byte; meaningful within [begin, end)
  uint32_t begin = 0;  // bytes inside the tensor: [begin, end), empty where all lie outside
  uint32_t end = 0;
};

// Calls visit(const BoxPiece &) for each 16 bytes of the box at `coordinates` (map.rank of
// them, possibly negative), in ascending unswizzled order of the box at `shared`.
template <typename Visit>
void visitBox(const TensorMap &map, std::span<const int32_t> coordinates, uint32_t shared, Visit &&visit);

// cp.async.bulk.tensor between the box at `coordinates` and shared[address ...], where
// `map.base` is an address of this process. Elements outside the tensor read as zeros and
// are not written. InvalidArgument where the box does not fit `shared` or is misaligned.
Status copyBoxToShared(const TensorMap &map, std::span<const int32_t> coordinates, std::span<uint8_t> shared,
                       uint32_t address);
Status copyBoxToGlobal(const TensorMap &map, std::span<const int32_t> coordinates, std::span<const uint8_t> shared,
                       uint32_t address);

// What a box copy needs of its operands, for callers that visit the box themselves.
Status checkBox(const TensorMap &map, std::span<const int32_t> coordinates, size_t sharedBytes, uint32_t address);

// ---- template definition ----

template <typename Visit>
void visitBox(const TensorMap &map, std::span<const int32_t> coordinates, uint32_t shared, Visit &&visit) {
  const uint32_t rowBytes = map.boxRowBytes(), rows = map.boxRows();
  // The row's elements inside the tensor, in bytes from the box's edge.
  const int64_t first = coordinates[0] < 0 ? -int64_t(coordinates[0]) : 0;
  const int64_t last = int64_t(map.dims[0]) - coordinates[0];
  const int64_t insideBegin = first * map.elementBytes, insideEnd = last * int64_t(map.elementBytes);
  for (uint32_t row = 0; row < rows; ++row) {
    bool isInside = true;
    uint64_t global = map.base + int64_t(coordinates[0]) * int64_t(map.elementBytes);
    for (uint32_t axis = 1, rest = row; axis < map.rank; ++axis) {
      const int64_t at = int64_t(coordinates[axis]) + rest % map.box[axis];
      rest /= map.box[axis];
      isInside &= at >= 0 && at < int64_t(map.dims[axis]);
      global += at * int64_t(map.strides[axis]);
    }
    for (uint32_t byte = 0; byte < rowBytes; byte += 16) {
      BoxPiece piece{swizzled(shared + row * rowBytes + byte, map.swizzle), global + byte, 0, 0};
      const int64_t begin = insideBegin - byte, end = insideEnd - byte;
      piece.begin = begin < 0 ? 0 : begin > 16 ? 16 : uint32_t(begin);
      piece.end = !isInside || end <= piece.begin ? piece.begin : end > 16 ? 16 : uint32_t(end);
      visit(piece);
    }
  }
}

} // namespace attnc::emulator

// Addresses of PTX are host addresses. NOLINTBEGIN(performance-no-int-to-ptr)
// The record in a CUtensorMap and the box copies. The record starts with a mark, so that
// bytes of another origin, a real driver's included, are recognised.
#include "runtime/emulator/TensorMap.h"

#include <string>

namespace attnc::emulator {
namespace {

constexpr uint64_t kMark = 0x616D74636E747461; // "attnctma"

struct Record {
  uint64_t mark;
  uint64_t base;
  uint64_t dims[kMaxTmaRank];
  uint64_t strides[kMaxTmaRank - 1]; // of dimensions 1 ..
  uint16_t box[kMaxTmaRank];
  uint8_t rank;
  uint8_t elementBytes;
  uint8_t swizzle; // in units of 16 bytes
  uint8_t reserved[11];
};
static_assert(sizeof(Record) <= kTensorMapBytes);

Error invalid(std::string what) { return {ErrorCode::InvalidArgument, "tensor map: " + std::move(what)}; }

Status checkMap(const TensorMap &map) {
  if (map.rank < 1 || map.rank > uint32_t(kMaxTmaRank))
    return invalid("rank " + std::to_string(map.rank) + " is not 1 to 5");
  if (map.elementBytes != 1 && map.elementBytes != 2 && map.elementBytes != 4 && map.elementBytes != 8)
    return invalid("elements of " + std::to_string(map.elementBytes) + " bytes");
  if (map.base % 16 != 0)
    return invalid("the tensor's address is not a multiple of 16");
  if (map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128)
    return invalid("swizzle of " + std::to_string(map.swizzle) + " bytes");
  for (uint32_t axis = 0; axis < map.rank; ++axis) {
    const std::string name = "dimension " + std::to_string(axis);
    if (map.dims[axis] < 1 || map.dims[axis] > uint64_t(1) << 32)
      return invalid(name + " is " + std::to_string(map.dims[axis]) + ", not 1 to 2^32");
    if (map.box[axis] < 1 || map.box[axis] > 256)
      return invalid(name + " of the box is " + std::to_string(map.box[axis]) + ", not 1 to 256");
    if (axis > 0 && (map.strides[axis] % 16 != 0 || map.strides[axis] >= uint64_t(1) << 40))
      return invalid(name + " has stride " + std::to_string(map.strides[axis]) +
                     "; it must be a multiple of 16 below 2^40");
  }
  if (map.boxRowBytes() % 16 != 0)
    return invalid("the box's row has " + std::to_string(map.boxRowBytes()) + " bytes, not a multiple of 16");
  if (map.swizzle != 0 && map.boxRowBytes() > map.swizzle)
    return invalid("the box's row has " + std::to_string(map.boxRowBytes()) + " bytes, more than the swizzle's " +
                   std::to_string(map.swizzle));
  if (map.swizzle != 0 && map.boxRowBytes() != map.swizzle && map.boxRows() > 1)
    return Error{ErrorCode::Unsupported, "tensor map: rows of " + std::to_string(map.boxRowBytes()) +
                                             " bytes with a swizzle of " + std::to_string(map.swizzle) +
                                             "; the emulator knows whole rows only"};
  return {};
}

} // namespace

uint32_t TensorMap::boxRows() const {
  uint32_t rows = 1;
  for (uint32_t axis = 1; axis < rank; ++axis)
    rows *= box[axis];
  return rows;
}

Result<OpaqueTensorMap> encodeTensorMap(const TensorMap &map) {
  if (Status status = checkMap(map); !status)
    return status.error();
  Record record{};
  record.mark = kMark;
  record.base = map.base;
  record.rank = static_cast<uint8_t>(map.rank);
  record.elementBytes = static_cast<uint8_t>(map.elementBytes);
  record.swizzle = static_cast<uint8_t>(map.swizzle / 16);
  for (uint32_t axis = 0; axis < map.rank; ++axis) {
    record.dims[axis] = map.dims[axis];
    record.box[axis] = static_cast<uint16_t>(map.box[axis]);
    if (axis > 0)
      record.strides[axis - 1] = map.strides[axis];
  }
  OpaqueTensorMap bytes{};
  std::memcpy(bytes.data(), &record, sizeof record);
  return bytes;
}

Result<TensorMap> decodeTensorMap(const void *bytes) {
  Record record;
  std::memcpy(&record, bytes, sizeof record);
  if (record.mark != kMark)
    return invalid("the 128 bytes were not made by encodeTensorMap");
  TensorMap map;
  map.base = record.base;
  map.rank = record.rank;
  map.elementBytes = record.elementBytes;
  map.swizzle = uint32_t(record.swizzle) * 16;
  map.strides[0] = record.elementBytes;
  for (uint32_t axis = 0; axis < uint32_t(kMaxTmaRank); ++axis) {
    map.dims[axis] = record.dims[axis];
    map.box[axis] = record.box[axis];
    if (axis > 0)
      map.strides[axis] = record.strides[axis - 1];
  }
  // A kernel may have written over it.
  if (Status status = checkMap(map); !status)
    return status.error();
  return map;
}

Status checkBox(const TensorMap &map, std::span<const int32_t> coordinates, size_t sharedBytes, uint32_t address) {
  if (coordinates.size() != map.rank)
    return invalid(std::to_string(coordinates.size()) + " coordinates for rank " + std::to_string(map.rank));
  if (address % kBoxAlignment != 0)
    return invalid("the box's shared address " + std::to_string(address) + " is not a multiple of " +
                   std::to_string(kBoxAlignment));
  if (address > sharedBytes || sharedBytes - address < map.boxBytes())
    return invalid("a box of " + std::to_string(map.boxBytes()) + " bytes at shared address " +
                   std::to_string(address) + " leaves the " + std::to_string(sharedBytes) + " bytes there are");
  return {};
}

Status copyBoxToShared(const TensorMap &map, std::span<const int32_t> coordinates, std::span<uint8_t> shared,
                       uint32_t address) {
  if (Status status = checkBox(map, coordinates, shared.size(), address); !status)
    return status;
  visitBox(map, coordinates, address, [&](const BoxPiece &piece) {
    uint8_t *target = shared.data() + piece.shared;
    std::memset(target, 0, 16);
    if (piece.begin < piece.end)
      std::memcpy(target + piece.begin, reinterpret_cast<const uint8_t *>(piece.global + piece.begin),
                  piece.end - piece.begin);
  });
  return {};
}

Status copyBoxToGlobal(const TensorMap &map, std::span<const int32_t> coordinates, std::span<const uint8_t> shared,
                       uint32_t address) {
  if (Status status = checkBox(map, coordinates, shared.size(), address); !status)
    return status;
  visitBox(map, coordinates, address, [&](const BoxPiece &piece) {
    if (piece.begin < piece.end)
      std::memcpy(reinterpret_cast<uint8_t *>(piece.global + piece.begin), shared.data() + piece.shared + piece.begin,
                  piece.end - piece.begin);
  });
  return {};
}

} // namespace attnc::emulator
// NOLINTEND(performance-no-int-to-ptr)

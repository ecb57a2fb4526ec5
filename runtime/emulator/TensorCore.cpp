// Registers hold 16-bit matrices row by row already: the 32 words of a0 are rows 0-7 of A
// with eight values of k each, those of b0 the same of B transposed. Both are widened to
// floats and multiplied a row at a time, eight columns to a vector: c0's four, then c1's.
#include "runtime/emulator/TensorCore.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/emulator/Emulator.h"
#include "runtime/emulator/Formats.h"

// One binary for every processor; the emulator spends a third of its time here.
#if defined(__x86_64__)
#define ATTNC_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define ATTNC_CLONES
#endif

namespace attnc::emulator {
namespace {

constexpr int kRows = 16, kColumns = 8, kDepth = 16, kHalfDepth = 8;

using Float8 = float __attribute__((vector_size(32)));
using Float4 = float __attribute__((vector_size(16)));
using Int8 = int32_t __attribute__((vector_size(32)));

struct TileA {
  alignas(64) float at[kRows][kDepth];
};

// Columns in the order of the accumulators: 0 2 4 6 1 3 5 7.
struct TileB {
  alignas(64) float at[kDepth][kColumns];
};

ATTNC_CLONES void widenHalves(HalfType type, const uint16_t *halves, float *values, int count) {
  if (type == HalfType::BF16)
    for (int i = 0; i < count; ++i)
      values[i] = fromBF16(halves[i]);
  else
    for (int i = 0; i < count; ++i)
      values[i] = fromF16(halves[i]);
}

// a[0..1] are k 0-7 of rows 0-7 and 8-15, a[2..3] (of k16) k 8-15.
void loadA(HalfType type, const uint32_t *const *registers, int depth, TileA &tile) {
  const int blocks = depth / kHalfDepth * 2;
  uint16_t halves[4 * 64];
  alignas(64) float values[4][8][8];
  for (int block = 0; block < blocks; ++block)
    std::memcpy(halves + block * 64, registers[block], kLanes * sizeof(uint32_t));
  widenHalves(type, halves, values[0][0], blocks * 64);
  for (int block = 0; block < blocks; ++block)
    for (int row = 0; row < 8; ++row)
      std::memcpy(&tile.at[block % 2 * 8 + row][block / 2 * 8], values[block][row], sizeof values[block][row]);
}

// `columns` is B transposed, in blocks of eight columns with eight values of k each.
void loadB(HalfType type, const uint16_t *columns, int depth, TileB &tile) {
  alignas(64) float values[2][kColumns][kHalfDepth];
  widenHalves(type, columns, values[0][0], depth * kColumns);
  for (int block = 0; block < depth / kHalfDepth; ++block)
    for (int k = 0; k < kHalfDepth; ++k)
      for (int slot = 0; slot < kColumns; ++slot)
        tile.at[block * kHalfDepth + k][slot] = values[block][slot % 4 * 2 + slot / 4][k];
}

// The chain of fused multiply-adds of a 16 x 8 tile, eight rows at once to hide their
// latency. `c` null: from zero.
ATTNC_CLONES void multiplyChain(const TileA &a, const TileB &b, int depth, const float *const *c, float *const *d) {
  for (int pair = 0; pair < 4; pair += 2) {
    Float8 sums[8] = {};
    if (c)
      for (int row = 0; row < 8; ++row) {
        Float4 low, high;
        std::memcpy(&low, c[pair] + row * 4, sizeof low);
        std::memcpy(&high, c[pair + 1] + row * 4, sizeof high);
        sums[row] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
      }
    for (int k = 0; k < depth; ++k) {
      Float8 column;
      std::memcpy(&column, b.at[k], sizeof column);
#pragma clang loop unroll(full)
      for (int row = 0; row < 8; ++row) {
        const float value = a.at[pair * 4 + row][k];
        const Float8 factor = {value, value, value, value, value, value, value, value};
        sums[row] = __builtin_elementwise_fma(factor, column, sums[row]);
      }
    }
    for (int row = 0; row < 8; ++row) {
      const Int8 isNan = sums[row] != sums[row];
      const Int8 bits = (Int8(sums[row]) & ~isNan) | (isNan & 0x7FFFFFFF); // the same bits, not converted
      const auto low = __builtin_shufflevector(bits, bits, 0, 1, 2, 3);
      const auto high = __builtin_shufflevector(bits, bits, 4, 5, 6, 7);
      std::memcpy(d[pair] + row * 4, &low, sizeof low);
      std::memcpy(d[pair + 1] + row * 4, &high, sizeof high);
    }
  }
}

// A finite value as significand * 2^(exponent - 23); subnormals of its type stay unnormalised.
struct Scaled {
  int64_t significand = 0;
  int exponent = 0;
};

Scaled scale(float value, int smallestExponent) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const int field = static_cast<int>(bits >> 23 & 255);
  Scaled scaled{int64_t(bits & 0x7FFFFF) | (field != 0 ? 0x800000 : 0), std::max(field, 1) - 127};
  if (scaled.exponent < smallestExponent) { // f16: the lost bits are zeros
    scaled.significand >>= std::min(smallestExponent - scaled.exponent, 63);
    scaled.exponent = smallestExponent;
  }
  if ((bits >> 31) != 0)
    scaled.significand = -scaled.significand;
  return scaled;
}

struct FusedAdder {
  int smallestExponent; // of the operands' type
  int fractionBits;
  int depth; // products to one addition

  // c + sum of a[i] b[i * stride], `depth` of them.
  float add(const float *a, const float *b, int stride, float c) const {
    constexpr int kProductBits = 46, kZeroExponent = -126;
    Scaled terms[kDepth + 1];
    float plain = c; // decides where an operand is not finite
    for (int i = 0; i < depth; ++i) {
      const Scaled x = scale(a[i], smallestExponent), y = scale(b[i * stride], smallestExponent);
      terms[i] = {x.significand * y.significand, x.exponent + y.exponent};
      plain += a[i] * b[i * stride];
    }
    const Scaled start = scale(c, kZeroExponent);
    terms[depth] = {start.significand * (int64_t(1) << 23), start.exponent};
    bool isFinite = std::isfinite(c);
    for (int i = 0; i < depth; ++i)
      isFinite &= std::isfinite(a[i]) && std::isfinite(b[i * stride]);
    if (!isFinite)
      return canonical(plain);

    int largest = kZeroExponent - 2 * 126;
    for (int i = 0; i <= depth; ++i) {
      if (terms[i].significand == 0)
        terms[i].exponent = kZeroExponent;
      largest = std::max(largest, terms[i].exponent);
    }
    int64_t sum = 0;
    for (int i = 0; i <= depth; ++i) {
      const int drop = std::min(kProductBits - fractionBits + largest - terms[i].exponent, 63);
      const int64_t significand = terms[i].significand;
      sum += significand < 0 ? -(-significand >> drop) : significand >> drop;
    }
    const double exact = std::ldexp(static_cast<double>(sum), largest - fractionBits);
    if (std::fabs(exact) >= 0x1p128)
      return exact < 0 ? -INFINITY : INFINITY;
    return toF32(exact, Rounding::Zero);
  }
};

void multiplyFused(HalfType type, TensorCoreRounding rounding, const TileA &a, const TileB &b, int depth,
                   const float *const *c, float *const *d) {
  const bool isAmpere = rounding == TensorCoreRounding::Ampere;
  const FusedAdder adder{type == HalfType::F16 ? -14 : -126, isAmpere ? 24 : 25,
                         isAmpere ? std::min(depth, kHalfDepth) : depth};
  for (int row = 0; row < kRows; ++row)
    for (int slot = 0; slot < kColumns; ++slot) {
      const int part = row / 8 * 2 + slot / 4, lane = row % 8 * 4 + slot % 4;
      float sum = c ? c[part][lane] : 0.0F;
      for (int k = 0; k < depth; k += adder.depth)
        sum = adder.add(&a.at[row][k], &b.at[k][slot], kColumns, sum);
      d[part][lane] = sum;
    }
}

void multiply(HalfType type, TensorCoreRounding rounding, const TileA &a, const TileB &b, int depth,
              const float *const *c, float *const *d) {
  if (rounding == TensorCoreRounding::Fma)
    multiplyChain(a, b, depth, c, d);
  else
    multiplyFused(type, rounding, a, b, depth, c, d);
}

void mma(HalfType type, TensorCoreRounding rounding, int depth, const uint32_t *const *a, const uint32_t *const *b,
         const float *const *c, float *const *d) {
  TileA tileA;
  TileB tileB;
  loadA(type, a, depth, tileA);
  uint16_t halves[2 * 64];
  for (int block = 0; block < depth / kHalfDepth; ++block)
    std::memcpy(halves + block * 64, b[block], kLanes * sizeof(uint32_t));
  loadB(type, halves, depth, tileB);
  multiply(type, rounding, tileA, tileB, depth, c, d);
}

// Where element (row, k) of a gathered operand lies: A row by row, B as loadB takes it, tile
// after tile.
size_t placeA(int row, int k) { return size_t(row) * kDepth + k; }
size_t placeB(int row, int k) { return size_t(row / 8) * 128 + k / 8 * 64 + row % 8 * 8 + k % 8; }

// An operand of wgmma from shared memory: `extent` rows of sixteen values of k.
template <typename Place>
Status gather(uint64_t bits, Major major, int extent, bool isNegated, char name, std::span<const uint8_t> shared,
              uint16_t *halves, Place &&place) {
  const Result<MatrixDescriptor> descriptor = decodeDescriptor(bits);
  if (!descriptor)
    return descriptor.error();
  uint32_t addresses[2 * 256];
  operandPieces(*descriptor, major, extent, addresses);
  for (int piece = 0; piece < 2 * extent; ++piece) {
    const uint32_t address = addresses[piece];
    if (address > shared.size() || shared.size() - address < 16)
      return Error{ErrorCode::InvalidArgument, std::string("wgmma: matrix ") + name + " reads shared memory at " +
                                                   std::to_string(address) + ", past its " +
                                                   std::to_string(shared.size()) + " bytes"};
    uint16_t values[8];
    std::memcpy(values, shared.data() + address, sizeof values);
    const uint16_t flip = isNegated ? 0x8000 : 0;
    for (int i = 0; i < 8; ++i) {
      const size_t at = major == Major::K ? place(piece / 2, piece % 2 * 8 + i)
                                          : place(piece % (extent / 8) * 8 + i, piece / (extent / 8));
      halves[at] = values[i] ^ flip;
    }
  }
  return {};
}

void gatherRegisters(const Wgmma &wgmma, uint16_t *rows) {
  for (int warp = 0; warp < 4; ++warp)
    for (int block = 0; block < 4; ++block) {
      uint16_t halves[64];
      std::memcpy(halves, wgmma.registersA[warp][block], sizeof halves);
      for (int i = 0; i < 64; ++i)
        rows[placeA(warp * 16 + block % 2 * 8 + i / 8, block / 2 * 8 + i % 8)] =
            halves[i] ^ (wgmma.isNegatingA ? 0x8000 : 0);
    }
}

} // namespace

void mmaM16N8K16(HalfType type, TensorCoreRounding rounding, const uint32_t *const a[4], const uint32_t *const b[2],
                 const float *const c[4], float *const d[4]) {
  mma(type, rounding, kDepth, a, b, c, d);
}

void mmaM16N8K8(HalfType type, TensorCoreRounding rounding, const uint32_t *const a[2], const uint32_t *b,
                const float *const c[4], float *const d[4]) {
  mma(type, rounding, kHalfDepth, a, &b, c, d);
}

Result<MatrixDescriptor> decodeDescriptor(uint64_t bits) {
  constexpr uint32_t kSwizzles[4] = {0, 128, 64, 32};
  constexpr uint64_t kBaseOffset = uint64_t(7) << 49;
  constexpr uint64_t kFields = 0x3FFF | uint64_t(0x3FFF) << 16 | uint64_t(0x3FFF) << 32 | uint64_t(3) << 62;
  if ((bits & kBaseOffset) != 0)
    return Error{ErrorCode::Unsupported, "wgmma: the matrix descriptor has a base offset; align the matrix to the "
                                         "swizzle's pattern (1024, 512 or 256 bytes)"};
  if ((bits & ~kFields) != 0)
    return Error{ErrorCode::InvalidArgument, "wgmma: the matrix descriptor has reserved bits set"};
  const auto field = [&](int shift) { return static_cast<uint32_t>(bits >> shift & 0x3FFF) << 4; };
  return MatrixDescriptor{field(0), field(16), field(32), kSwizzles[bits >> 62]};
}

uint64_t encodeDescriptor(const MatrixDescriptor &descriptor) {
  const auto field = [](uint32_t bytes, int shift) { return uint64_t(bytes >> 4 & 0x3FFF) << shift; };
  const uint64_t swizzle = descriptor.swizzle == 128 ? 1 : descriptor.swizzle == 64 ? 2 : descriptor.swizzle / 32 * 3;
  return field(descriptor.start, 0) | field(descriptor.leading, 16) | field(descriptor.stride, 32) | swizzle << 62;
}

// The atom is eight rows (K-major: of m or n; MN-major: of k) of the swizzle's width, or of
// 16 bytes without one. `stride` steps over groups of eight rows. In MN-major `leading`
// steps along m or n beyond the width; without a swizzle the two change places, and in
// K-major `leading` then separates the two pieces of k.
void operandPieces(const MatrixDescriptor &descriptor, Major major, int extent, uint32_t *addresses) {
  const uint32_t width = std::max<uint32_t>(descriptor.swizzle, 16), pieces = width / 16;
  const bool isPlain = descriptor.swizzle == 0;
  if (major == Major::K) {
    const uint32_t step = isPlain ? descriptor.leading : 16;
    for (uint32_t row = 0; row < uint32_t(extent); ++row)
      for (uint32_t k = 0; k < 2; ++k)
        *addresses++ =
            swizzled(descriptor.start + row / 8 * descriptor.stride + row % 8 * width + k * step, descriptor.swizzle);
    return;
  }
  const uint32_t alongRows = isPlain ? descriptor.leading : descriptor.stride;
  const uint32_t along = isPlain ? descriptor.stride : descriptor.leading;
  for (uint32_t k = 0; k < kDepth; ++k)
    for (uint32_t piece = 0; piece < uint32_t(extent) / 8; ++piece)
      *addresses++ =
          swizzled(descriptor.start + k / 8 * alongRows + k % 8 * width + piece / pieces * along + piece % pieces * 16,
                   descriptor.swizzle);
}

Status runWgmma(const Wgmma &wgmma, std::span<const uint8_t> shared) {
  if (wgmma.n < 8 || wgmma.n > 256 || wgmma.n % 8 != 0)
    return Error{ErrorCode::InvalidArgument, "wgmma: n is " + std::to_string(wgmma.n)};
  uint16_t rowsA[64 * kDepth], columnsB[256 * kDepth];
  if (wgmma.isAInRegisters)
    gatherRegisters(wgmma, rowsA);
  else if (Status status = gather(wgmma.descriptorA, wgmma.majorA, 64, wgmma.isNegatingA, 'A', shared, rowsA, placeA);
           !status)
    return status;
  if (Status status =
          gather(wgmma.descriptorB, wgmma.majorB, wgmma.n, wgmma.isNegatingB, 'B', shared, columnsB, placeB);
      !status)
    return status;

  TileA tilesA[4];
  for (int warp = 0; warp < 4; ++warp)
    widenHalves(wgmma.type, rowsA + warp * kRows * kDepth, tilesA[warp].at[0], kRows * kDepth);
  for (int tile = 0; tile < wgmma.n / kColumns; ++tile) {
    TileB tileB;
    loadB(wgmma.type, columnsB + tile * kColumns * kDepth, kDepth, tileB);
    for (int warp = 0; warp < 4; ++warp) {
      float *const *d = wgmma.accumulators[warp] + tile * 4;
      multiply(wgmma.type, wgmma.rounding, tilesA[warp], tileB, kDepth, wgmma.isAccumulating ? d : nullptr, d);
    }
  }
  return {};
}

} // namespace attnc::emulator

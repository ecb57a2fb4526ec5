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

// Operands come as blocks of eight rows (of B: columns) with eight values of k each, all of
// k for the first eight rows, then for the next.
void loadA(HalfType type, const uint16_t *blocks, int depth, TileA &tile) {
  alignas(64) float values[kRows / 8 * kDepth * 8];
  widenHalves(type, blocks, values, kRows * depth);
  const float *next = values;
  for (int rows = 0; rows < kRows; rows += 8)
    for (int k = 0; k < depth; k += 8)
      for (int row = 0; row < 8; ++row, next += 8)
        std::memcpy(&tile.at[rows + row][k], next, 8 * sizeof(float));
}

void loadB(HalfType type, const uint16_t *blocks, int depth, TileB &tile) {
  alignas(64) float values[kDepth / 8][kColumns][8];
  widenHalves(type, blocks, values[0][0], depth * kColumns);
  for (int block = 0; block < depth / 8; ++block)
    for (int k = 0; k < 8; ++k)
      for (int slot = 0; slot < kColumns; ++slot)
        tile.at[block * 8 + k][slot] = values[block][slot % 4 * 2 + slot / 4][k];
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

// Whether a product is not finite for its factors' sake; an overflow is the sum's.
bool isSpecialProduct(float a, float b) { return !std::isfinite(a) || !std::isfinite(b); }

// c + sum of a[i] b[i], `count` of them, all finite, with `fractionBits` kept of each addend.
float addFused(const Scaled *a, const Scaled *b, int count, float c, int fractionBits) {
  constexpr int kProductBits = 46, kSmallest = -126; // zeros count as this small
  const Scaled start = scale(c, kSmallest);
  int64_t terms[kDepth + 1] = {start.significand * (int64_t(1) << 23)};
  int exponents[kDepth + 1] = {start.significand == 0 ? kSmallest : start.exponent};
  int largest = exponents[0];
  for (int i = 0; i < count; ++i) {
    terms[i + 1] = a[i].significand * b[i].significand;
    exponents[i + 1] = terms[i + 1] == 0 ? kSmallest : a[i].exponent + b[i].exponent;
    largest = std::max(largest, exponents[i + 1]);
  }
  int64_t sum = 0;
  for (int i = 0; i <= count; ++i) {
    const int drop = std::min(kProductBits - fractionBits + largest - exponents[i], 63);
    sum += terms[i] < 0 ? -(-terms[i] >> drop) : terms[i] >> drop;
  }
  const double exact = std::ldexp(static_cast<double>(sum), largest - fractionBits);
  if (std::fabs(exact) >= 0x1p128)
    return exact < 0 ? -INFINITY : INFINITY;
  return toF32(exact, Rounding::Zero);
}

void multiplyFused(HalfType type, TensorCoreRounding rounding, const TileA &a, const TileB &b, int depth,
                   const float *const *c, float *const *d) {
  const bool isAmpere = rounding == TensorCoreRounding::Ampere;
  const int smallest = type == HalfType::F16 ? -14 : -126, fractionBits = isAmpere ? 24 : 25;
  const int step = isAmpere ? std::min(depth, kHalfDepth) : depth;
  Scaled rows[kRows][kDepth], columns[kColumns][kDepth];
  bool isFinite = true; // of all factors
  for (int k = 0; k < depth; ++k) {
    for (int row = 0; row < kRows; ++row)
      rows[row][k] = scale(a.at[row][k], smallest), isFinite &= std::isfinite(a.at[row][k]);
    for (int slot = 0; slot < kColumns; ++slot)
      columns[slot][k] = scale(b.at[k][slot], smallest), isFinite &= std::isfinite(b.at[k][slot]);
  }
  for (int row = 0; row < kRows; ++row)
    for (int slot = 0; slot < kColumns; ++slot) {
      const int part = row / 8 * 2 + slot / 4, lane = row % 8 * 4 + slot % 4;
      float sum = c ? c[part][lane] : 0.0F;
      for (int k = 0; k < depth; k += step) {
        float plain = sum; // infinite or NaN as an infinite or NaN factor makes it
        for (int i = k; i < k + step && !isFinite; ++i)
          plain += isSpecialProduct(a.at[row][i], b.at[i][slot]) ? a.at[row][i] * b.at[i][slot] : 0.0F;
        sum = std::isfinite(plain) ? addFused(&rows[row][k], &columns[slot][k], step, sum, fractionBits)
                                   : canonical(plain);
      }
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
  constexpr int kBlock = 64;
  const int blocks = depth / 8;
  uint16_t halvesA[4 * kBlock], halvesB[2 * kBlock];
  for (int k = 0; k < blocks; ++k) {
    for (int rows = 0; rows < 2; ++rows)
      std::memcpy(halvesA + (rows * blocks + k) * kBlock, a[k * 2 + rows], kBlock * sizeof(uint16_t));
    std::memcpy(halvesB + k * kBlock, b[k], kBlock * sizeof(uint16_t));
  }
  TileA tileA;
  TileB tileB;
  loadA(type, halvesA, depth, tileA);
  loadB(type, halvesB, depth, tileB);
  multiply(type, rounding, tileA, tileB, depth, c, d);
}

// Element (row, k) in the blocks of an operand of wgmma.
constexpr int placeOf(int row, int k) { return row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8; }

// An operand of wgmma from shared memory, in blocks.
Status gather(uint64_t bits, Major major, int extent, char name, std::span<const uint8_t> shared, uint16_t *blocks) {
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
    const int strip = extent / 8;
    if (major == Major::K)
      std::memcpy(blocks + placeOf(piece / 2, piece % 2 * 8), values, sizeof values);
    else
      for (int i = 0, first = placeOf(piece % strip * 8, piece / strip); i < 8; ++i)
        blocks[first + i * 8] = values[i];
  }
  return {};
}

void gatherRegisters(const Wgmma &wgmma, uint16_t *blocks) {
  for (int warp = 0; warp < 4; ++warp)
    for (int block = 0; block < 4; ++block)
      std::memcpy(blocks + placeOf(warp * kRows + block % 2 * 8, block / 2 * 8), wgmma.registersA[warp][block],
                  kLanes * sizeof(uint32_t));
}

void negate(uint16_t *values, int count) {
  for (int i = 0; i < count; ++i)
    values[i] ^= 0x8000;
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
  uint16_t halvesA[64 * kDepth], halvesB[256 * kDepth];
  if (wgmma.isAInRegisters)
    gatherRegisters(wgmma, halvesA);
  else if (Status status = gather(wgmma.descriptorA, wgmma.majorA, 64, 'A', shared, halvesA); !status)
    return status;
  if (Status status = gather(wgmma.descriptorB, wgmma.majorB, wgmma.n, 'B', shared, halvesB); !status)
    return status;
  if (wgmma.isNegatingA)
    negate(halvesA, 64 * kDepth);
  if (wgmma.isNegatingB)
    negate(halvesB, wgmma.n * kDepth);

  TileA tilesA[4];
  for (int warp = 0; warp < 4; ++warp)
    loadA(wgmma.type, halvesA + warp * kRows * kDepth, kDepth, tilesA[warp]);
  for (int tile = 0; tile < wgmma.n / kColumns; ++tile) {
    TileB tileB;
    loadB(wgmma.type, halvesB + tile * kColumns * kDepth, kDepth, tileB);
    for (int warp = 0; warp < 4; ++warp) {
      float *const *d = wgmma.accumulators[warp] + tile * 4;
      multiply(wgmma.type, wgmma.rounding, tilesA[warp], tileB, kDepth, wgmma.isAccumulating ? d : nullptr, d);
    }
  }
  return {};
}

} // namespace attnc::emulator

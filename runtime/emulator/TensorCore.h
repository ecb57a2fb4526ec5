// The tensor cores' matrix products on registers of 32 lanes and on shared memory: mma.sync
// m16n8k8 and m16n8k16, and wgmma m64nNk16, of f16 or bf16 with float accumulators.
// A register is an array of 32 words, one a lane. Elements stand where PTX puts them, with
// r = lane / 4 and q = lane % 4, two 16-bit elements to a word, the low half first:
//   A  a0: (r, 2q..2q+1)  a1: (r + 8, ..)  a2: (r, 2q + 8 ..)  a3: (r + 8, 2q + 8 ..)
//   B  b0: (2q..2q+1, r)  b1: (2q + 8 .., r)
//   D  d0, d1: (r, 2q), (r, 2q + 1)        d2, d3: (r + 8, 2q), (r + 8, 2q + 1)
#pragma once

#include <cstdint>
#include <span>

#include "attnc/Status.h"

namespace attnc::emulator {

constexpr int kLanes = 32;

// Emulator.h's choice. Fma: one rounded fused multiply-add after the other, k ascending, the
// fast one. Ampere: eight exact products and the accumulator are aligned to the largest
// exponent, cut after 24 fraction bits, added and cut to a float; k16 is two of these.
// Hopper: the same on sixteen products with 25 fraction bits. (arXiv 2511.10909)
enum class TensorCoreRounding;

enum class HalfType : uint8_t { F16, BF16 };

// d = a b + c. Each pointer is to 32 lanes; d may be c.
void mmaM16N8K16(HalfType type, TensorCoreRounding rounding, const uint32_t *const a[4], const uint32_t *const b[2],
                 const float *const c[4], float *const d[4]);
void mmaM16N8K8(HalfType type, TensorCoreRounding rounding, const uint32_t *const a[2], const uint32_t *b,
                const float *const c[4], float *const d[4]);

// Which of the two dimensions of a shared operand is contiguous. PTX's imm-trans 0 is K.
enum class Major : uint8_t { K, MN };

// The fields of wgmma's 64-bit matrix descriptor, in bytes.
struct MatrixDescriptor {
  uint32_t start = 0;
  uint32_t leading = 0;
  uint32_t stride = 0;
  uint32_t swizzle = 0; // 0, 32, 64 or 128
};

// Unsupported where bits are set that the emulator does not model (base offset, reserved).
Result<MatrixDescriptor> decodeDescriptor(uint64_t bits);
uint64_t encodeDescriptor(const MatrixDescriptor &descriptor);

// XORs address bits 4.. with bits 7.. as TMA and wgmma do; `swizzle` is 0, 32, 64 or 128.
inline uint32_t swizzled(uint32_t address, uint32_t swizzle) {
  return address ^ ((address >> 7 & (swizzle / 16 - (swizzle != 0))) << 4);
}

// Where the 16-byte pieces of an operand of `extent` (64 of A, N of B; a multiple of 8) by
// 16 elements lie: `addresses` has 2 extent entries. K-major: [row][2], eight values of k
// each. MN-major: [16 k][extent / 8], eight rows or columns each.
void operandPieces(const MatrixDescriptor &descriptor, Major major, int extent, uint32_t *addresses);

// One wgmma of a warpgroup. A comes from shared memory or from registers.
struct Wgmma {
  HalfType type = HalfType::F16;
  TensorCoreRounding rounding{};
  int n = 8;                  // columns, 8 to 256
  bool isAccumulating = true; // scale-d: d += a b, else d = a b
  bool isNegatingA = false;   // imm-scale-a is -1
  bool isNegatingB = false;   // imm-scale-b is -1
  bool isAInRegisters = false;
  uint64_t descriptorA = 0; // unless in registers
  Major majorA = Major::K;
  const uint32_t *registersA[4][4] = {}; // [warp][a0..a3], 32 lanes each
  uint64_t descriptorB = 0;
  Major majorB = Major::K;
  float *const *accumulators[4] = {}; // [warp][n / 2] pointers to 32 lanes
};

// `shared` is the memory that the descriptors' addresses count in. InvalidArgument where a
// piece lies outside it, before any accumulator is written.
Status runWgmma(const Wgmma &wgmma, std::span<const uint8_t> shared);

} // namespace attnc::emulator

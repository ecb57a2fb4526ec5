// The compiled configuration of a CPU kernel: together with the canonical IR it is the
// cache key, and everything in it may shape the bits or the code. No MLIR here; the
// runtime prints it as JSON and the compiler parses that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnc/Tensor.h"

namespace attnc::cpu {

// Bump when a change of the emitter may change code or bits: old entries become unreachable.
inline constexpr int kEmitterVersion = 1;

// Keys a tile holds, in absolute positions. A constant of the contract: never tuned.
inline constexpr int kBlockN = 64;
inline constexpr int kDefaultSplitSize = 1024;

// Instruction families. Each names one LLVM target exactly (Isa.cpp), so a cached
// object runs on every machine that has the family.
enum class Isa : uint8_t { Sse, Avx2, Avx512, Avx512Bf16, Neon };

// dtypeName and dtypeSize for code that is linked without the runtime.
std::string_view dtypeText(DType dtype);
std::optional<DType> dtypeFromText(std::string_view name);
int64_t dtypeBytes(DType dtype);

std::string_view isaName(Isa isa); // "avx512_bf16"
std::optional<Isa> isaFromName(std::string_view);
Isa hostIsa(); // the best the processor has
bool hostRuns(Isa isa);

struct CaptureType {
  std::string name;
  DType dtype;
  bool operator==(const CaptureType &) const = default;
};
// The JSON array that parseCaptures (ConfigJson.h) reads.
std::string capturesToJson(const std::vector<CaptureType> &captures);

} // namespace attnc::cpu

namespace attnc {

// The part of a configuration that all backends share: what the tensors of a call must be.
struct KernelTypes {
  DType dtype = DType::F32;               // of query, key, value and output
  int headDim = 0;                        // of query and key, 1 to 512
  int valueDim = 0;                       // of value and output, 1 to 512
  int splitSize = cpu::kDefaultSplitSize; // keys; a multiple of the tile's
  std::vector<cpu::CaptureType> captures; // in the variant's order
};

} // namespace attnc

namespace attnc::cpu {

struct KernelConfig : KernelTypes {
  Isa isa = Isa::Sse;

  std::string toJson() const; // fields in fixed order
};

// How a kernel walks its tile; chosen from the configuration, free of influence on bits.
struct Schedule {
  const char *suffix; // "_wide"
  int lanes;          // queries per vector
  int blockM;         // queries per task
  int rows;           // register tile: rows (keys or value columns) ...
  int vectors;        // ... by vectors of queries
};

// What the compiler reports beside the object; stored in the cache's sidecar.
struct ScheduleInfo {
  std::string suffix;
  int blockM = 0;
  int64_t scratchBytes = 0;
  int64_t partialOffset = 0; // bytes
  int64_t partialFloats = 0;
};

} // namespace attnc::cpu

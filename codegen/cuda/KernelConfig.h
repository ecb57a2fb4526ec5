// The compiled configuration of a CUDA kernel and how its kernel is scheduled. With the
// canonical IR it is the cache's key. No MLIR here: the runtime prints it as JSON and the
// compiler parses that.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnc/Status.h"
#include "codegen/cpu/KernelConfig.h"

namespace attnc::cuda {

// Bump when a change of the emitter or of the device library may change code or bits.
inline constexpr int kEmitterVersion = 2;

// The targets: each names one compute capability, with its suffix where features of one
// generation alone are meant.
inline constexpr std::string_view kArches[] = {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"};

// dtype: F16 or BF16. headDim, valueDim: multiples of 8, 8 to 256.
struct KernelConfig : KernelTypes {
  std::string arch = "sm_80";

  KernelConfig() { dtype = DType::BF16; }
  // Names what is not supported and what is.
  Status check() const;
  std::string toJson() const; // fields in fixed order
};

// How the forward kernel of the sm_80 family is cut. blockN is part of the bits' contract
// and depends on the head dimensions alone; the rest never shows in the result.
struct Schedule {
  int blockN;            // keys of a tile
  int blockM;            // queries of a CTA; a warp has 16
  int stages;            // tiles of K and V in shared memory
  bool queryInRegisters; // else it stays in shared memory
};
// `columnValues`: words that the variant keeps for each key of a tile.
Schedule chooseSchedule(const KernelConfig &config, int columnValues);
// Dynamic shared memory of a CTA.
int sharedBytes(const KernelConfig &config, const Schedule &schedule, int columnValues);
// Keys of a tile.
int tileKeys(const KernelConfig &config);

} // namespace attnc::cuda

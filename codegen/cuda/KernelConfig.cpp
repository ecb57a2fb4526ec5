#include "codegen/cuda/KernelConfig.h"

#include <algorithm>

namespace attnc::cuda {

static bool isArch(std::string_view name) {
  return std::find(std::begin(kArches), std::end(kArches), name) != std::end(kArches);
}

static Error unsupported(std::string message) { return Error{ErrorCode::Unsupported, std::move(message)}; }

Status KernelConfig::check() const {
  if (!isArch(arch)) {
    std::string known;
    for (std::string_view each : kArches)
      known += (known.empty() ? "" : ", ") + std::string(each);
    return unsupported("target '" + arch + "': CUDA kernels are made for " + known);
  }
  if (dtype != DType::F16 && dtype != DType::BF16)
    return unsupported("dtype " + std::string(cpu::dtypeText(dtype)) + " on " + arch +
                       ": CUDA kernels take f16 and bf16; convert the tensors, or use the CPU target");
  auto checkDim = [&](const char *name, int value) -> Status {
    if (value >= 8 && value <= 256 && value % 8 == 0)
      return {};
    return unsupported(
        std::string(name) + " " + std::to_string(value) + " on " + arch +
        ": CUDA kernels take multiples of 8 from 8 to 256; pad with zeros (and give the scale), or use the "
        "CPU target");
  };
  if (Status s = checkDim("headDim", headDim); !s)
    return s;
  if (Status s = checkDim("valueDim", valueDim); !s)
    return s;
  if (splitSize < cpu::kBlockN || splitSize % cpu::kBlockN)
    return Error{ErrorCode::InvalidArgument,
                 "splitSize " + std::to_string(splitSize) + ": expected a multiple of " + std::to_string(cpu::kBlockN)};
  return {};
}

std::string KernelConfig::toJson() const {
  return "{\"emitter\": " + std::to_string(kEmitterVersion) + ", \"arch\": \"" + arch + "\", \"dtype\": \"" +
         std::string(cpu::dtypeText(dtype)) + "\", \"head_dim\": " + std::to_string(headDim) +
         ", \"value_dim\": " + std::to_string(valueDim) + ", \"split_size\": " + std::to_string(splitSize) +
         ", \"captures\": " + cpu::capturesToJson(captures) + "}";
}

// Shared memory a CTA may use: 163 KB on sm_80, 227 KB on sm_90 and sm_100, 99 KB elsewhere.
static int sharedLimit(const std::string &arch) {
  if (arch == "sm_80")
    return 163 << 10;
  return arch == "sm_90a" || arch == "sm_100a" ? 227 << 10 : 99 << 10;
}

static int padded(int dim) { return (dim + 15) / 16 * 16; }

int sharedBytes(const KernelConfig &config, const Schedule &s, int columnValues) {
  const int headDim = padded(config.headDim), valueDim = padded(config.valueDim);
  const int query = s.blockM * headDim * 2, carry = s.blockM * valueDim * 4;
  const int tile = s.blockN * ((headDim + valueDim) * 2 + columnValues * 4);
  return (s.queryInRegisters ? std::max(query, carry) : query + carry) + s.stages * tile;
}

int tileKeys(const KernelConfig &config) { return std::max(config.headDim, config.valueDim) <= 128 ? 64 : 32; }

Schedule chooseSchedule(const KernelConfig &config, int columnValues) {
  const int widest = padded(std::max(config.headDim, config.valueDim));
  // Best first; the first that fits the architecture's shared memory is taken.
  static constexpr Schedule small[] = {
      {64, 128, 2, true}, // 64 KB at 64: eight warps, the next tile on its way while one is used
  };
  static constexpr Schedule medium[] = {
      {64, 128, 1, true}, // 96 KB at 128: eight warps share a tile; a second stage would not fit beside the carry
      {64, 64, 1, true},
  };
  // 32 keys: the accumulators of 256 columns leave registers for no wider scores, and Q
  // is read again from shared memory for the same reason.
  static constexpr Schedule large[] = {
      {32, 64, 1, false}, // 128 KB at 256
      {32, 32, 1, false}, // 80 KB
      {32, 16, 1, false},
  };
  auto pick = [&](auto &list) {
    for (const Schedule &each : list)
      if (sharedBytes(config, each, columnValues) <= sharedLimit(config.arch))
        return each;
    return list[std::size(list) - 1];
  };
  if (widest <= 64)
    return pick(small);
  return widest <= 128 ? pick(medium) : pick(large);
}

} // namespace attnc::cuda

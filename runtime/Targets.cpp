#include "runtime/Targets.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/Program.h"
#include "runtime/Arguments.h"
#include "runtime/Suggest.h"

namespace attnc {

namespace {

Result<cpu::Isa> readTarget(const std::string &target) {
  if (target.empty() || target == "cpu")
    return cpu::hostIsa();
  if (target.starts_with("cpu:"))
    if (std::optional<cpu::Isa> isa = cpu::isaFromName(std::string_view(target).substr(4)))
      return *isa;
  std::vector<std::string> known = {"cpu",      "cpu:sse", "cpu:avx2", "cpu:avx512", "cpu:avx512_bf16",
                                    "cpu:neon", "cuda",    "emulated"};
  known.insert(known.end(), std::begin(cuda::kArches), std::end(cuda::kArches));
  return Error{ErrorCode::NotFound, fmt::format("target '{}' is unknown{}", target, suggestion(target, known))};
}

Status checkDim(const char *name, int value) {
  if (value >= 1 && value <= 512)
    return {};
  return invalidArgument(fmt::format("{}: expected 1 to 512, found {}", name, value));
}

Result<std::vector<cpu::CaptureType>> captureTypes(const Program &program, const CompileOptions &options) {
  std::vector<cpu::CaptureType> types;
  std::vector<std::string> names;
  for (const Capture &capture : program.captures) {
    types.push_back({capture.name, naturalDtype(capture)});
    names.push_back(capture.name);
  }
  for (const auto &[name, dtype] : options.captureDtypes) {
    auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      return invalidArgument(fmt::format("captureDtypes: variant '{}' declares no capture '{}'{}", program.name, name,
                                         suggestion(name, names)));
    const Capture &declared = program.captures[found - names.begin()];
    if (!fitsDeclaredType(declared, dtype))
      return invalidArgument(fmt::format("captureDtypes: capture '{}' is declared like {}, which {} does not fit; "
                                         "f32 takes f32, f16, bf16, and i32 takes i32, i64",
                                         name, dtypeName(naturalDtype(declared)), dtypeName(dtype)));
    types[found - names.begin()].dtype = dtype;
  }
  return types;
}

} // namespace

bool isCudaTarget(const std::string &target) {
  return target == "cuda" || target.starts_with("sm_") || target == "emulated" || target.starts_with("emulated:");
}

Result<cpu::KernelConfig> readCpuOptions(const Program &program, const CompileOptions &options) {
  if (options.dtype != DType::F32 && options.dtype != DType::F16 && options.dtype != DType::BF16)
    return invalidArgument(fmt::format("dtype: expected f32, f16 or bf16, found {}", dtypeName(options.dtype)));
  if (Status s = checkDim("headDim", options.headDim); !s)
    return s.error();
  if (Status s = checkDim("valueDim", options.valueDim); !s)
    return s.error();
  if (options.splitSize < cpu::kBlockN || options.splitSize > 1 << 30 || options.splitSize % cpu::kBlockN)
    return invalidArgument(fmt::format("splitSize: expected a multiple of {} up to {}, found {}", cpu::kBlockN, 1 << 30,
                                       options.splitSize));
  Result<cpu::Isa> isa = readTarget(options.target);
  if (!isa)
    return isa.error();
  Result<std::vector<cpu::CaptureType>> captures = captureTypes(program, options);
  if (!captures)
    return captures.error();
  cpu::KernelConfig config;
  config.isa = *isa;
  config.dtype = options.dtype;
  config.headDim = options.headDim;
  config.valueDim = options.valueDim;
  config.splitSize = options.splitSize;
  config.captures = *std::move(captures);
  return config;
}

Result<CudaTarget> readCudaOptions(const Program &program, const CompileOptions &options,
                                   const CurrentArch &currentArch) {
  CudaTarget target;
  cuda::KernelConfig &config = target.config;
  const std::string &name = options.target;
  target.output = name.starts_with("emulated") ? cuda::NvrtcOutput::Ptx : cuda::NvrtcOutput::Cubin;
  if (name.starts_with("emulated:"))
    config.arch = name.substr(sizeof("emulated:") - 1);
  else if (name.starts_with("sm_"))
    config.arch = name;
  else if (name == "cuda") {
    Result<std::string> arch = currentArch();
    if (!arch)
      return arch.error();
    config.arch = *arch;
  }
  config.dtype = options.dtype;
  config.headDim = options.headDim;
  config.valueDim = options.valueDim;
  config.splitSize = options.splitSize;
  Result<std::vector<cpu::CaptureType>> captures = captureTypes(program, options);
  if (!captures)
    return captures.error();
  config.captures = *std::move(captures);
  if (Status s = config.check(); !s)
    return s.error();
  return target;
}

} // namespace attnc

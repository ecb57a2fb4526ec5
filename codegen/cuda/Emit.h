// From attn.staged to one self-contained .cu text: the device library, the configuration,
// the variant's functions and one instantiation.
#pragma once

#include <string>

#include "codegen/cuda/KernelConfig.h"
#include "ir/AttnOps.h"
#include "llvm/Support/Error.h"

namespace attnc::cuda {

// The kernel that the text defines.
inline constexpr const char *kKernelName = "attnc_forward";

std::string emitCuda(StagedOp staged, const KernelConfig &config);

// The inverse of KernelConfig::toJson; every field is checked.
llvm::Expected<KernelConfig> parseConfig(llvm::StringRef json);

} // namespace attnc::cuda

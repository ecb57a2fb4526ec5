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

struct KernelText {
  std::string text;
  std::string info; // what a launch needs to know; the format: attnc_compiler.h
};
// `variant`: the text after simplification, for `info`.
KernelText emitCuda(StagedOp staged, const KernelConfig &config, llvm::StringRef variant);

// The inverse of KernelConfig::toJson; every field is checked.
llvm::Expected<KernelConfig> parseConfig(llvm::StringRef json);

} // namespace attnc::cuda

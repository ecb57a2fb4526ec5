// Prints the stages of a variant (attn.staged) as CUDA C++: one SSA value is one named
// local, and #line names the user's file.
#pragma once

#include <string>

#include "codegen/cuda/KernelConfig.h"
#include "ir/AttnOps.h"

namespace attnc::cuda {

// The text of `struct Mods`: Params, what each stage yields, and a function for each.
std::string printMods(StagedOp staged, const KernelConfig &config);

// Words that the variant keeps for each key of a tile.
int columnValueCount(StagedOp staged);

} // namespace attnc::cuda

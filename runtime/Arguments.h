// Checks everything about one call and turns it into what the kernel reads. Afterwards
// nothing is checked again: a kernel trusts its KernelArgs.
#pragma once

#include <string>
#include <vector>

#include "attnc/Context.h"
#include "codegen/cpu/KernelAbi.h"
#include "codegen/cpu/KernelConfig.h"

namespace attnc {

struct Program;
struct Capture;

struct CallArguments {
  cpu::KernelArgs args = {};
  std::vector<cpu::CaptureArg> captures; // args.captures points here
  std::vector<uint32_t> params;          // args.params points here
  Problem problem;

  CallArguments() = default;
  CallArguments(const CallArguments &) = delete;
  CallArguments &operator=(const CallArguments &) = delete;
};

// InvalidArgument, with the name of the tensor, what was expected and found, and a way out.
// `tileKeys`: keys of a tile, which the tiles of a block mask must be made of.
Status readArguments(const Program &program, const KernelTypes &types, int tileKeys, const RunArguments &arguments,
                     CallArguments &into);

// The captures and params alone (CaptureArguments.cpp); needs into.problem.
Status readBindings(const Program &program, const KernelTypes &config, const Bindings &bindings, CallArguments &into);

// Whether a capture declared with `declared`'s type may be passed as `dtype`.
bool fitsDeclaredType(const Capture &declared, DType dtype);
// The dtype of a capture unless CompileOptions::captureDtypes says otherwise.
DType naturalDtype(const Capture &declared);

// "'alibi' for sm_80 (bf16, ...)", and the command that makes the kernel ahead of time.
std::string kernelDescription(const Program &program, const KernelTypes &types, const std::string &target);
std::string warmCommand(const Program &program, const KernelTypes &types, const std::string &target);

Error invalidArgument(std::string message);

} // namespace attnc

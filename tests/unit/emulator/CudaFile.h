// CUDA C++ under kernels/ on its way into the emulator: NVRTC makes the PTX, NVIDIA's assembler
// judges it where it is installed. And what every kernel of ours is run under.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/emulator/Emulator.h"

namespace attnc::emulator {

// The PTX of a text for `arch`, as attnc's kernels are compiled; nothing where NVRTC is not
// installed. A compile error, or one of ptxas, fails the test.
std::optional<std::string> compileText(const std::string &text, const std::string &name, const std::string &arch,
                                       const std::vector<std::string> &options = {});
// The same of a file, decoded.
std::optional<Module> compileFile(const std::string &file, const std::string &arch,
                                  const std::vector<std::string> &options = {});

// All policies, without and with two seeds; the seeded ones keep every CTA resident.
std::vector<Options> allSchedules();

} // namespace attnc::emulator

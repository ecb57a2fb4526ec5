// Objects that hold one elementary function of the kernels as void(const Call *): for each
// vector of `count` elements, out = f(x, y).
#pragma once

#include <string>

#include "codegen/cpu/KernelConfig.h"

namespace attnc::test {

struct MathCall {
  const float *x, *y;
  float *out;
  int64_t count; // a multiple of 16
};

// "exp", "exp2", "log", "log2", "tanh", "sin", "cos", "erf", "pow", "softmax_exp2_5",
// "softmax_exp2_3"; the object's function is `math`. Empty if something failed.
std::string mathObject(const std::string &function, cpu::Isa isa);

} // namespace attnc::test

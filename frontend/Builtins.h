// The built-in functions of the language: name, arity, typing rule, operation.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/Program.h"

namespace attnc::frontend {

// How a built-in types its arguments and what it lowers to.
enum class BuiltinRule : uint8_t {
  Float,   // f32 in (i32 widens), f32 out, one operation
  Sigmoid, // f32, composite
  Power,   // as **
  Abs,     // i32 or f32, same out
  Min,     // two or more of i32 and f32, mixed widens
  Max,
  Clamp,  // x, low, high
  Relu,   // i32 or f32
  Select, // bool, a, b
  ToI32,
  ToF32,
  ToBool
};

struct BuiltinFunction {
  std::string_view name;
  BuiltinRule rule;
  Opcode op; // of the f32 form, where one operation is enough
  uint8_t minArguments, maxArguments;
};

const BuiltinFunction *findBuiltin(std::string_view name);
const std::vector<std::string_view> &builtinNames();

} // namespace attnc::frontend

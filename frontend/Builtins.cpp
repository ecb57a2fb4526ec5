#include "frontend/Builtins.h"

namespace attnc::frontend {

namespace {

// builtin_c1
constexpr BuiltinFunction kBuiltins[] = {
    {"exp", BuiltinRule::Float, Opcode::Exp, 1, 1},         {"exp2", BuiltinRule::Float, Opcode::Exp2, 1, 1},
    {"log", BuiltinRule::Float, Opcode::Log, 1, 1},         {"log2", BuiltinRule::Float, Opcode::Log2, 1, 1},
    {"tanh", BuiltinRule::Float, Opcode::Tanh, 1, 1},       {"sin", BuiltinRule::Float, Opcode::Sin, 1, 1},
    {"cos", BuiltinRule::Float, Opcode::Cos, 1, 1},         {"sqrt", BuiltinRule::Float, Opcode::Sqrt, 1, 1},
    {"rsqrt", BuiltinRule::Float, Opcode::Rsqrt, 1, 1},     {"erf", BuiltinRule::Float, Opcode::Erf, 1, 1},
    {"floor", BuiltinRule::Float, Opcode::Floor, 1, 1},     {"ceil", BuiltinRule::Float, Opcode::Ceil, 1, 1},
    {"round", BuiltinRule::Float, Opcode::RoundEven, 1, 1}, {"sigmoid", BuiltinRule::Sigmoid, Opcode::Exp, 1, 1},
    {"pow", BuiltinRule::Power, Opcode::Pow, 2, 2},         {"abs", BuiltinRule::Abs, Opcode::AbsF, 1, 1},
    {"min", BuiltinRule::Min, Opcode::MinF, 2, 16},         {"max", BuiltinRule::Max, Opcode::MaxF, 2, 16},
    {"clamp", BuiltinRule::Clamp, Opcode::Clamp, 3, 3},     {"relu", BuiltinRule::Relu, Opcode::Relu, 1, 1},
    {"select", BuiltinRule::Select, Opcode::Select, 3, 3},  {"i32", BuiltinRule::ToI32, Opcode::FloatToInt, 1, 1},
    {"f32", BuiltinRule::ToF32, Opcode::IntToFloat, 1, 1},  {"bool", BuiltinRule::ToBool, Opcode::CmpI, 1, 1},
};

} // namespace

const BuiltinFunction *findBuiltin(std::string_view name) {
  for (const BuiltinFunction &builtin : kBuiltins)
    if (builtin.name == name)
      return &builtin;
  return nullptr;
}

const std::vector<std::string_view> &builtinNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const BuiltinFunction &builtin : kBuiltins)
      list.push_back(builtin.name);
    return list;
  }();
  return names;
}

} // namespace attnc::frontend

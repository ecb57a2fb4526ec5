// The types of PTX: the modifiers .u32, .f16x2 and so on of instructions and variables.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace attnc::emulator {

// clang-format off
enum class Type : uint8_t {
  Pred, B8, B16, B32, B64, B128, U8, U16, U32, U64, S8, S16, S32, S64,
  F16, F16x2, BF16, BF16x2, TF32, F32, F32x2, F64, E4M3, E5M2, E4M3x2, E5M2x2,
};
// clang-format on

std::optional<Type> typeFromName(std::string_view name); // "u32", without the dot
int bitsOf(Type type);

inline bool isFloat(Type type) { return type >= Type::F16; }
inline bool isSigned(Type type) { return type >= Type::S8 && type <= Type::S64; }
inline bool isBits(Type type) { return type >= Type::B8 && type <= Type::B128; }

} // namespace attnc::emulator

#include "runtime/emulator/Type.h"

#include <iterator>

namespace attnc::emulator {

namespace {

struct TypeRow {
  std::string_view name;
  int bits;
};

// In the order of the enumeration.
constexpr TypeRow kTypes[] = {{"pred", 1},    {"b8", 8},     {"b16", 16},   {"b32", 32},   {"b64", 64},  {"b128", 128},
                              {"u8", 8},      {"u16", 16},   {"u32", 32},   {"u64", 64},   {"s8", 8},    {"s16", 16},
                              {"s32", 32},    {"s64", 64},   {"f16", 16},   {"f16x2", 32}, {"bf16", 16}, {"bf16x2", 32},
                              {"tf32", 32},   {"f32", 32},   {"f32x2", 64}, {"f64", 64},   {"e4m3", 8},  {"e5m2", 8},
                              {"e4m3x2", 16}, {"e5m2x2", 16}};
static_assert(std::size(kTypes) == size_t(Type::E5M2x2) + 1);

} // namespace

std::optional<Type> typeFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (kTypes[i].name == name)
      return Type(i);
  return std::nullopt;
}

int bitsOf(Type type) { return kTypes[size_t(type)].bits; }

} // namespace attnc::emulator

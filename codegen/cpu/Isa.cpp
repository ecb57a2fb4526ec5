// Names of the instruction families and what this processor can run.
#include "codegen/cpu/KernelConfig.h"

namespace attnc::cpu {

namespace {
struct IsaRow {
  Isa isa;
  std::string_view name;
};
constexpr IsaRow kRows[] = {{Isa::Sse, "sse"},
                            {Isa::Avx2, "avx2"},
                            {Isa::Avx512, "avx512"},
                            {Isa::Avx512Bf16, "avx512_bf16"},
                            {Isa::Neon, "neon"}};
} // namespace

std::string_view isaName(Isa isa) {
  for (const IsaRow &row : kRows)
    if (row.isa == isa)
      return row.name;
  return "";
}

std::optional<Isa> isaFromName(std::string_view name) {
  for (const IsaRow &row : kRows)
    if (row.name == name)
      return row.isa;
  return std::nullopt;
}

// The levels x86-64-v2, -v3 and -v4 include what the emitter's targets use.
bool hostRuns(Isa isa) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  switch (isa) {
  case Isa::Sse:
    return __builtin_cpu_supports("x86-64-v2");
  case Isa::Avx2:
    return __builtin_cpu_supports("x86-64-v3");
  case Isa::Avx512:
    return __builtin_cpu_supports("x86-64-v4");
  case Isa::Avx512Bf16:
    return __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512bf16");
  case Isa::Neon:
    return false;
  }
  return false;
#elif defined(__aarch64__)
  return isa == Isa::Neon;
#else
  return false;
#endif
}

Isa hostIsa() {
  for (Isa isa : {Isa::Avx512Bf16, Isa::Avx512, Isa::Avx2, Isa::Sse})
    if (hostRuns(isa))
      return isa;
  return Isa::Neon;
}

} // namespace attnc::cpu

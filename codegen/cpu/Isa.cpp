// Names of the instruction families and what the processor at hand offers. A family is
// there only if all of its x86-64 level is, because that level is what LLVM compiles for.
#include "codegen/cpu/KernelConfig.h"

namespace attnc::cpu {

namespace {

struct Named {
  Isa isa;
  std::string_view name;
};
// Worst first within one architecture.
constexpr Named kNames[] = {{Isa::Sse, "sse"},
                            {Isa::Avx2, "avx2"},
                            {Isa::Avx512, "avx512"},
                            {Isa::Avx512Bf16, "avx512_bf16"},
                            {Isa::Neon, "neon"}};

} // namespace

std::string_view isaName(Isa isa) {
  for (const Named &named : kNames)
    if (named.isa == isa)
      return named.name;
  return "unknown";
}

std::optional<Isa> isaFromName(std::string_view name) {
  for (const Named &named : kNames)
    if (named.name == name)
      return named.isa;
  return std::nullopt;
}

// The builtins also ask the operating system (XGETBV) whether it saves the wide registers.
bool hostRuns(Isa isa) {
#if defined(__x86_64__)
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
  Isa best = Isa::Sse;
  for (const Named &named : kNames)
    if (hostRuns(named.isa))
      best = named.isa;
  return best;
}

} // namespace attnc::cpu

// One cached kernel: what its key is made of, and the JSON sidecar that lies beside the
// object and says all of it in clear.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attnc/Status.h"
#include "codegen/cpu/KernelConfig.h"

namespace attnc {

struct Program;

// Everything that may change the code or its bits, and nothing else: no locations, no
// captured values, and not the variant's name, so a renamed copy is a hit.
struct KernelRequest {
  std::string variantName; // for messages only
  std::string canonicalIr;
  cpu::KernelConfig config;
  std::string configJson;
  std::string key; // SHA-256 over schema, emitter and LLVM version, IR and configuration

  KernelRequest(const Program &program, cpu::KernelConfig config);
  std::string target() const;   // "cpu:avx512"
  std::string describe() const; // "'alibi' for cpu:avx512 (f32, head dim 64, value dim 64)"
};

// What a compile gives and the cache keeps.
struct CacheEntry {
  std::string object;
  std::string variantText; // after simplification and mask extraction
  std::vector<cpu::ScheduleInfo> schedules;
  std::string variantName, target, compiler, created;
  double compileMs = 0;
};

// Takes "variant" and "schedules" of the compiler's info, checking every field.
Status readCompileInfo(std::string_view json, CacheEntry &entry);

std::string sidecarText(const KernelRequest &request, const CacheEntry &entry);
// Everything but the object. The message says which field is wrong.
Result<CacheEntry> readSidecar(std::string_view json, const KernelRequest &request);
// Whether `object` is the one the sidecar was written for; empty, or what differs.
std::string objectMismatch(std::string_view json, std::string_view object);

// For listings: a sidecar read on trust, without a request to hold it against.
struct SidecarSummary {
  std::string key, variant, target, created;
  uint64_t objectBytes = 0;
  double compileMs = 0;
};
Result<SidecarSummary> summarizeSidecar(std::string_view json);

std::string utcNow(); // ISO 8601

} // namespace attnc

// One cached kernel: a binary, and the JSON sidecar that lies beside it and says in clear
// what it is. Nothing here knows what the binary is for.
//
//   {"schema": 2,
//    "key": "89a3e1a5...",                        SHA-256 of the fields
//    "fields": {"backend": "cpu", "ir": ...},     what the key is made of, in order
//    "name": "alibi", "target": "cpu:avx512",     for people
//    "kind": "o",                                 of the binary; the extension of its file
//    "binary_bytes": 28272, "binary_sha256": "...",
//    "variant": "attn.variant @alibi ...",        after simplification and mask extraction
//    "report": {"schedules": [...]},              what the compiler tells: resources, timings
//    "compiler": "...", "created": "2026-12-01T16:20:42Z", "compile_ms": 221.7,
//    "sidecar_sha256": "..."}                     of all the text before this line
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attnc/Status.h"
#include "runtime/CacheKey.h"

namespace attnc {

inline constexpr uint64_t kMaxBinaryBytes = uint64_t(64) << 20, kMaxSidecarBytes = uint64_t(4) << 20;

struct CacheEntry {
  std::string kind = {};        // "o", "cubin", "ptx": 1 to 8 of a-z0-9
  std::string binary = {};      // at most kMaxBinaryBytes
  std::string variantText = {}; // what block masks are made from
  std::string report = "{}";    // a JSON object
  std::string name = {}, compiler = {};
  // The cache sets these after a compile.
  std::string target = {};
  std::string created = {}; // ISO 8601, UTC
  double compileMs = 0;
};

std::string sidecarText(const CacheKey &key, const CacheEntry &entry);

// A sidecar whose own hash, schema and key are right.
struct Sidecar {
  CacheKey key;
  CacheEntry entry; // without the binary
  uint64_t binaryBytes = 0;
  std::string binarySha256;
};
std::string sidecarText(const Sidecar &sidecar);
// Errors: Io; the message says which field is wrong.
Result<Sidecar> readSidecar(std::string_view json);
// Whether `binary` is the one the sidecar was written for; empty, or what differs.
std::string binaryMismatch(const Sidecar &sidecar, std::string_view binary);

bool isBinaryKind(std::string_view kind);
std::string utcNow(); // ISO 8601

} // namespace attnc

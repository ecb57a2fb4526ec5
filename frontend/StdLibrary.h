// The standard library's sources, embedded at build time from std/*.attn.
#pragma once

#include <span>
#include <string_view>

namespace attnc::frontend {

struct StdFile {
  std::string_view name; // "masks": imported as std.masks
  std::string_view text;
};

// Sorted by name. Defined in a generated file.
std::span<const StdFile> stdFiles();

} // namespace attnc::frontend

// The text front end: .attn source to Programs.
//
// The DSL is pinned in docs/language.md. Everything a user can get wrong comes back as a
// Diagnostic with a place and a way out; nothing here throws or terminates.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/Program.h"

namespace attnc::frontend {

struct Diagnostic {
  enum Severity : uint8_t { Error, Warning, Note };
  Severity severity = Error;
  std::string file;
  uint32_t line = 0, column = 0, length = 0; // line and column count from 1; line 0: the whole file
  std::string message;
  std::string hint; // how to fix it; may be empty
};

struct Module {
  std::vector<Program> variants; // in source order; empty if there is any error
  std::vector<Diagnostic> diagnostics;
  // All diagnostics as text: `file:line:col: error: ...`, the source line, a caret, the hint.
  std::string rendered;

  bool ok() const;
};

// Reads a file and what it imports. "std" is the standard library: its own variants.
Module loadFile(const std::string &path);

// The same from text. `fileName` is what diagnostics call it; imports resolve against
// `folder`, or against the folder of `fileName` when `folder` is empty.
Module loadText(std::string_view text, const std::string &fileName, const std::string &folder = "");

} // namespace attnc::frontend

// Source texts, places in them, and the list of what is wrong with them.
//
// Every stage reports into one Diagnostics; the list is bounded, so that a broken file
// gives a page of messages and not a megabyte.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/Frontend.h"

namespace attnc::frontend {

// A stretch of one line of a source text. Columns count bytes from 1.
struct Span {
  uint32_t file = 0; // index into Sources
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t length = 0;
};

struct SourceText {
  std::string name;
  std::string text;
};

// The texts of one load. They never move: tokens and names are views into them.
class Sources {
public:
  uint32_t add(std::string name, std::string text);
  const SourceText &operator[](uint32_t file) const { return texts[file]; }
  // Line `line` without its end; empty if there is none.
  std::string_view line(uint32_t file, uint32_t line) const;

private:
  std::deque<SourceText> texts;
};

class Diagnostics {
public:
  explicit Diagnostics(const Sources &sources) : sources(sources) {}

  void error(Span at, std::string message, std::string hint = "");
  void warning(Span at, std::string message, std::string hint = "");
  // Belongs to the diagnostic before it.
  void note(Span at, std::string message);

  bool hasErrors() const { return errors != 0; }
  uint32_t errorCount() const { return errors; }
  // True once no further error is shown; stages stop early then.
  bool isFull() const { return errors >= kMaxErrors; }

  std::vector<Diagnostic> take() { return std::move(list); }
  std::string render() const;

  static constexpr uint32_t kMaxErrors = 40;
  static constexpr uint32_t kMaxWarnings = 40;

private:
  bool add(Diagnostic::Severity severity, Span at, std::string message, std::string hint);

  const Sources &sources;
  std::vector<Diagnostic> list;
  std::vector<uint32_t> files; // of list[i], for the source line
  uint32_t errors = 0, warnings = 0;
  bool lastShown = true;
};

// The candidate nearest to `name` by edit distance, if any is near enough to be a slip.
std::string_view nearest(std::string_view name, const std::vector<std::string_view> &candidates);
// "did you mean 'x'?", or nothing.
std::string didYouMean(std::string_view name, const std::vector<std::string_view> &candidates);

// `text` in single quotes, as all messages name things.
std::string inQuotes(std::string_view text);

} // namespace attnc::frontend

// Reads PTX text word by word and keeps the line number; the first error stops it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/emulator/Ptx.h"

namespace attnc::emulator {

class PtxCursor {
public:
  explicit PtxCursor(std::string_view text) : text(text) {}

  // Skips blanks and comments; true at the end of the text or after an error.
  bool atEnd();
  char peek(); // the next character after blanks, 0 at the end
  bool accept(char c);
  void expect(char c);
  // A name: letters, digits, _ $ %. Empty if there is none.
  std::string_view word();
  // A name with a dot before it.
  std::string_view directive();
  // A name that continues through dots and double colons: an opcode.
  std::string_view dottedWord();
  std::string_view quoted();
  std::string_view restOfLine();
  // Skips to the closing of a brace that was just accepted.
  void skipBraces();

  // A literal with an optional sign, as an operand of a kind of number.
  std::optional<PtxOperand> number();
  uint64_t integer();

  void fail(std::string message);
  bool hasFailed() const { return failed; }
  const std::string &message() const { return failure; }
  int line() const { return lineNumber; }
  size_t position() const { return at; }
  void rewind(size_t position, int line) { at = position, lineNumber = line; }
  std::string_view between(size_t from, size_t to) const { return text.substr(from, to - from); }

private:
  void skipBlanks();

  std::string_view text;
  size_t at = 0;
  int lineNumber = 1;
  bool failed = false;
  std::string failure;
};

} // namespace attnc::emulator

// Text to tokens. Comments run from '#' to the end of the line.
#pragma once

#include <string_view>
#include <vector>

#include "frontend/Diagnostics.h"

namespace attnc::frontend {

enum class TokenKind : uint8_t { End, Name, Keyword, Integer, Float, Punctuation };

struct Token {
  TokenKind kind;
  std::string_view text; // into the source
  Span span;
  uint32_t bits = 0; // Integer: the value (up to 2^32 - 1); Float: the bits of the f32
};

// The tokens of a file, ended by one of kind End. Characters that start no token are
// reported and skipped, so the parser always gets a stream.
std::vector<Token> lex(const Sources &sources, uint32_t file, Diagnostics &diagnostics);

bool isKeyword(std::string_view word);

} // namespace attnc::frontend

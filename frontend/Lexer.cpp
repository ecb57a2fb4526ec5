#include "frontend/Lexer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

namespace attnc::frontend {

namespace {

constexpr std::array<std::string_view, 23> kKeywords = {
    "mask_mod", "score_mod", "fn",   "const", "param", "tensor", "variant", "import", "from", "let",   "var", "return",
    "if",       "then",      "else", "for",   "in",    "and",    "or",      "not",    "true", "false", "inf"};

constexpr std::array<std::string_view, 11> kPairs = {"|>", "->", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", ".."};
constexpr std::string_view kSingles = "+-*/%&|^<>=(){}[],:;.@?";

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isNamePart(char c) { return isNameStart(c) || isDigit(c); }
bool isHexDigit(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

class Lexer {
public:
  Lexer(std::string_view text, uint32_t file, Diagnostics &diagnostics)
      : text(text), file(file), diagnostics(diagnostics) {}

  std::vector<Token> run() {
    while (skipBlanks(), position < text.size() && !diagnostics.isFull())
      next();
    push(TokenKind::End, 0);
    return std::move(tokens);
  }

private:
  char at(size_t offset) const { return position + offset < text.size() ? text[position + offset] : '\0'; }
  Span span(size_t length) const {
    return {file, line, static_cast<uint32_t>(position - lineStart + 1), static_cast<uint32_t>(length)};
  }

  Token &push(TokenKind kind, size_t length) {
    tokens.push_back({kind, text.substr(position, length), span(length)});
    position += length;
    return tokens.back();
  }

  void skipBlanks() {
    for (; position < text.size(); ++position) {
      char c = text[position];
      if (c == '\n') {
        ++line;
        lineStart = position + 1;
      } else if (c == '#') {
        position = std::min(text.find('\n', position), text.size()) - 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  void next() {
    if (isNameStart(at(0))) {
      size_t length = 1;
      while (isNamePart(at(length)))
        ++length;
      bool keyword = isKeyword(text.substr(position, length));
      push(keyword ? TokenKind::Keyword : TokenKind::Name, length);
    } else if (isDigit(at(0)) || (at(0) == '.' && isDigit(at(1)))) {
      number();
    } else {
      punctuation();
    }
  }

  void punctuation() {
    std::string_view pair = text.substr(position, 2);
    if (pair == "&&" || pair == "||") {
      std::string_view word = pair == "&&" ? "and" : "or";
      diagnostics.error(span(2), "unexpected " + inQuotes(pair), "write " + inQuotes(word));
      push(TokenKind::Keyword, 2).text = word; // go on as if it had been written
    } else if (std::find(kPairs.begin(), kPairs.end(), pair) != kPairs.end()) {
      push(TokenKind::Punctuation, 2);
    } else if (kSingles.find(at(0)) != std::string_view::npos) {
      push(TokenKind::Punctuation, 1);
    } else {
      stray();
    }
  }

  void stray() {
    char c = at(0);
    if (c == '!') {
      diagnostics.error(span(1), "unexpected '!'", "write 'not'");
      push(TokenKind::Keyword, 1).text = "not";
      return;
    }
    size_t length = 1; // one message for a whole UTF-8 character or run of bytes
    while (static_cast<unsigned char>(c) >= 0x80 && static_cast<unsigned char>(at(length)) >= 0x80)
      ++length;
    bool printable = static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
    diagnostics.error(span(length),
                      printable ? "unexpected character " + inQuotes(text.substr(position, length))
                                : "unexpected control character " + std::to_string(static_cast<unsigned char>(c)),
                      c == '"' ? "there are no strings; modules are named with dots: import a.b;"
                               : "only comments may hold other characters than ASCII");
    position += length;
  }

  void number() {
    size_t length = 0;
    bool isFloat = false;
    bool isHex = at(0) == '0' && (at(1) == 'x' || at(1) == 'X') && isHexDigit(at(2));
    if (isHex) {
      length = 2;
      while (isHexDigit(at(length)))
        ++length;
    } else {
      length = decimal(isFloat);
    }
    size_t wrong = length;
    while (isNamePart(at(wrong)))
      ++wrong;
    if (wrong != length) {
      diagnostics.error(span(wrong), "invalid number " + inQuotes(text.substr(position, wrong)),
                        "numbers look like 12, 0x1f, 1.5 or 2e-3");
      push(TokenKind::Integer, wrong);
      return;
    }
    isFloat ? floatLiteral(length) : integerLiteral(length, isHex);
  }

  // The length of digits [. digits] [e digits]; `0..n` is a range and not `0.` `.n`.
  size_t decimal(bool &isFloat) const {
    size_t length = 0;
    while (isDigit(at(length)))
      ++length;
    if (at(length) == '.' && at(length + 1) != '.') {
      isFloat = true;
      ++length;
      while (isDigit(at(length)))
        ++length;
    }
    if (at(length) == 'e' || at(length) == 'E') {
      size_t digits = length + 1 + (at(length + 1) == '-' || at(length + 1) == '+');
      if (isDigit(at(digits))) {
        isFloat = true;
        for (length = digits; isDigit(at(length));)
          ++length;
      }
    }
    return length;
  }

  // literal_c1: decimal up to 2^31 (that one only after a minus), hex up to 32 bits.
  void integerLiteral(size_t length, bool isHex) {
    std::string_view digits = text.substr(position, length);
    uint32_t value = 0;
    const char *first = digits.data() + (isHex ? 2 : 0), *last = digits.data() + digits.size();
    auto [end, failure] = std::from_chars(first, last, value, isHex ? 16 : 10);
    if (failure != std::errc() || end != last || (!isHex && value > 0x80000000u)) {
      diagnostics.error(span(length), "integer " + inQuotes(digits) + " does not fit in 32 bits",
                        "write it as an f32, for example 1e10");
      value = 0;
    }
    push(TokenKind::Integer, length).bits = value;
  }

  // literal_c2: the nearest f32, ties to even; too large is an error, too small is zero.
  void floatLiteral(size_t length) {
    std::string_view digits = text.substr(position, length);
    float value = 0;
    const char *first = digits.data(), *last = digits.data() + digits.size();
    if (std::from_chars(first, last, value).ec != std::errc()) {
      double wide = 0; // out of range of f32: which way?
      if (std::from_chars(first, last, wide).ec != std::errc())
        wide = digits.find_first_of("eE") == std::string_view::npos ? digits.front() != '0' : digits.find('-') > length;
      if (wide >= 1)
        diagnostics.error(span(length), "number " + inQuotes(digits) + " does not fit in f32",
                          "the largest f32 is about 3.4e38; infinity is written inf");
      value = 0;
    }
    push(TokenKind::Float, length).bits = std::bit_cast<uint32_t>(value);
  }

  std::string_view text;
  uint32_t file;
  Diagnostics &diagnostics;
  std::vector<Token> tokens;
  size_t position = 0, lineStart = 0;
  uint32_t line = 1;
};

} // namespace

bool isKeyword(std::string_view word) { return std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end(); }

std::vector<Token> lex(const Sources &sources, uint32_t file, Diagnostics &diagnostics) {
  return Lexer(sources[file].text, file, diagnostics).run();
}

} // namespace attnc::frontend

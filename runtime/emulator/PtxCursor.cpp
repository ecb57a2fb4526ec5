#include "runtime/emulator/PtxCursor.h"

#include <bit>
#include <charconv>
#include <cstdlib>

namespace attnc::emulator {

namespace {

bool isWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

bool isDigit(char c) { return c >= '0' && c <= '9'; }

} // namespace

void PtxCursor::skipBlanks() {
  while (at < text.size()) {
    const char c = text[at];
    if (c == '\n') {
      ++lineNumber, ++at;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      while (at < text.size() && text[at] != '\n')
        ++at;
    } else if (text.substr(at, 2) == "/*") {
      const size_t end = text.find("*/", at + 2);
      const size_t stop = end == std::string_view::npos ? text.size() : end + 2;
      for (; at < stop; ++at)
        lineNumber += text[at] == '\n';
    } else {
      return;
    }
  }
}

bool PtxCursor::atEnd() {
  if (failed)
    return true;
  skipBlanks();
  return at >= text.size() || text[at] == '\0';
}

char PtxCursor::peek() { return atEnd() ? '\0' : text[at]; }

bool PtxCursor::accept(char c) {
  if (peek() != c || c == '\0')
    return false;
  ++at;
  return true;
}

void PtxCursor::expect(char c) {
  if (!accept(c))
    fail(std::string("'") + c + "' is missing");
}

std::string_view PtxCursor::word() {
  if (atEnd())
    return {};
  const size_t begin = at;
  while (at < text.size() && isWordCharacter(text[at]))
    ++at;
  return text.substr(begin, at - begin);
}

std::string_view PtxCursor::directive() {
  if (peek() != '.')
    return {};
  const size_t begin = at++;
  while (at < text.size() && isWordCharacter(text[at]))
    ++at;
  return text.substr(begin, at - begin);
}

std::string_view PtxCursor::dottedWord() {
  if (atEnd())
    return {};
  const size_t begin = at;
  while (at < text.size()) {
    if (isWordCharacter(text[at]) || (text[at] == '.' && at + 1 < text.size() && isWordCharacter(text[at + 1])))
      ++at;
    else if (text.substr(at, 2) == "::")
      at += 2;
    else
      break;
  }
  return text.substr(begin, at - begin);
}

std::string_view PtxCursor::quoted() {
  expect('"');
  if (failed)
    return {};
  const size_t begin = at;
  while (at < text.size() && text[at] != '"' && text[at] != '\n')
    at += text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
  const std::string_view result = text.substr(begin, at - begin);
  expect('"');
  return result;
}

std::string_view PtxCursor::restOfLine() {
  const size_t begin = at;
  while (at < text.size() && text[at] != '\n')
    ++at;
  return text.substr(begin, at - begin);
}

void PtxCursor::skipBraces() {
  for (int depth = 1; depth > 0;) {
    const char c = peek();
    if (c == '\0')
      return fail("a '}' is missing");
    if (c == '"') {
      quoted();
      continue;
    }
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    ++at;
  }
}

std::optional<PtxOperand> PtxCursor::number() {
  const char first = peek();
  size_t begin = at;
  const bool isNegative = first == '-';
  if (isNegative || first == '+')
    ++begin;
  if (begin >= text.size() || !isDigit(text[begin]))
    return std::nullopt;
  size_t end = begin;
  while (end < text.size() &&
         (isWordCharacter(text[end]) || text[end] == '.' ||
          ((text[end] == '-' || text[end] == '+') && (text[end - 1] == 'e' || text[end - 1] == 'E') &&
           text.substr(begin, 2) != "0x" && text.substr(begin, 2) != "0f")))
    ++end;
  std::string_view digits = text.substr(begin, end - begin);
  at = end;

  PtxOperand operand;
  const char kind = digits.size() > 1 && digits[0] == '0' ? char(digits[1] | 0x20) : '\0';
  auto parse = [&](std::string_view part, int base) {
    while (!part.empty() && (part.back() == 'U' || part.back() == 'u'))
      part.remove_suffix(1);
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), operand.bits, base);
    if (error != std::errc() || stop != part.data() + part.size() || part.empty())
      fail("'" + std::string(digits) + "' is not a number");
  };
  if (kind == 'f' && digits.size() == 10) {
    operand.kind = PtxOperand::Kind::Float32;
    parse(digits.substr(2), 16);
    operand.bits ^= isNegative ? 0x80000000U : 0U;
    return operand;
  }
  if (kind == 'd' && digits.size() == 18) {
    operand.kind = PtxOperand::Kind::Float64;
    parse(digits.substr(2), 16);
    operand.bits ^= isNegative ? uint64_t(1) << 63 : 0;
    return operand;
  }
  if (kind == 'x') {
    parse(digits.substr(2), 16);
  } else if (kind == 'b') {
    parse(digits.substr(2), 2);
  } else if (digits.find_first_of(".eE") != std::string_view::npos) {
    operand.kind = PtxOperand::Kind::Float64;
    double value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || stop != digits.data() + digits.size())
      fail("'" + std::string(digits) + "' is not a number");
    operand.bits = std::bit_cast<uint64_t>(isNegative ? -value : value);
    return operand;
  } else {
    parse(digits, kind >= '0' && kind <= '7' ? 8 : 10);
  }
  if (isNegative)
    operand.bits = -operand.bits;
  return operand;
}

uint64_t PtxCursor::integer() {
  const std::optional<PtxOperand> value = number();
  if (!value || value->kind != PtxOperand::Kind::Integer) {
    fail("an integer is missing");
    return 0;
  }
  return value->bits;
}

void PtxCursor::fail(std::string message) {
  if (failed)
    return;
  failed = true;
  failure = std::move(message);
}

} // namespace attnc::emulator

#include "frontend/Diagnostics.h"

#include <algorithm>

namespace attnc::frontend {

uint32_t Sources::add(std::string name, std::string text) {
  texts.push_back({std::move(name), std::move(text)});
  return static_cast<uint32_t>(texts.size() - 1);
}

std::string_view Sources::line(uint32_t file, uint32_t line) const {
  if (line == 0 || file >= texts.size())
    return {};
  std::string_view rest = texts[file].text;
  for (uint32_t i = 1; i < line; ++i) {
    size_t end = rest.find('\n');
    if (end == std::string_view::npos)
      return {};
    rest.remove_prefix(end + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  if (!rest.empty() && rest.back() == '\r')
    rest.remove_suffix(1);
  return rest;
}

bool Diagnostics::add(Diagnostic::Severity severity, Span at, std::string message, std::string hint) {
  std::string name = at.file < UINT32_MAX ? sources[at.file].name : std::string();
  for (const Diagnostic &seen : list)
    if (severity != Diagnostic::Note && seen.line == at.line && seen.column == at.column && seen.file == name &&
        seen.message == message)
      return false;
  list.push_back(
      {severity, std::move(name), at.line, at.column, std::max(at.length, 1u), std::move(message), std::move(hint)});
  files.push_back(at.file);
  return true;
}

void Diagnostics::error(Span at, std::string message, std::string hint) {
  lastShown = errors < kMaxErrors && add(Diagnostic::Error, at, std::move(message), std::move(hint));
  errors += errors < kMaxErrors;
  if (errors == kMaxErrors && lastShown)
    add(Diagnostic::Note, at, "too many errors, the rest is not shown", "");
}

void Diagnostics::warning(Span at, std::string message, std::string hint) {
  lastShown = warnings < kMaxWarnings && add(Diagnostic::Warning, at, std::move(message), std::move(hint));
  warnings += lastShown;
}

void Diagnostics::note(Span at, std::string message) {
  if (lastShown)
    add(Diagnostic::Note, at, std::move(message), "");
}

namespace {

// The part of a source line that is shown, and where the caret stands below it.
struct Excerpt {
  std::string text, caret;
};

Excerpt excerpt(std::string_view line, uint32_t column, uint32_t length) {
  constexpr size_t kWidth = 120;
  size_t start = std::min<size_t>(column - 1, line.size());
  size_t first = start > kWidth * 3 / 4 ? start - kWidth / 2 : 0;
  std::string_view shown = line.substr(first, kWidth);
  Excerpt out;
  for (char c : shown) // a tab or a control byte would move the caret or the terminal
    out.text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  size_t at = start - first;
  size_t room = at < shown.size() ? shown.size() - at : 1;
  out.caret = std::string(at, ' ') + '^' + std::string(std::min<size_t>(length, room) - 1, '~');
  return out;
}

} // namespace

std::string Diagnostics::render() const {
  static const char *const names[] = {"error", "warning", "note"};
  std::string out;
  for (size_t i = 0; i < list.size(); ++i) {
    const Diagnostic &d = list[i];
    out += d.file;
    if (d.line != 0)
      out += ':' + std::to_string(d.line) + ':' + std::to_string(d.column);
    out += std::string(d.file.empty() ? "" : ": ") + names[d.severity] + ": " + d.message + '\n';
    std::string_view line = sources.line(files[i], d.line);
    if (d.line != 0 && !line.empty()) {
      Excerpt shown = excerpt(line, d.column, d.length);
      out += "    " + shown.text + "\n    " + shown.caret + '\n';
    }
    if (!d.hint.empty())
      out += "    hint: " + d.hint + '\n';
  }
  return out;
}

namespace {

size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

} // namespace

std::string_view nearest(std::string_view name, const std::vector<std::string_view> &candidates) {
  if (name.size() > 64)
    return {};
  std::string_view best;
  size_t bestDistance = name.size() / 3 + 1; // one slip in three letters
  for (std::string_view candidate : candidates) {
    if (candidate.size() > 64 || candidate == name)
      continue;
    size_t distance = editDistance(name, candidate);
    if (distance < bestDistance || (distance == bestDistance && !best.empty() && candidate < best) ||
        (best.empty() && distance == bestDistance && distance < name.size())) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

std::string didYouMean(std::string_view name, const std::vector<std::string_view> &candidates) {
  std::string_view best = nearest(name, candidates);
  return best.empty() ? "" : "did you mean " + inQuotes(best) + "?";
}

std::string inQuotes(std::string_view text) { return "'" + std::string(text) + "'"; }

} // namespace attnc::frontend

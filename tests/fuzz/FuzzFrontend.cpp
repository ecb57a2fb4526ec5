// Any bytes at all: lexer, parser, checker and lowering must come back with a module that
// is either right (its variants print, parse and print the same) or explained.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "frontend/Frontend.h"

using namespace attnc;

static void require(bool holds, const char *what, const std::string &text) {
  if (holds)
    return;
  std::fprintf(stderr, "%s\n%s\n", what, text.c_str());
  std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  // The folder does not exist, so that imports reach the standard library alone.
  frontend::Module module = frontend::loadText(text, "fuzz.attn", "/nonexistent/attnc");
  require(module.ok() || module.variants.empty(), "variants beside errors", module.rendered);
  require(module.ok() || !module.rendered.empty(), "an error without a message", "");
  for (const frontend::Diagnostic &d : module.diagnostics)
    if (d.severity == frontend::Diagnostic::Error)
      require(!d.message.empty() && !d.hint.empty() && d.line > 0, "a poor error", d.message);
  for (const Program &program : module.variants) {
    std::string printed = print(program, PrintLocations::Yes);
    ParsedProgram parsed = parseProgram(printed);
    require(parsed.program.has_value(), parsed.failure.message.c_str(), printed);
    require(print(*parsed.program, PrintLocations::Yes) == printed, "reads back differently", printed);
  }
  return 0;
}

// attnc check, attnc list: what a file defines, or what is wrong with it.
#include <fmt/format.h>

#include "tools/attnc/Common.h"

namespace attnc::cli {

void addCheck(CLI::App &app, const GlobalOptions &) {
  CLI::App *check = app.add_subcommand("check", "Check .attn files and tell every error");
  check->footer("Example:\n  attnc check my.attn other.attn");
  auto files = std::make_shared<std::vector<std::string>>();
  check->add_option("FILE", *files, "Files to check")->required();
  check->callback([files] {
    bool isFine = true;
    for (const std::string &file : *files) {
      auto names = Variant::list(file);
      if (names) {
        fmt::print("{}: {} variant{}\n", file, names->size(), names->size() == 1 ? "" : "s");
        continue;
      }
      isFine = false;
      fmt::print(stderr, "{}\n", names.error().message);
    }
    if (!isFine)
      throw Failure{kBadInput, ""};
  });

  CLI::App *list = app.add_subcommand("list", "List the variants of a file; without one, of the standard library");
  list->footer("Examples:\n  attnc list\n  attnc list my.attn");
  auto path = std::make_shared<std::string>("std");
  list->add_option("FILE", *path, "An .attn file")->capture_default_str();
  list->callback([path] {
    for (const std::string &name : take(Variant::list(*path)))
      fmt::print("{}:{}\n", *path, name);
  });
}

} // namespace attnc::cli

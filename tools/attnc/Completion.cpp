// attnc completion: words for the shell, taken from the commands themselves.
#include <fmt/format.h>

#include "tools/attnc/Common.h"

namespace attnc::cli {

static std::string optionsOf(const CLI::App &app) {
  std::string words;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      words += "--" + name + " ";
  return words;
}

static std::string commandsOf(const CLI::App &app) {
  std::string words;
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    words += command->get_name() + " ";
  return words;
}

static void printBash(const CLI::App &app) {
  fmt::print("_attnc() {{\n  local word=${{COMP_WORDS[COMP_CWORD]}} words=\n  case ${{COMP_WORDS[1]}} in\n");
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    fmt::print("    {}) words='{}{}' ;;\n", command->get_name(), optionsOf(*command), commandsOf(*command));
  fmt::print("  esac\n  [[ $COMP_CWORD == 1 ]] && words='{}{}'\n"
             "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\") $(compgen -f -- \"$word\"))\n}}\n"
             "complete -o filenames -F _attnc attnc\n",
             commandsOf(app), optionsOf(app));
}

static void printFish(const CLI::App &app) {
  fmt::print("complete -c attnc -n __fish_use_subcommand -a '{}'\n", commandsOf(app));
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    for (const CLI::Option *option : command->get_options())
      for (const std::string &name : option->get_lnames())
        fmt::print("complete -c attnc -n '__fish_seen_subcommand_from {}' -l {}\n", command->get_name(), name);
}

void addCompletion(CLI::App &app, const GlobalOptions &) {
  CLI::App *command = app.add_subcommand("completion", "Print a completion script for a shell");
  command->footer("Examples:\n  source <(attnc completion bash)\n  attnc completion fish | source");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, shell] {
    if (*shell == "fish")
      return printFish(app);
    if (*shell == "zsh")
      fmt::print("autoload -U +X bashcompinit && bashcompinit\n");
    printBash(app);
  });
}

} // namespace attnc::cli

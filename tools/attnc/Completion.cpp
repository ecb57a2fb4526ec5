// attnc completion: words for the shell, taken from the commands themselves.
#include <fmt/format.h>

#include "tools/attnc/Common.h"

namespace attnc::cli {

static std::vector<const CLI::App *> commandsIn(const CLI::App &app) {
  return app.get_subcommands([](const CLI::App *) { return true; });
}

static std::string optionsOf(const CLI::App &app) {
  std::string words;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      words += "--" + name + " ";
  return words;
}

// And those of the commands within, as of `cache verify`.
static std::string allOptionsOf(const CLI::App &app) {
  std::string words = optionsOf(app);
  for (const CLI::App *command : commandsIn(app))
    words += optionsOf(*command);
  return words;
}

static std::string commandsOf(const CLI::App &app) {
  std::string words;
  for (const CLI::App *command : commandsIn(app))
    words += command->get_name() + " ";
  return words;
}

// The command is the first word that is one: options of all commands may stand before it.
static void printBash(const CLI::App &app) {
  fmt::print("_attnc() {{\n"
             "  local word=${{COMP_WORDS[COMP_CWORD]}} words='{}{}' i\n"
             "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
             "    case ${{COMP_WORDS[i]}} in\n",
             commandsOf(app), optionsOf(app));
  for (const CLI::App *command : commandsIn(app))
    fmt::print("      {}) words='{}{}{}'; break ;;\n", command->get_name(), commandsOf(*command),
               allOptionsOf(*command), optionsOf(app));
  fmt::print("    esac\n  done\n"
             "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\") $(compgen -f -- \"$word\"))\n}}\n"
             "complete -o filenames -F _attnc attnc\n");
}

static void printFish(const CLI::App &app) {
  fmt::print("complete -c attnc -n __fish_use_subcommand -a '{}'\n", commandsOf(app));
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      fmt::print("complete -c attnc -l {}\n", name);
  for (const CLI::App *command : commandsIn(app)) {
    if (const std::string inner = commandsOf(*command); !inner.empty())
      fmt::print("complete -c attnc -n '__fish_seen_subcommand_from {}' -a '{}'\n", command->get_name(), inner);
    for (const CLI::Option *option : command->get_options())
      for (const std::string &name : option->get_lnames())
        fmt::print("complete -c attnc -n '__fish_seen_subcommand_from {}' -l {}\n", command->get_name(), name);
    for (const CLI::App *inner : commandsIn(*command))
      for (const CLI::Option *option : inner->get_options())
        for (const std::string &name : option->get_lnames())
          fmt::print(
              "complete -c attnc -n '__fish_seen_subcommand_from {}; and __fish_seen_subcommand_from {}' -l {}\n",
              command->get_name(), inner->get_name(), name);
  }
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

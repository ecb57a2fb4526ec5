// attnc cache: what the kernel cache holds, whether it is sound, and carrying it about.
#include <fmt/format.h>

#include "tools/attnc/Common.h"

namespace attnc::cli {

static void list(const Context &context) {
  uint64_t total = 0;
  const auto entries = take(context.cacheEntries());
  for (const Context::CacheEntry &entry : entries) {
    fmt::print("{}  {:<20} {:<16} {:<5} {:>8} bytes  {:>7.1f} ms  {}\n", entry.key.substr(0, 12), entry.variant,
               entry.target, entry.kind, entry.bytes, entry.compileMs, entry.created);
    total += entry.bytes;
  }
  fmt::print("{} kernels, {} bytes in {}\n", entries.size(), total, context.cacheDirectory());
}

static void verify(const Context &context, bool removes) {
  const Context::CacheCheck check = take(context.verifyCache(removes));
  size_t left = 0;
  for (const Context::CacheCheck::Problem &problem : check.problems) {
    fmt::print("{}  {}{}\n", problem.key.empty() ? problem.directory : problem.key.substr(0, 12), problem.what,
               problem.isRemoved ? "; removed" : "");
    left += !problem.isRemoved;
  }
  fmt::print("{} kernels, {} corrupt\n", check.entries, check.problems.size());
  if (left > 0)
    throw Failure{kCorrupt, fmt::format("{} of the cache's kernels cannot be used and will be compiled again; "
                                        "`attnc cache verify --delete` removes them",
                                        left)};
}

static void import(const Context &context, const std::string &file) {
  const Context::CacheImport report = take(context.importCache(file));
  for (const std::string &refused : report.refused)
    fmt::print("{}\n", refused);
  fmt::print("imported {} kernels, {} were there, {} refused\n", report.imported, report.present,
             report.refused.size());
  if (!report.refused.empty())
    throw Failure{kCorrupt,
                  fmt::format("{} kernels of '{}' are damaged and were not imported", report.refused.size(), file)};
}

void addCache(CLI::App &app, const GlobalOptions &global) {
  CLI::App *cache = app.add_subcommand("cache", "Look at the kernel cache, check it, carry it about");
  cache->require_subcommand(1);
  cache->footer("A KEY is what ls shows, or any beginning that fits one kernel alone.\n\n"
                "Examples:\n"
                "  attnc cache ls\n"
                "  attnc cache show 89a3e1 | jq -r .fields.ir\n"
                "  attnc cache verify --delete\n"
                "  attnc cache export kernels.attnc && attnc --cache-dir other cache import kernels.attnc");
  cache->add_subcommand("ls", "List the kernels")->callback([&global] { list(makeContext(global)); });

  auto key = std::make_shared<std::string>();
  CLI::App *show = cache->add_subcommand("show", "Print all that is known of a kernel, as JSON");
  show->add_option("KEY", *key, "The key or its first digits")->required();
  show->callback([key, &global] { fmt::print("{}", take(makeContext(global).cacheEntryJson(*key))); });

  auto removes = std::make_shared<bool>(false);
  CLI::App *check = cache->add_subcommand("verify", "Hash every kernel; exit code 5 if one is corrupt");
  check->add_flag("--delete", *removes, "Remove those that are");
  check->callback([removes, &global] { verify(makeContext(global), *removes); });

  auto output = std::make_shared<std::string>(), input = std::make_shared<std::string>();
  CLI::App *save = cache->add_subcommand("export", "Write all kernels to one file");
  save->add_option("FILE", *output, "The file")->required();
  save->callback([output, &global] {
    fmt::print("exported {} kernels to {}\n", take(makeContext(global).exportCache(*output)), *output);
  });
  CLI::App *load = cache->add_subcommand("import", "Take in the kernels of such a file; they are code: trust it");
  load->add_option("FILE", *input, "The file")->required();
  load->callback([input, &global] { import(makeContext(global), *input); });

  cache->add_subcommand("clear", "Remove all kernels")->callback([&global] {
    fmt::print("removed {} kernels\n", take(makeContext(global).clearCache()));
  });
  cache->add_subcommand("path", "Print the directory")->callback([&global] {
    const std::string directory = makeContext(global).cacheDirectory();
    fmt::print("{}\n", directory.empty() ? "none" : directory);
  });
}

} // namespace attnc::cli

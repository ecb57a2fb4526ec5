// attnc cache: what the kernel cache holds.
#include <fmt/format.h>

#include "tools/attnc/Common.h"

namespace attnc::cli {

void addCache(CLI::App &app, const GlobalOptions &global) {
  CLI::App *cache = app.add_subcommand("cache", "Look at the kernel cache");
  cache->require_subcommand(1);
  cache->footer("Examples:\n  attnc cache ls\n  attnc cache clear\n  attnc cache path");
  cache->add_subcommand("ls", "List the kernels")->callback([&global] {
    Context context = makeContext(global);
    uint64_t total = 0;
    const auto entries = take(context.cacheEntries());
    for (const Context::CacheEntry &entry : entries) {
      fmt::print("{}  {:<20} {:<16} {:>8} bytes  {:>7.1f} ms  {}\n", entry.key.substr(0, 12), entry.variant,
                 entry.target, entry.bytes, entry.compileMs, entry.created);
      total += entry.bytes;
    }
    fmt::print("{} kernels, {} bytes in {}\n", entries.size(), total, context.cacheDirectory());
  });
  cache->add_subcommand("clear", "Remove all kernels")->callback([&global] {
    fmt::print("removed {} kernels\n", take(makeContext(global).clearCache()));
  });
  cache->add_subcommand("path", "Print the directory")->callback([&global] {
    const std::string directory = makeContext(global).cacheDirectory();
    fmt::print("{}\n", directory.empty() ? "none" : directory);
  });
}

} // namespace attnc::cli

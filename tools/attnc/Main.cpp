// attnc: compiles, shows and runs attention variants from the command line.
#include <cstdio>
#include <exception>
#include <system_error>

#include <fmt/format.h>

#include "tools/attnc/Common.h"

using namespace attnc::cli;

// Errors of usage look like all others, and name the help of the subcommand.
static std::string usageMessage(const CLI::App *app, const CLI::Error &error) {
  std::string command = "attnc";
  for (const CLI::App *used = app; !used->get_subcommands().empty();) {
    used = used->get_subcommands().front();
    command += " " + used->get_name();
  }
  return fmt::format("attnc: error: {}\nattnc: '{} --help' shows what it takes\n", error.what(), command);
}

static int runTool(int argc, char **argv) {
  CLI::App app("attnc: the attention compiler\n\n"
               "A variant is named FILE.attn, FILE.attn:NAME or std:NAME (the standard library).",
               "attnc");
  app.footer("Examples:\n"
             "  attnc check my.attn\n"
             "  attnc dump std:alibi --emit=staged\n"
             "  attnc run std:causal --query q.npy --key k.npy --value v.npy --output o.npy --compare\n"
             "  attnc mask std:sliding_window --size 2048 --param window=256\n\n"
             "Exit codes: 0 done, 1 wrong variant or input, 2 wrong usage, 3 a defect of attnc,\n"
             "            4 --compare found a difference beyond the tolerance,\n"
             "            5 kernels of the cache or of an import are corrupt.");
  app.require_subcommand(1);
  app.fallthrough();
  app.failure_message(usageMessage);
  app.set_version_flag("--version", "attnc " ATTNC_VERSION);
  GlobalOptions global;
  app.add_option("--cache-dir", global.cacheDir, "Kernel cache; 'none' keeps kernels in memory only")->type_name("DIR");
  app.add_flag("--forbid-jit", global.forbidJit, "Fail instead of compiling what is not cached");
  app.add_option("--threads", global.threads, "Worker threads; default: one a processor")->check(CLI::Range(1, 1024));
  app.add_flag("-v,--verbose", global.isVerbose, "Tell on stderr when something is compiled");
  addCheck(app, global);
  addDump(app, global);
  addRun(app, global);
  addMask(app, global);
  addBench(app, global);
  addStats(app, global);
  addCache(app, global);
  addWarm(app, global);
  addCompletion(app, global);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    const int code = app.exit(error);
    return code == 0 ? kOk : kUsage;
  }
  return kOk;
}

int main(int argc, char **argv) {
  try {
    const int exitCode = runTool(argc, argv);
    // A full disk behind stdout shows only now.
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      failInput("cannot write to standard output");
    return exitCode;
  } catch (const Failure &failure) {
    progressDone();
    if (!failure.message.empty())
      std::fprintf(stderr, "attnc: error: %s\n", failure.message.c_str());
    return failure.exitCode;
  } catch (const std::system_error &error) { // from fmt::print
    std::fprintf(stderr, "attnc: error: cannot write the output: %s\n", error.what());
    return kBadInput;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "attnc: internal error: %s\n", error.what());
    return kInternal;
  }
}

// attnc: compiles, shows and runs attention variants from the command line.
#include <exception>

#include <fmt/format.h>

#include "tools/attnc/Common.h"

using namespace attnc::cli;

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
             "            4 --compare found a difference beyond the tolerance.");
  app.require_subcommand(1);
  app.fallthrough();
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
  addCache(app, global);
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
    return runTool(argc, argv);
  } catch (const Failure &failure) {
    progressDone();
    if (!failure.message.empty())
      fmt::print(stderr, "attnc: error: {}\n", failure.message);
    return failure.exitCode;
  } catch (const std::exception &error) {
    fmt::print(stderr, "attnc: internal error: {}\n", error.what());
    return kInternal;
  }
}

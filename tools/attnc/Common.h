// What the subcommands share: exit codes, the options that name a variant and its inputs,
// reading tensors, and how errors are told.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <attnc/attnc.h>

namespace attnc::cli {

enum ExitCode { kOk = 0, kBadInput = 1, kUsage = 2, kInternal = 3, kDiffers = 4, kCorrupt = 5 };

struct GlobalOptions {
  std::string cacheDir;
  bool forbidJit = false;
  bool isVerbose = false;
  int threads = 0;
};

// Thrown inside the tool only; Main.cpp prints it and ends with the code.
struct Failure {
  int exitCode;
  std::string message;
};
[[noreturn]] void fail(const Error &error);
[[noreturn]] void failInput(const std::string &message);

// The value, or the end of the program with the error's message.
template <typename T> T take(Result<T> result) {
  if (!result)
    fail(result.error());
  return std::move(*result);
}
inline void check(const Status &status) {
  if (!status)
    fail(status.error());
}

// "file.attn", "file.attn:name" or "std:name".
Variant loadVariant(const std::string &spec);
// "file.npy" or "file.safetensors:name".
OwnedTensor loadTensor(const std::string &spec);
DType parseDtype(const std::string &name, std::initializer_list<DType> known = {DType::F32, DType::F16, DType::BF16});

Context makeContext(const GlobalOptions &global);

// --capture name=file and --param name=number, with the memory they point to.
struct BindingOptions {
  std::vector<std::string> captures, params;

  void addTo(CLI::App &app);
  Bindings load();

private:
  std::vector<OwnedTensor> memory;
};

// Tensors for captures that were not given: floats are small pseudo-random numbers,
// integers 0, booleans true. Returns their names.
std::vector<std::string> fillMissingCaptures(const Variant &variant, const Problem &problem, Bindings &bindings,
                                             std::vector<OwnedTensor> &memory);

bool isTerminal(int fd);
// A line on stderr that the next one overwrites; only on a terminal.
void progress(const std::string &text);
void progressDone();

// Each subcommand adds itself; its callback runs when it is chosen.
void addBench(CLI::App &app, const GlobalOptions &global);
void addCache(CLI::App &app, const GlobalOptions &global);
void addCheck(CLI::App &app, const GlobalOptions &global);
void addCompletion(CLI::App &app, const GlobalOptions &global);
void addDump(CLI::App &app, const GlobalOptions &global);
void addMask(CLI::App &app, const GlobalOptions &global);
void addRun(CLI::App &app, const GlobalOptions &global);
void addStats(CLI::App &app, const GlobalOptions &global);
void addWarm(CLI::App &app, const GlobalOptions &global);

} // namespace attnc::cli

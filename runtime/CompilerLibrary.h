// libattnc_compiler.so, opened the first time something must be compiled and never closed.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attnc/Status.h"

namespace attnc {

struct CompilerOutput {
  std::string bytes; // the stage's text, or the object
  std::string info;  // JSON, with "object"
  std::vector<std::string> warnings;
};

class CompilerLibrary {
public:
  // Paths in the order they are tried. Nothing is opened yet.
  explicit CompilerLibrary(std::vector<std::string> paths);
  ~CompilerLibrary();

  // Where a context without its own path looks: beside libattnc, then the build tree.
  static std::vector<std::string> defaultPaths();

  // Errors: NotFound (no library; says where it looked), Unsupported (another version),
  // InvalidVariant (the compiler's diagnostics).
  Result<CompilerOutput> compile(const std::string &text, const std::string &config, const std::string &stage);
  // "attnc 0.1 llvm 22.1.8"; empty while nothing was compiled.
  std::string build() const;

private:
  struct Functions;
  Status open();
  Status tryOpen(const std::string &path);

  const std::vector<std::string> paths;
  mutable std::mutex mutex;
  std::unique_ptr<const Functions> functions; // set once
};

} // namespace attnc

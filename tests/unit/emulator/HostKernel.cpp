#include "tests/unit/emulator/HostKernel.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace attnc::emulator {

namespace {

bool isWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

size_t skipSpace(const std::string &text, size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0)
    ++at;
  return at;
}

// Behind the string literal that begins at `at`.
size_t skipString(const std::string &text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\')
      ++at;
  return at + 1;
}

// One statement: between its outer parentheses the parts that colons divide, and those by commas.
struct Statement {
  std::vector<std::vector<std::string>> parts = {{""}};
  size_t end = 0; // behind the closing parenthesis; 0 if there is none
};

Statement splitStatement(const std::string &text, size_t open) {
  Statement statement;
  int depth = 0;
  for (size_t at = open + 1; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      const size_t end = skipString(text, at);
      statement.parts.back().back().append(text, at, end - at);
      at = end - 1;
      continue;
    }
    if (depth == 0 && c == ')') {
      statement.end = at + 1;
      return statement;
    }
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (depth == 0 && c == ':')
      statement.parts.push_back({""});
    else if (depth == 0 && c == ',')
      statement.parts.back().emplace_back();
    else
      statement.parts.back().back() += c;
  }
  return statement;
}

// `"=r"(x)` as `.out(x)`; nothing of an empty part.
std::string operandCall(const std::string &operand, const char *function) {
  const size_t quote = operand.find('"');
  if (quote == std::string::npos)
    return "";
  return std::string(".") + function + operand.substr(skipString(operand, quote));
}

std::string hostCall(const Statement &statement) {
  std::string call = "::host::Asm(" + statement.parts[0][0] + ")";
  for (size_t part = 1; part < statement.parts.size() && part < 3; ++part)
    for (const std::string &operand : statement.parts[part])
      call += operandCall(operand, part == 1 ? "out" : "in");
  return call + ".run()";
}

constexpr const char *kTail = R"(
#define EXPORTED extern "C" __attribute__((visibility("default")))
EXPORTED extern const unsigned attncHostShape[] = {Kernel::kThreads, Kernel::kSharedBytes, Config::kBlockM, Config::kBlockN,
                                              sizeof(Mods::Params)};
EXPORTED const char *attncHostLaunch(const void *params, const unsigned *grid) {
  return host::launch({grid[0], grid[1], grid[2]}, Kernel::kThreads,
                      [&] { attnc_forward(*static_cast<const Mods::Params *>(params)); });
}
)";

std::string contentsOf(const std::filesystem::path &path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

} // namespace

Result<std::string> withoutInlinePtx(const std::string &text) {
  std::string result;
  size_t copied = 0;
  for (size_t at = text.find("asm"); at != std::string::npos; at = text.find("asm", at + 3)) {
    size_t open = skipSpace(text, at + 3);
    if (text.compare(open, 8, "volatile") == 0)
      open = skipSpace(text, open + 8);
    if ((at > 0 && isWordCharacter(text[at - 1])) || open >= text.size() || text[open] != '(')
      continue;
    const Statement statement = splitStatement(text, open);
    if (statement.end == 0)
      return Error{ErrorCode::InvalidArgument, "an asm statement does not end"};
    result.append(text, copied, at - copied).append(hostCall(statement));
    copied = at = statement.end;
  }
  return result.append(text, copied);
}

Result<HostKernel> HostKernel::compile(const std::string &text) {
  static int count = 0;
  auto rewritten = withoutInlinePtx(text);
  if (!rewritten)
    return rewritten.error();
  const std::filesystem::path base = std::filesystem::temp_directory_path() /
                                     ("attnc_host_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
  const std::string source = base.string() + ".cpp", library = base.string() + ".so", log = base.string() + ".log";
  std::ofstream(source) << "#include \"HostDevice.h\"\n" << *rewritten << kTail;
  // Every rounding is written out in the text; the host's compiler must not fuse any.
  const std::string command = std::string(ATTNC_HOST_COMPILER) +
                              " -std=c++20 -O1 -march=native -ffp-contract=off -fwrapv -fno-strict-aliasing -w"
                              " -Wno-c++11-narrowing -fPIC -fvisibility=hidden -shared -I" ATTNC_HOST_SHIM " -o " +
                              library + " " + source + " > " + log + " 2>&1";
  const bool isCompiled = std::system(command.c_str()) == 0; // NOLINT: a fixed command on our own files
  const std::string messages = contentsOf(log);
  HostKernel kernel;
  if (isCompiled)
    kernel.library = std::shared_ptr<void>(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL), [](void *handle) {
      if (handle != nullptr)
        dlclose(handle);
    });
  for (const std::string &file : {source, library, log})
    std::filesystem::remove(file);
  if (kernel.library == nullptr)
    return Error{ErrorCode::Internal, "the host's compiler refuses the kernel: " + messages};
  kernel.kernelShape = static_cast<const Shape *>(dlsym(kernel.library.get(), "attncHostShape"));
  kernel.launch = reinterpret_cast<decltype(kernel.launch)>(dlsym(kernel.library.get(), "attncHostLaunch"));
  return kernel;
}

} // namespace attnc::emulator

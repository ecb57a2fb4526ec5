#include "tools/attnc/Common.h"

#include <cstring>
#include <random>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "ir/Program.h"

namespace attnc::cli {

void fail(const Error &error) {
  throw Failure{error.code == ErrorCode::Internal ? kInternal : kBadInput, error.message};
}
void failInput(const std::string &message) { throw Failure{kBadInput, message}; }

// The part after the last ':' if there is one that can be a name.
static std::pair<std::string, std::string> splitSpec(const std::string &spec) {
  const size_t colon = spec.rfind(':');
  if (colon == std::string::npos || spec.find('/', colon) != std::string::npos)
    return {spec, ""};
  return {spec.substr(0, colon), spec.substr(colon + 1)};
}

Variant loadVariant(const std::string &spec) {
  auto [path, name] = splitSpec(spec);
  return take(Variant::load(path, name));
}

OwnedTensor loadTensor(const std::string &spec) {
  // A tensor's name may hold any character, '/' and ':' too.
  constexpr std::string_view extension = ".safetensors";
  const size_t colon = spec.find(std::string(extension) + ":");
  const std::string path = colon == std::string::npos ? spec : spec.substr(0, colon + extension.size());
  const std::string name = colon == std::string::npos ? "" : spec.substr(colon + extension.size() + 1);
  const bool isSafetensors = path.ends_with(extension);
  if (!isSafetensors && !path.ends_with(".npy"))
    failInput(fmt::format("'{}': expected a .npy file or FILE.safetensors:TENSOR", spec));
  OwnedTensor tensor = take(isSafetensors ? readSafetensors(path, name) : readNpy(path));
  if (!tensor.note.empty())
    fmt::print(stderr, "attnc: note: {}: {}\n", path, tensor.note);
  return tensor;
}

DType parseDtype(const std::string &name, std::initializer_list<DType> known) {
  std::string list;
  for (const DType &dtype : known) {
    if (name == dtypeName(dtype))
      return dtype;
    list += fmt::format("{}{}",
                        &dtype == known.begin()     ? ""
                        : &dtype + 1 == known.end() ? " or "
                                                    : ", ",
                        dtypeName(dtype));
  }
  failInput(fmt::format("unknown dtype '{}': expected {}", name, list));
}

Context makeContext(const GlobalOptions &global) {
  ContextOptions options;
  options.cacheDir = global.cacheDir;
  options.forbidJit = global.forbidJit;
  if (global.threads > 0)
    options.executor = makeThreadPool(global.threads);
  if (global.isVerbose)
    options.log = [](const std::string &line) { fmt::print(stderr, "attnc: {}\n", line); };
  return take(Context::create(options));
}

//===----------------------------------------------------------------------===//
// Captures and params
//===----------------------------------------------------------------------===//

void BindingOptions::addTo(CLI::App &app) {
  app.add_option("--capture", captures, "A captured tensor: NAME=FILE.npy or NAME=FILE.safetensors:TENSOR")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false); // else it would take a VARIANT that follows
  app.add_option("--param", params, "A run-time scalar: NAME=NUMBER")
      ->type_name("NAME=NUMBER")
      ->allow_extra_args(false);
}

static std::pair<std::string, std::string> splitAssignment(const std::string &text, const char *option) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    failInput(fmt::format("{} '{}': expected NAME=VALUE", option, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Bindings BindingOptions::load() {
  Bindings bindings;
  for (const std::string &text : captures) {
    auto [name, file] = splitAssignment(text, "--capture");
    memory.push_back(loadTensor(file));
    bindings.captures.push_back({name, memory.back().view});
  }
  for (const std::string &text : params) {
    auto [name, value] = splitAssignment(text, "--param");
    char *end = nullptr;
    const double number = value == "true" ? 1 : value == "false" ? 0 : std::strtod(value.c_str(), &end);
    if (end && (*end || end == value.c_str()))
      failInput(fmt::format("--param {}: '{}' is not a number", name, value));
    bindings.params.push_back({name, number});
  }
  return bindings;
}

static int64_t sizeOf(const CaptureDim &dim, const Problem &problem) {
  if (dim.kind == CaptureDim::Fixed)
    return dim.size;
  if (dim.kind == CaptureDim::Any)
    return 64;
  switch (dim.named) {
  case DimKind::B:
    return problem.batch;
  case DimKind::H:
    return problem.heads;
  case DimKind::Hkv:
    return problem.kvHeads;
  case DimKind::Q:
    return problem.queryLength;
  case DimKind::KV:
    return problem.kvLength;
  case DimKind::D:
    return problem.headDim;
  }
  return 1;
}

std::vector<std::string> fillMissingCaptures(const Variant &variant, const Problem &problem, Bindings &bindings,
                                             std::vector<OwnedTensor> &memory) {
  std::vector<std::string> filled;
  std::mt19937 random(1);
  for (const Capture &capture : variant.program().captures) {
    auto isGiven = [&](const NamedTensor &tensor) { return tensor.name == capture.name; };
    if (std::any_of(bindings.captures.begin(), bindings.captures.end(), isGiven))
      continue;
    std::vector<int64_t> shape;
    shape.reserve(capture.dims.size());
    for (const CaptureDim &dim : capture.dims)
      shape.push_back(sizeOf(dim, problem));
    const DType dtype = capture.type == ScalarType::F32   ? DType::F32
                        : capture.type == ScalarType::I32 ? DType::I32
                                                          : DType::Bool;
    memory.push_back(take(OwnedTensor::zeros(dtype, shape)));
    const TensorView &view = memory.back().view;
    if (dtype == DType::F32)
      for (int64_t i = 0; i < view.elements(); ++i)
        static_cast<float *>(view.data)[i] = static_cast<float>(random() % 1000) * 1e-4f;
    if (dtype == DType::Bool)
      std::memset(view.data, 1, static_cast<size_t>(view.elements()));
    bindings.captures.push_back({capture.name, view});
    filled.push_back(capture.name);
  }
  return filled;
}

//===----------------------------------------------------------------------===//
// The terminal
//===----------------------------------------------------------------------===//

bool isTerminal(int fd) { return isatty(fd) == 1; }

void progress(const std::string &text) {
  if (isTerminal(STDERR_FILENO))
    fmt::print(stderr, "\r\033[K{} ...", text);
}
void progressDone() {
  if (isTerminal(STDERR_FILENO))
    fmt::print(stderr, "\r\033[K");
}

} // namespace attnc::cli

// Variants as users meet them: front-end modules and dialect text turned into Programs.
#include "attnc/Variant.h"

#include <sys/stat.h>

#include <fmt/format.h>

#include "frontend/Frontend.h"
#include "ir/Program.h"
#include "runtime/Suggest.h"

namespace attnc {

static std::vector<std::string> names(const frontend::Module &module) {
  std::vector<std::string> list;
  list.reserve(module.variants.size());
  for (const Program &program : module.variants)
    list.push_back(program.name);
  return list;
}

static Error invalid(const frontend::Module &module) { return {ErrorCode::InvalidVariant, module.rendered}; }

// The front end reports a missing file as a diagnostic; callers want to tell it apart.
static Status checkExists(const std::string &path) {
  struct stat status;
  if (path == "std" || stat(path.c_str(), &status) == 0)
    return {};
  return Error{ErrorCode::NotFound, fmt::format("no file '{}'; give the path of a .attn file, or 'std' for the "
                                                "standard library",
                                                path)};
}

static Result<Program> pick(frontend::Module module, const std::string &file, const std::string &name) {
  if (!module.ok())
    return invalid(module);
  const std::vector<std::string> known = names(module);
  if (known.empty())
    return Error{ErrorCode::NotFound, fmt::format("'{}' defines no variant", file)};
  if (name.empty() && known.size() > 1)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("'{}' defines {} variants: name one of {}", file, known.size(), fmt::join(known, ", "))};
  for (Program &program : module.variants)
    if (name.empty() || program.name == name)
      return std::move(program);
  return Error{ErrorCode::NotFound, fmt::format("'{}' defines no variant '{}'{}", file, name, suggestion(name, known))};
}

static Result<Variant> wrap(Result<Program> program) {
  if (!program)
    return program.error();
  return Variant::fromProgram(std::make_shared<const Program>(*std::move(program)));
}

Result<Variant> Variant::load(const std::string &path, const std::string &name) {
  if (Status exists = checkExists(path); !exists)
    return exists.error();
  return wrap(pick(frontend::loadFile(path), path, name));
}

Result<Variant> Variant::parse(std::string_view text, const std::string &fileName, const std::string &name) {
  return wrap(pick(frontend::loadText(text, fileName), fileName, name));
}

Result<Variant> Variant::fromIr(std::string_view text) {
  ParsedProgram parsed = parseProgram(text);
  if (!parsed.program)
    return Error{ErrorCode::InvalidVariant, parsed.failure.message};
  return fromProgram(std::make_shared<const Program>(std::move(*parsed.program)));
}

Variant Variant::fromProgram(std::shared_ptr<const Program> program) { return Variant(std::move(program)); }

Result<std::vector<std::string>> Variant::list(const std::string &path) {
  if (Status exists = checkExists(path); !exists)
    return exists.error();
  frontend::Module module = frontend::loadFile(path);
  if (!module.ok())
    return invalid(module);
  return names(module);
}

const std::string &Variant::name() const { return state->name; }

std::string Variant::ir(bool withLocations) const {
  return print(*state, withLocations ? PrintLocations::Yes : PrintLocations::No);
}

} // namespace attnc

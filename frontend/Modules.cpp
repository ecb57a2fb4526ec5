#include "frontend/Modules.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "frontend/Lexer.h"
#include "frontend/Parser.h"
#include "frontend/StdLibrary.h"

namespace attnc::frontend {

namespace {

constexpr size_t kMaxModules = 256;
constexpr uintmax_t kMaxFileBytes = 1 << 20;

std::string stdFileNames() {
  std::string out;
  for (const StdFile &file : stdFiles())
    out += (out.empty() ? "std." : ", std.") + std::string(file.name);
  return out;
}

} // namespace

bool readSource(const std::string &path, std::string &text, std::string &why) {
  std::error_code failure;
  std::filesystem::file_status status = std::filesystem::status(path, failure);
  if (!std::filesystem::exists(status)) {
    why = "no such file";
    return false;
  }
  if (!std::filesystem::is_regular_file(status)) {
    why = "not a regular file";
    return false;
  }
  uintmax_t size = std::filesystem::file_size(path, failure);
  if (failure || size > kMaxFileBytes) {
    why = failure ? failure.message() : "larger than 1 MiB";
    return false;
  }
  std::ifstream in(path, std::ios::binary);
  text.resize(size);
  in.read(text.data(), static_cast<std::streamsize>(size));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  if (!in.is_open() || in.bad())
    why = "cannot be read";
  return why.empty();
}

// declare_c1: built-in names stay what they are; a scope holds a name once.
void declare(Scope &scope, Decl &decl, Diagnostics &diagnostics) {
  decl.scope = &scope;
  bool isBuiltin = findBuiltin(decl.name) != nullptr;
  for (std::string_view name : kImplicitNames)
    isBuiltin |= decl.name == name;
  for (std::string_view name : kDimNames)
    isBuiltin |= decl.name == name;
  if (isBuiltin) {
    diagnostics.error(decl.span, inQuotes(decl.name) + " is a built-in name", "choose another name");
    return;
  }
  auto [first, isNew] = scope.names.emplace(decl.name, &decl);
  if (isNew)
    return;
  diagnostics.error(decl.span, inQuotes(decl.name) + " is already defined", "rename one of the two");
  diagnostics.note(first->second->span, "first defined here");
}

ModuleUnit *ModuleLoader::loadText(std::string name, std::string text, std::string folder) {
  if (text.size() > kMaxFileBytes) {
    uint32_t file = sources.add(std::move(name), "");
    diagnostics.error({file, 0, 1, 1}, "the source is larger than 1 MiB", "split it into modules and import them");
    return nullptr;
  }
  std::string key = std::filesystem::path(name).lexically_normal().string();
  ModuleUnit *unit = parse("", std::move(name), std::move(text), std::move(folder));
  loaded[key] = unit;
  resolveImports(*unit);
  return unit;
}

ModuleUnit *ModuleLoader::loadStd(std::string_view name) {
  std::string path = "std." + std::string(name);
  if (auto found = loaded.find(path); found != loaded.end())
    return found->second;
  for (const StdFile &file : stdFiles()) {
    if (file.name != name)
      continue;
    ModuleUnit *unit = parse(path, "std/" + std::string(name) + ".attn", std::string(file.text), "");
    loaded[path] = unit;
    resolveImports(*unit);
    return unit;
  }
  return nullptr;
}

ModuleUnit *ModuleLoader::parse(std::string path, std::string name, std::string text, std::string folder) {
  units.emplace_back();
  ModuleUnit &unit = units.back();
  unit.path = std::move(path);
  unit.folder = std::move(folder);
  unit.file = sources.add(std::move(name), std::move(text));
  std::vector<Token> tokens = lex(sources, unit.file, diagnostics);
  Parser(tokens, diagnostics, unit.ast).parseModule();
  declareAll(unit);
  return &unit;
}

// import_c4: what a module offers is what it declares itself.
void ModuleLoader::declareAll(ModuleUnit &unit) {
  for (Decl *decl : unit.ast.decls) {
    declare(unit.exports, *decl, diagnostics);
    decl->scope = &unit.scope;
  }
  unit.scope.names = unit.exports.names;
}

void ModuleLoader::resolveImports(ModuleUnit &unit) {
  for (const ImportDecl &import : unit.ast.imports)
    importFrom(unit, import);
  unit.isComplete = true;
}

void ModuleLoader::importFrom(ModuleUnit &unit, const ImportDecl &import) {
  if (import.path == "std") { // import_c1: std is all of its files
    std::vector<const Scope *> all;
    for (const StdFile &file : stdFiles())
      all.push_back(&loadStd(file.name)->exports);
    importNames(unit, import, all);
  } else if (ModuleUnit *module = find(unit, import)) {
    importNames(unit, import, {&module->exports});
  }
}

void ModuleLoader::importNames(ModuleUnit &unit, const ImportDecl &import, const std::vector<const Scope *> &from) {
  if (import.names.empty()) {
    unit.scope.imported.insert(unit.scope.imported.end(), from.begin(), from.end());
    return;
  }
  for (const ImportDecl::Name &wanted : import.names) {
    Decl *decl = nullptr;
    std::vector<std::string_view> names;
    for (const Scope *scope : from) {
      if (auto found = scope->names.find(wanted.name); found != scope->names.end())
        decl = found->second;
      for (const auto &[name, unused] : scope->names)
        names.push_back(name);
    }
    if (!decl) {
      std::string hint = didYouMean(wanted.name, names);
      diagnostics.error(wanted.span, inQuotes(wanted.name) + " is not in module " + inQuotes(import.path),
                        hint.empty() ? "only functions, consts, params and tensors can be imported" : hint);
      continue;
    }
    auto [first, isNew] = unit.scope.names.emplace(wanted.name, decl);
    if (isNew || first->second == decl)
      continue;
    diagnostics.error(wanted.span, inQuotes(wanted.name) + " is already defined",
                      "rename the one in this file, or import only one of the two");
    diagnostics.note(first->second->span, "first defined here");
  }
}

ModuleUnit *ModuleLoader::find(const ModuleUnit &from, const ImportDecl &import) {
  if (import.path.starts_with("std.")) {
    if (ModuleUnit *unit = loadStd(std::string_view(import.path).substr(4)))
      return unit;
    diagnostics.error(import.span, "module " + inQuotes(import.path) + " not found",
                      "the standard library has " + stdFileNames());
    return nullptr;
  }
  if (from.path.starts_with("std.")) {
    diagnostics.error(import.span, "the standard library imports only itself", "name the module with std. in front");
    return nullptr;
  }
  return readFile(from, import);
}

// import_c2: a.b is the file a/b.attn next to the importing file; no module reaches itself.
ModuleUnit *ModuleLoader::readFile(const ModuleUnit &from, const ImportDecl &import) {
  std::string relative = import.path;
  std::replace(relative.begin(), relative.end(), '.', '/');
  std::filesystem::path folder = from.folder.empty() ? "." : from.folder;
  std::string path = (folder / (relative + ".attn")).lexically_normal().string();
  if (auto found = loaded.find(path); found != loaded.end()) {
    if (found->second->isComplete)
      return found->second;
    diagnostics.error(import.span, "module " + inQuotes(import.path) + " imports itself",
                      "move what both need into a third module");
    return nullptr;
  }
  if (units.size() >= kMaxModules) {
    diagnostics.error(import.span, "more than " + std::to_string(kMaxModules) + " modules", "merge some of them");
    return nullptr;
  }
  std::string text, why;
  if (!readSource(path, text, why)) {
    diagnostics.error(import.span, "module " + inQuotes(import.path) + " not found: " + inQuotes(path) + ": " + why,
                      "imports are looked up next to the importing file; the standard library is "
                      "std");
    return nullptr;
  }
  std::string parent = std::filesystem::path(path).parent_path().string();
  ModuleUnit *unit = parse(import.path, path, std::move(text), parent);
  loaded[path] = unit;
  resolveImports(*unit);
  return unit;
}

} // namespace attnc::frontend

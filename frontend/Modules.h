// The files of one load: reads, lexes and parses a module and what it imports, and makes
// their scopes.
#pragma once

#include <list>
#include <map>

#include "frontend/Ast.h"

namespace attnc::frontend {

struct ModuleUnit {
  std::string path; // dotted, as imported; empty for the file that was asked for
  uint32_t file = 0;
  std::string folder; // that its imports are looked up in
  Ast ast;
  Scope exports; // own declarations
  Scope scope;   // own and imported: what its bodies see
  bool isComplete = false;
};

class ModuleLoader {
public:
  ModuleLoader(Sources &sources, Diagnostics &diagnostics) : sources(sources), diagnostics(diagnostics) {}

  ModuleUnit *loadText(std::string name, std::string text, std::string folder);
  // A file of the standard library by its name without "std."; null if there is none.
  ModuleUnit *loadStd(std::string_view name);

private:
  ModuleUnit *parse(std::string path, std::string name, std::string text, std::string folder);
  void resolveImports(ModuleUnit &unit);
  void importFrom(ModuleUnit &unit, const ImportDecl &import);
  void importNames(ModuleUnit &unit, const ImportDecl &import, const std::vector<const Scope *> &sources);
  ModuleUnit *find(const ModuleUnit &from, const ImportDecl &import);
  ModuleUnit *readFile(const ModuleUnit &from, const ImportDecl &import);
  void declareAll(ModuleUnit &unit);

  Sources &sources;
  Diagnostics &diagnostics;
  std::list<ModuleUnit> units;
  std::map<std::string, ModuleUnit *> loaded; // by resolved file name, or "std.x"
};

// Adds a declaration to a scope; reports built-in names and double definitions.
void declare(Scope &scope, Decl &decl, Diagnostics &diagnostics);

// The whole text of a file, or why not.
bool readSource(const std::string &path, std::string &text, std::string &why);

} // namespace attnc::frontend

// The stages in order: read and parse, check, lower, render.
#include "frontend/Frontend.h"

#include <algorithm>
#include <filesystem>

#include "frontend/Lower.h"
#include "frontend/Modules.h"
#include "frontend/StdLibrary.h"
#include "frontend/TypeCheck.h"

namespace attnc::frontend {

bool Module::ok() const {
  return std::none_of(diagnostics.begin(), diagnostics.end(),
                      [](const Diagnostic &d) { return d.severity == Diagnostic::Error; });
}

namespace {

struct Session {
  Sources sources;
  Diagnostics diagnostics{sources};
  ModuleLoader loader{sources, diagnostics};

  Module compile(const std::vector<ModuleUnit *> &units) {
    Module module;
    if (!diagnostics.hasErrors()) {
      TypeChecker checker(diagnostics);
      for (ModuleUnit *unit : units)
        checker.check(*unit);
    }
    if (!diagnostics.hasErrors()) {
      Lowering lowering(sources, diagnostics);
      for (ModuleUnit *unit : units)
        lowerUnit(lowering, *unit, module);
    }
    return finish(std::move(module));
  }

  Module finish(Module module) {
    if (diagnostics.hasErrors())
      module.variants.clear();
    module.rendered = diagnostics.render();
    module.diagnostics = diagnostics.take();
    return module;
  }

private:
  void lowerUnit(Lowering &lowering, ModuleUnit &unit, Module &module) {
    lowering.evaluateConsts(unit.ast.decls);
    for (const VariantDecl &variant : unit.ast.variants)
      if (std::optional<Program> program = lowering.lower(variant))
        module.variants.push_back(std::move(*program));
  }
};

} // namespace

Module loadText(std::string_view text, const std::string &fileName, const std::string &folder) {
  Session session;
  std::string base = folder.empty() ? std::filesystem::path(fileName).parent_path().string() : folder;
  ModuleUnit *unit = session.loader.loadText(fileName, std::string(text), base);
  return unit ? session.compile({unit}) : session.finish({});
}

static Module loadStandardLibrary() {
  Session session;
  std::vector<ModuleUnit *> units;
  for (const StdFile &file : stdFiles())
    units.push_back(session.loader.loadStd(file.name));
  return session.compile(units);
}

Module loadFile(const std::string &path) {
  if (path == "std")
    return loadStandardLibrary();
  std::string text, why;
  if (readSource(path, text, why))
    return loadText(text, path);
  Session session;
  uint32_t file = session.sources.add(path, "");
  session.diagnostics.error({file, 0, 1, 1}, "cannot read the file: " + why,
                            "give the path of an .attn file, or std for the standard library");
  return session.finish({});
}

} // namespace attnc::frontend

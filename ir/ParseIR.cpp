#include "ir/ParseIR.h"

#include "mlir/IR/Location.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace attnc {

static const char *severityText(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("unknown severity");
}

static std::string lineOf(Diagnostic &diagnostic) {
  std::string place;
  // Finds ranges too; FileLineColLoc matches one-point ranges only.
  if (auto at = diagnostic.getLocation()->findInstanceOf<FileLineColRange>())
    place = at.getFilename().str() + ":" + std::to_string(at.getStartLine()) + ":" +
            std::to_string(at.getStartColumn()) + ": ";
  return place + severityText(diagnostic.getSeverity()) + ": " + diagnostic.str();
}

MessageLog::MessageLog(MLIRContext *context) : context(context) {
  handler = context->getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    collected.push_back(lineOf(diagnostic));
    for (Diagnostic &note : diagnostic.getNotes())
      collected.push_back(lineOf(note));
    return success();
  });
}

MessageLog::~MessageLog() { context->getDiagEngine().eraseHandler(handler); }

OwningOpRef<ModuleOp> parseIR(StringRef text, StringRef name, MLIRContext *context) {
  return parseSourceString<ModuleOp>(text, ParserConfig(context), name);
}

} // namespace attnc

// Parsing with collected messages: nothing is printed, every diagnostic is kept.
#pragma once

#include <string>
#include <vector>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"

namespace attnc {

// Collects the diagnostics of a context while it lives.
class MessageLog {
public:
  explicit MessageLog(mlir::MLIRContext *context);
  ~MessageLog();
  MessageLog(const MessageLog &) = delete;
  MessageLog &operator=(const MessageLog &) = delete;

  // "file:line:column: error: text", notes after what they belong to.
  const std::vector<std::string> &lines() const { return collected; }

private:
  mlir::MLIRContext *context;
  mlir::DiagnosticEngine::HandlerID handler;
  std::vector<std::string> collected;
};

// Null, with a message in the log, when the text is not a valid module.
mlir::OwningOpRef<mlir::ModuleOp> parseIR(llvm::StringRef text, llvm::StringRef name, mlir::MLIRContext *context);

} // namespace attnc

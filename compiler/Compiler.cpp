// The C interface: text in, one stage out, with every diagnostic that was raised.
#include "compiler/attnc_compiler.h"

#include <chrono>

#include "codegen/cpu/ConfigJson.h"
#include "codegen/cpu/Lowering.h"
#include "codegen/cuda/Emit.h"
#include "ir/ParseIR.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipelines.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace attnc;

#define ATTNC_API __attribute__((visibility("default")))

struct attnc_result {
  bool ok = false;
  llvm::SmallVector<char, 0> bytes;
  std::string info;
  std::vector<std::string> messages;
};

namespace {

// One compile: parse, passes, emission; stops at the stage asked for.
class Compilation {
public:
  Compilation(MLIRContext &context, StringRef stage, attnc_result &result)
      : context(context), stage(stage), result(result) {}

  bool run(StringRef text, StringRef configText) {
    OwningOpRef<ModuleOp> module = parseIR(text, "variant", &context);
    if (!module || !take("parse_ms"))
      return false;
    if (!apply(*module, buildVariantPipeline) || !take("variant_ms"))
      return false;
    std::string simplified = print(*module);
    if (stage == "attn")
      return finish(simplified);
    if (!apply(*module, buildStagedPipeline) || !take("stage_ms"))
      return false;
    if (stage == "staged")
      return finish(print(*module));

    auto staged = llvm::to_vector(module->getOps<StagedOp>());
    if (staged.size() != 1)
      return fail("expected one variant, found " + std::to_string(staged.size()));
    if (stage == "cuda")
      return emitCuda(staged[0], configText, simplified);
    auto config = cpu::parseConfig(configText);
    if (!config)
      return fail(llvm::toString(config.takeError()));
    std::vector<cpu::ScheduleInfo> schedules;
    OwningOpRef<ModuleOp> kernel = cpu::emitKernelModule(staged[0], *config, schedules);
    take("emit_ms");
    if (stage == "vector")
      return finish(print(*kernel));
    if (!apply(*kernel, cpu::buildLoweringPipeline) || !take("lower_ms"))
      return false;
    auto bytes = cpu::emitArtifact(*kernel, config->isa,
                                   stage == "llvm"  ? cpu::Artifact::LlvmIr
                                   : stage == "asm" ? cpu::Artifact::Assembly
                                                    : cpu::Artifact::Object);
    if (!bytes)
      return fail(llvm::toString(bytes.takeError()));
    take("llvm_ms");
    result.bytes = std::move(*bytes);
    if (stage == "object")
      result.info = cpu::compileInfo(simplified, schedules, timings);
    return true;
  }

private:
  bool emitCuda(StagedOp staged, StringRef configText, StringRef simplified) {
    auto config = cuda::parseConfig(configText);
    if (!config)
      return fail(llvm::toString(config.takeError()));
    cuda::KernelText kernel = cuda::emitCuda(staged, *config, simplified);
    result.info = std::move(kernel.info);
    return finish(kernel.text);
  }
  bool apply(ModuleOp module, void (*build)(OpPassManager &)) {
    PassManager passes(&context);
#ifdef NDEBUG
    passes.enableVerifier(false);
#endif
    build(passes);
    return succeeded(passes.run(module));
  }
  static std::string print(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream);
    return text;
  }
  bool finish(const std::string &text) {
    result.bytes.assign(text.begin(), text.end());
    return true;
  }
  bool fail(const std::string &message) {
    result.messages.push_back(message);
    return false;
  }
  // Notes the time since the last call.
  bool take(const char *name) {
    auto now = std::chrono::steady_clock::now();
    timings.emplace_back(name, std::chrono::duration<double, std::milli>(now - last).count());
    last = now;
    return true;
  }

  MLIRContext &context;
  StringRef stage;
  attnc_result &result;
  std::vector<std::pair<std::string, double>> timings;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

} // namespace

extern "C" {

ATTNC_API attnc_result *attnc_compile(const char *text, size_t size, const char *config, const char *stage) {
  auto *result = new attnc_result;
  static constexpr StringRef stages[] = {"attn", "staged", "vector", "llvm", "asm", "object", "cuda"};
  if (!llvm::is_contained(stages, StringRef(stage))) {
    result->messages.push_back("unknown stage '" + std::string(stage) +
                               "': expected attn, staged, vector, llvm, asm, object or cuda");
    return result;
  }
  DialectRegistry registry;
  cpu::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  MessageLog log(&context);
  result->ok = Compilation(context, stage, *result).run(StringRef(text, size), config);
  for (const std::string &message : log.lines())
    result->messages.push_back(message);
  if (!result->ok && result->messages.empty())
    result->messages.push_back("internal error: compilation failed without a message");
  return result;
}

ATTNC_API int attnc_result_ok(const attnc_result *result) { return result->ok; }

ATTNC_API const char *attnc_result_bytes(const attnc_result *result, size_t *size) {
  *size = result->bytes.size();
  return result->bytes.data();
}

ATTNC_API const char *attnc_result_info(const attnc_result *result) { return result->info.c_str(); }

ATTNC_API size_t attnc_result_message_count(const attnc_result *result) { return result->messages.size(); }

ATTNC_API const char *attnc_result_message(const attnc_result *result, size_t index) {
  return result->messages[index].c_str();
}

ATTNC_API void attnc_result_free(attnc_result *result) { delete result; }

ATTNC_API int attnc_compiler_abi(void) { return 1; }

ATTNC_API const char *attnc_compiler_build(void) { return "attnc " ATTNC_VERSION " llvm " LLVM_VERSION_STRING; }

} // extern "C"

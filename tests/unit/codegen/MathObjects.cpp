#include "tests/unit/codegen/MathObjects.h"

#include <functional>
#include <map>

#include "codegen/cpu/Lowering.h"
#include "codegen/cpu/Math.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace attnc::test {

using cpu::KernelBuilder;

static Value emit(KernelBuilder &k, const std::string &name, Value x, Value y) {
  static const std::map<std::string, std::function<Value(KernelBuilder &, Value, Value)>> emitters = {
      {"exp", [](KernelBuilder &k, Value x, Value) { return cpu::emitExp(k, x); }},
      {"exp2", [](KernelBuilder &k, Value x, Value) { return cpu::emitExp2(k, x); }},
      {"log", [](KernelBuilder &k, Value x, Value) { return cpu::emitLog(k, x); }},
      {"log2", [](KernelBuilder &k, Value x, Value) { return cpu::emitLog2(k, x); }},
      {"tanh", [](KernelBuilder &k, Value x, Value) { return cpu::emitTanh(k, x); }},
      {"sin", [](KernelBuilder &k, Value x, Value) { return cpu::emitSin(k, x); }},
      {"cos", [](KernelBuilder &k, Value x, Value) { return cpu::emitCos(k, x); }},
      {"erf", [](KernelBuilder &k, Value x, Value) { return cpu::emitErf(k, x); }},
      {"pow", [](KernelBuilder &k, Value x, Value y) { return cpu::emitPow(k, x, y); }},
      {"softmax_exp2_5", [](KernelBuilder &k, Value x, Value) { return cpu::emitSoftmaxExp2(k, x, 5); }},
      {"softmax_exp2_3", [](KernelBuilder &k, Value x, Value) { return cpu::emitSoftmaxExp2(k, x, 3); }}};
  return emitters.at(name)(k, x, y);
}

std::string mathObject(const std::string &name, cpu::Isa isa) {
  DialectRegistry registry;
  cpu::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module(ModuleOp::create(UnknownLoc::get(&context)));
  KernelBuilder k(&context, isa == cpu::Isa::Avx2 ? 8 : isa == cpu::Isa::Sse ? 4 : 16);
  func::FuncOp function = k.startFunction(*module, "math", 1);
  Value call = function.getArgument(0);
  Value x = k.load(k.ptr, call, 0), y = k.load(k.ptr, call, 8), out = k.load(k.ptr, call, 16);
  k.loop(k.constI64(0), k.load(k.i64, call, 24), k.lanes, [&](Value index) {
    Value at = k.mul(index, 4);
    Value result = emit(k, name, k.load(k.vf32, k.offset(x, at), 0, 4), k.load(k.vf32, k.offset(y, at), 0, 4));
    k.store(result, k.offset(out, at), 0, 4);
  });
  k.finishFunction();
  PassManager passes(&context);
  cpu::buildLoweringPipeline(passes);
  if (failed(passes.run(*module)))
    return "";
  auto bytes = cpu::emitArtifact(*module, isa, cpu::Artifact::Object);
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return "";
  }
  return std::string(bytes->begin(), bytes->end());
}

} // namespace attnc::test

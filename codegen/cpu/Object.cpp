// LLVM's part: one target for each instruction family, no fast-math, an object.
#include "codegen/cpu/Lowering.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace attnc::cpu {

namespace {
struct TargetName {
  const char *triple, *cpu, *features, *vectorWidth;
};
} // namespace

// The levels of the x86-64 ABI rather than one processor's name: an object runs wherever
// the family does, and the cache can be carried to another machine.
static TargetName targetName(Isa isa) {
  switch (isa) {
  case Isa::Sse:
    return {"x86_64-unknown-linux-gnu", "x86-64-v2", "", "128"};
  case Isa::Avx2:
    return {"x86_64-unknown-linux-gnu", "x86-64-v3", "", "256"};
  case Isa::Avx512:
    return {"x86_64-unknown-linux-gnu", "x86-64-v4", "", "512"};
  case Isa::Avx512Bf16:
    return {"x86_64-unknown-linux-gnu", "x86-64-v4", "+avx512bf16", "512"};
  case Isa::Neon:
    return {"aarch64-unknown-linux-gnu", "generic", "+neon", "128"};
  }
  llvm_unreachable("unknown instruction set");
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeMachine(const TargetName &name) {
  static const bool once = [] {
    // Not InitializeAllTargets: that links twenty more back ends.
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    // Half of the back end's time, for loops whose addresses are two additions an iteration.
    auto &options = llvm::cl::getRegisteredOptions();
    if (auto found = options.find("disable-lsr"); found != options.end())
      static_cast<llvm::cl::opt<bool> *>(found->second)->setValue(true);
    return true;
  }();
  (void)once;
  llvm::Triple triple(name.triple);
  std::string error;
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return llvm::createStringError(error);
  llvm::TargetOptions options;
  // A product and a sum fuse only where the kernel says fma.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(triple, name.cpu, name.features, options,
                                                                           llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                                           llvm::CodeGenOptLevel::Default));
}

static void optimize(llvm::Module &code, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  // The kernel is emitted in its final shape; what is left is address arithmetic and what
  // can leave a loop. -O3 takes 150 ms more and gains nothing measurable.
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, "function(early-cse<memssa>,loop-mssa(licm))"));
  passes.run(code, modules);
}

llvm::Expected<llvm::SmallVector<char, 0>> emitArtifact(ModuleOp module, Isa isa, Artifact artifact) {
  const TargetName name = targetName(isa);
  auto machine = makeMachine(name);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context, "attnc");
  if (!code)
    return llvm::createStringError("translation to LLVM IR failed");
  code->setTargetTriple((*machine)->getTargetTriple());
  code->setDataLayout((*machine)->createDataLayout());
  for (llvm::Function &function : *code) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("prefer-vector-width", name.vectorWidth);
    function.addFnAttr("target-cpu", name.cpu);
    function.addFnAttr("target-features", (*machine)->getTargetFeatureString());
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  optimize(*code, **machine);

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (artifact == Artifact::LlvmIr) {
    code->print(stream, nullptr);
    return bytes;
  }
  llvm::legacy::PassManager passes;
  auto kind = artifact == Artifact::Object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, kind))
    return llvm::createStringError("the target cannot emit this file type");
  passes.run(*code);
  return bytes;
}

} // namespace attnc::cpu

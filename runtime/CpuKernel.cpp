#include "runtime/CpuKernel.h"

#include <fmt/format.h>

#include "attnc/Tensor.h"
#include "ir/Program.h"
#include "runtime/Arguments.h"
#include "runtime/JsonFields.h"

namespace attnc {

CacheRequest cpuRequest(const Program &program, const cpu::KernelConfig &config) {
  Program nameless = program;
  nameless.name = "variant";
  const std::string target = fmt::format("cpu:{}", cpu::isaName(config.isa));
  return {.key = CacheKey({{"backend", "cpu"},
                           {"emitter", std::to_string(cpu::kEmitterVersion)},
                           {"llvm", ATTNC_LLVM_VERSION},
                           {"config", config.toJson()},
                           {"ir", print(nameless)}}),
          .target = target,
          .what = kernelDescription(program, config, target),
          .remedy = warmCommand(program, config, target)};
}

Result<CacheEntry> compileCpu(const Program &program, const cpu::KernelConfig &config, CompilerLibrary &compiler,
                              const CacheDirectory::Log &log) {
  Result<CompilerOutput> output = compiler.compile(print(program, PrintLocations::Yes), config.toJson(), "object");
  if (!output)
    return output.error();
  for (const std::string &warning : output->warnings)
    log("compile: " + warning);
  Json info = parseObject(output->info);
  CacheEntry entry;
  entry.kind = "o";
  entry.binary = std::move(output->bytes);
  entry.variantText = textField(info, "variant");
  entry.name = program.name;
  entry.compiler = compiler.build();
  info.erase("variant"); // what is left is the report: schedules, timings
  entry.report = toText(info);
  return entry;
}

} // namespace attnc

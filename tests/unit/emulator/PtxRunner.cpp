#include "tests/unit/emulator/PtxRunner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace attnc::emulator {

std::string kernelOf(std::string_view body, std::string_view target) {
  std::string text = ".version 8.4\n.target " + std::string(target) +
                     R"(
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{
  .reg .pred %p<16>;
  .reg .b16 %h<64>;
  .reg .b32 %r<128>;
  .reg .b64 %d<64>;
  .reg .f32 %f<64>;
  .reg .f64 %g<32>;
  .shared .align 128 .b8 sm[4096];
  ld.param.u64 %d0, [out];
  ld.param.u64 %d1, [in];
  mov.u32 %r0, %tid.x;
)";
  return text + std::string(body) + "\n  ret;\n}\n";
}

bool hasAssembler() {
#ifdef ATTNC_PTXAS
  return std::filesystem::exists(ATTNC_PTXAS);
#else
  return false;
#endif
}

void expectAssembles(const std::string &ptx, std::string_view target) {
#ifdef ATTNC_PTXAS
  static std::set<std::string> judged; // tests run one text in many ways
  if (!hasAssembler() || !judged.insert(std::string(target) + ptx).second)
    return;
  const auto base = std::filesystem::temp_directory_path() / ("attnc_emulator_" + std::to_string(::getpid()));
  const std::string input = base.string() + ".ptx", log = base.string() + ".log";
  std::ofstream(input) << ptx;
  const std::string command =
      std::string(ATTNC_PTXAS) + " -arch=" + std::string(target) + " -o /dev/null " + input + " > " + log + " 2>&1";
  if (std::system(command.c_str()) != 0) { // NOLINT: a fixed command on our own files
    std::ifstream stream(log);
    ADD_FAILURE() << "ptxas refuses the test's PTX:\n"
                  << std::string(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()) << ptx;
  }
  std::filesystem::remove(input);
  std::filesystem::remove(log);
#endif
}

bool RunResult::has(FindingKind kind) const {
  return std::ranges::any_of(report.findings, [&](const Finding &finding) { return finding.kind == kind; });
}

std::string RunResult::texts() const {
  std::string all = error;
  for (const Finding &finding : report.findings)
    all += finding.text() + "\n";
  return all;
}

RunResult KernelRun::operator()() {
  RunResult result;
  Result<Module> module = Module::parse(ptx);
  if (!module) {
    result.error = module.error().message;
    return result;
  }
  Launch launch;
  launch.kernel = "k";
  launch.grid = grid;
  launch.block = block;
  launch.dynamicSharedBytes = dynamicSharedBytes;
  launch.arguments = {argument(out.data()), argument(in.data())};
  const std::vector<MemoryRegion> memory = {{"out", out.data(), out.size(), true}, {"in", in.data(), in.size(), false}};
  Result<Report> report = run(*module, launch, memory, options);
  if (!report)
    result.error = report.error().message;
  else
    result.report = *report;
  return result;
}

RunResult runBody(std::string_view body, uint32_t threads, Options options, uint32_t ctas) {
  KernelRun kernel;
  kernel.ptx = kernelOf(body);
  expectAssembles(kernel.ptx);
  kernel.out.assign(16384, 0);
  kernel.in.assign(16384, 0);
  kernel.grid = {ctas, 1, 1};
  kernel.block = {threads, 1, 1};
  kernel.options = options;
  return kernel();
}

} // namespace attnc::emulator

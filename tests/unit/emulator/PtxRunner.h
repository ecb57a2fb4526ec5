// Helpers to run small hand-written PTX: a kernel around a body, typed arguments, and NVIDIA's
// assembler as a judge of the text where it is installed.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/emulator/Emulator.h"

namespace attnc::emulator {

template <typename T> std::vector<std::byte> argument(const T &value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// A kernel `k(out, in)` of `body`, which finds both pointers in %d0 and %d1, %tid.x in %r0,
// 4096 bytes of shared memory in `sm`, and registers %p, %h (16 bits), %r, %d, %f, %g (f64).
std::string kernelOf(std::string_view body, std::string_view target = "sm_80");

// Whether ptxas is installed; without it no text is judged.
bool hasAssembler();

// Fails the test if ptxas is installed and refuses the text.
void expectAssembles(const std::string &ptx, std::string_view target = "sm_80");

struct RunResult {
  std::string error; // of parsing or of the call
  Report report;

  bool has(FindingKind kind) const;
  std::string texts() const; // of the findings
};

// Runs kernel `k` with out and in as its arguments, writable and read-only.
struct KernelRun {
  std::string ptx;
  std::vector<uint8_t> out, in;
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {32, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  Options options;

  RunResult operator()();
};

// The same with a body.
RunResult runBody(std::string_view body, uint32_t threads = 32, Options options = {}, uint32_t ctas = 1);

} // namespace attnc::emulator

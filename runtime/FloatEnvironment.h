// The floating-point state that kernels are compiled for, whatever the calling thread has
// set: round to nearest even, no traps, and subnormals as the dtype wants them. Flushing
// is part of bf16's arithmetic, because the processor's bf16 dot product always flushes.
#pragma once

#include <cstdint>

namespace attnc {

class FloatEnvironment {
public:
  explicit FloatEnvironment(bool flushesSubnormals) : saved(read()) {
    write(flushesSubnormals ? kPlain | kFlush : kPlain);
  }
  ~FloatEnvironment() { write(saved); }
  FloatEnvironment(const FloatEnvironment &) = delete;
  FloatEnvironment &operator=(const FloatEnvironment &) = delete;

private:
#if defined(__x86_64__)
  using Word = uint32_t;
  static constexpr Word kPlain = 0x1f80, kFlush = 0x8040; // all masked; FTZ and DAZ
  static Word read() { return __builtin_ia32_stmxcsr(); }
  static void write(Word word) { __builtin_ia32_ldmxcsr(word); }
#elif defined(__aarch64__)
  using Word = uint64_t;
  static constexpr Word kPlain = 0, kFlush = Word(1) << 24; // FZ
  static Word read() {
    Word word;
    asm volatile("mrs %0, fpcr" : "=r"(word));
    return word;
  }
  static void write(Word word) { asm volatile("msr fpcr, %0" ::"r"(word)); }
#endif
  const Word saved;
};

} // namespace attnc

// The device library's inline PTX on the host. Each `asm` statement has become
// host::Asm("text").out(x).in(y).run(), with operands found by their numbers in the text, so that
// a kernel that numbers them wrongly goes wrong here too. Included by HostDevice.h.
#pragma once

namespace host {

inline uint32_t narrowF16(float value) {
  const auto half = static_cast<_Float16>(value);
  return value != value ? 0x7fffU : std::bit_cast<uint16_t>(half);
}
inline float widenF16(uint32_t bits) { return float(std::bit_cast<_Float16>(uint16_t(bits))); }
inline uint32_t narrowBF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return value != value ? 0x7fffU : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
inline float widenBF16(uint32_t bits) { return std::bit_cast<float>(bits << 16); }
// Subnormal numbers become zeros.
inline float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}

class Asm {
public:
  explicit Asm(const char *text) : text(text) {
    for (const char *at = text; *at != 0; ++at)
      if (*at == '%') {
        int number = 0;
        for (++at; *at >= '0' && *at <= '9'; ++at)
          number = number * 10 + *at - '0';
        --at;
        order[uses++] = number;
      }
  }
  template <typename T> Asm &out(T &variable) {
    operands[count++].variable = &variable;
    return *this;
  }
  template <typename T> Asm &in(T value) {
    std::memcpy(&operands[count++].value, &value, sizeof value);
    return *this;
  }
  void run();

private:
  struct Operand {
    void *variable = nullptr; // of an output, else:
    uint64_t value = 0;
  };
  const char *text;
  Operand operands[16];
  int order[24] = {}, count = 0, uses = 0;

  // The operand that the text names at place `at`.
  template <typename T> T get(int at) const {
    const Operand &operand = operands[order[at]];
    T value;
    std::memcpy(&value, operand.variable ? operand.variable : &operand.value, sizeof value);
    return value;
  }
  template <typename T> void set(int at, T value) { std::memcpy(operands[order[at]].variable, &value, sizeof value); }
  bool is(const char *prefix) const { return std::strncmp(text, prefix, std::strlen(prefix)) == 0; }

  void copyAsync();
  void loadMatrices(bool isTransposed);
  template <float (*kWiden)(uint32_t)> void multiply();
};

inline void Asm::copyAsync() {
  const auto bytes = get<int>(2);
  char *to = shared + get<uint32_t>(0);
  std::memset(to, 0, 16);
  std::memcpy(to, get<const char *>(1), size_t(bytes));
}

// PTX ISA, ldmatrix: matrix m's rows lie where lanes 8 m to 8 m + 7 say; of each, lane l gets the
// elements 2 (l % 4) and the next of row l / 4, or of column l / 4 if transposed.
inline void Asm::loadMatrices(bool isTransposed) {
  together(*this, [&](const void **slots) {
    const auto lane = [&](int l) { return static_cast<Asm *>(const_cast<void *>(slots[l])); };
    for (int m = 0; m < 4; ++m) {
      uint16_t matrix[8][8];
      for (int row = 0; row < 8; ++row)
        std::memcpy(matrix[row], shared + lane(8 * m + row)->get<uint32_t>(4), 16);
      for (int l = 0; l < 32; ++l) {
        const int major = l / 4, minor = 2 * (l % 4);
        const uint32_t low = isTransposed ? matrix[minor][major] : matrix[major][minor];
        const uint32_t high = isTransposed ? matrix[minor + 1][major] : matrix[major][minor + 1];
        lane(l)->set(m, low | high << 16);
      }
    }
  });
}

// PTX ISA, mma.m16n8k16: with g = l / 4 and t = 2 (l % 4), lane l holds A(g + 8 (i % 2),
// t + 8 (i / 2)) and the next column in word i, B(t + 8 i, g) and the next row in word i, and
// D(g + 8 (i / 2), t + i % 2). Products are added in rising order, each rounded once.
template <float (*kWiden)(uint32_t)> void Asm::multiply() {
  together(*this, [&](const void **slots) {
    float a[16][16], b[16][8];
    for (int l = 0; l < 32; ++l) {
      const auto &lane = *static_cast<const Asm *>(slots[l]);
      const int g = l / 4, t = 2 * (l % 4);
      for (int i = 0; i < 4; ++i)
        for (int e = 0; e < 2; ++e)
          a[g + 8 * (i % 2)][t + 8 * (i / 2) + e] = kWiden(lane.get<uint32_t>(4 + i) >> (16 * e) & 0xffff);
      for (int i = 0; i < 2; ++i)
        for (int e = 0; e < 2; ++e)
          b[t + 8 * i + e][g] = kWiden(lane.get<uint32_t>(8 + i) >> (16 * e) & 0xffff);
    }
    for (int l = 0; l < 32; ++l) {
      auto &lane = *static_cast<Asm *>(const_cast<void *>(slots[l]));
      for (int i = 0; i < 4; ++i) {
        const int row = l / 4 + 8 * (i / 2), column = 2 * (l % 4) + i % 2;
        auto sum = lane.get<float>(10 + i);
        for (int k = 0; k < 16; ++k)
          sum = std::fma(a[row][k], b[k][column], sum);
        lane.set(i, sum != sum ? std::bit_cast<float>(0x7fffffff) : sum);
      }
    }
  });
}

inline void Asm::run() {
  if (is("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "))
    multiply<widenF16>();
  else if (is("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "))
    multiply<widenBF16>();
  else if (is("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "))
    loadMatrices(false);
  else if (is("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "))
    loadMatrices(true);
  else if (is("ex2.approx.ftz.f32 "))
    set(0, flushed(std::exp2(flushed(get<float>(1)))));
  else if (is("lg2.approx.f32 "))
    set(0, std::log2(get<float>(1)));
  else if (is("cvt.rn.f16x2.f32 ")) // the first source is the upper half
    set(0, narrowF16(get<float>(1)) << 16 | narrowF16(get<float>(2)));
  else if (is("cvt.rn.bf16x2.f32 "))
    set(0, narrowBF16(get<float>(1)) << 16 | narrowBF16(get<float>(2)));
  else if (is("cvt.f32.f16 "))
    set(0, widenF16(get<uint16_t>(1)));
  else if (is("cp.async.cg.shared.global "))
    copyAsync();
  else if (is("ld.shared.v4.u32 "))
    for (int i = 0; i < 4; ++i) {
      uint32_t word;
      std::memcpy(&word, shared + get<uint32_t>(4) + 4 * i, 4);
      set(i, word);
    }
  else if (is("ld.shared.u32 ")) {
    uint32_t word;
    std::memcpy(&word, shared + get<uint32_t>(1), 4);
    set(0, word);
  } else if (is("st.shared.u32 ")) {
    const auto word = get<uint32_t>(1);
    std::memcpy(shared + get<uint32_t>(0), &word, 4);
  } else if (!is("cp.async.commit_group") && !is("cp.async.wait_group"))
    fail("shim/HostAsm.h does not know '" + std::string(text) + "'");
}

} // namespace host

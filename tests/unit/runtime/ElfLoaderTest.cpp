// The object loader: what it runs, what it refuses, and that no change of an object's
// bytes makes it crash.
#include <elf.h>

#include <cmath>
#include <cstring>
#include <random>

#include "runtime/ElfLoader.h"
#include "runtime/FileBytes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attnc;
using testing::HasSubstr;

static std::string object(const char *name) {
  Result<std::string> bytes = readBytes(std::string(TEST_OBJECTS "/") + name, 1 << 20);
  EXPECT_TRUE(bytes.ok());
  return bytes.ok() ? *bytes : "";
}

static std::string failure(std::string_view bytes) {
  auto loaded = ElfObject::load(bytes);
  return loaded ? "" : loaded.error().message;
}

#if defined(__x86_64__)
TEST(ElfLoader, runsConstantsCallsAndJumpTables) {
  auto loaded = ElfObject::load(object("sample.o"));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  auto combine = (*loaded)->function<float (*)(int, float)>("combine");
  auto copyTable = (*loaded)->function<void (*)(float *, size_t)>("copyTable");
  auto choose = (*loaded)->function<double (*)(int, double)>("choose");
  ASSERT_TRUE(combine && copyTable && choose);
  EXPECT_EQ(combine(4, 2.f), std::fma(5.f, 2.f, 0.123456789f));
  float copy[16] = {};
  copyTable(copy, 16);
  EXPECT_EQ(copy[15], 16.f);
  const double expected[] = {6, 1.75, 0.25, 16, -4, 4e300, 42.5};
  for (int i = 0; i < 7; ++i)
    EXPECT_EQ(choose(i, 4), expected[i]) << i;
  EXPECT_EQ((*loaded)->symbol("absent"), nullptr);
  EXPECT_NE((*loaded)->symbol("table"), nullptr);
  EXPECT_EQ((*loaded)->function<void (*)()>("table"), nullptr) << "data is not a function";
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*loaded)->symbol("table")) % 64, 0u);
}

TEST(ElfLoader, refusesCallsThatKernelsMayNotMake) {
  EXPECT_THAT(failure(object("hostile.o")), HasSubstr("it needs 'system', which kernels may not call"));
}

TEST(ElfLoader, refusesWritableData) { EXPECT_THAT(failure(object("writable.o")), HasSubstr("writable data")); }

TEST(ElfLoader, refusesAnotherMachine) {
  EXPECT_THAT(failure(object("sample_aarch64.o")), HasSubstr("expected type 1 machine 62, found type 1 machine 183"));
}

// Every length: an object that ends early is an error.
TEST(ElfLoader, refusesEveryTruncation) {
  const std::string bytes = object("sample.o");
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(failure(std::string_view(bytes).substr(0, length)), "") << length;
}
#endif

// The bits of an instruction that names a page or an offset, as an aarch64 processor would
// read them, must give the address of the symbol.
TEST(ElfLoader, relocatesAarch64) {
  auto loaded = ElfObject::load(object("sample_aarch64.o"), ElfMachine::Aarch64);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const auto *code = static_cast<const uint8_t *>((*loaded)->symbol("lookUp"));
  const auto table = reinterpret_cast<uint64_t>((*loaded)->symbol("table"));
  ASSERT_TRUE(code && table);
  auto word = [&](int i) {
    uint32_t instruction;
    std::memcpy(&instruction, code + 4 * i, 4);
    return instruction;
  };
  bool found = false;
  for (int i = 0; i < 8 && !found; ++i) {
    if ((word(i) & 0x9f000000) != 0x90000000) // adrp
      continue;
    int64_t pages = ((word(i) >> 5) & 0x7ffff) << 2 | ((word(i) >> 29) & 3);
    pages = static_cast<int64_t>(static_cast<uint64_t>(pages) << 43) >> 43; // 21 bits, signed
    const uint64_t page = (reinterpret_cast<uint64_t>(code + 4 * i) & ~uint64_t(0xfff)) + pages * 4096;
    for (int j = i + 1; j < i + 4 && !found; ++j) {
      const uint32_t low = (word(j) >> 10) & 0xfff;
      uint64_t address = page + low;            // add x, x, #low
      if ((word(j) & 0xffc00000) == 0xf9400000) // ldr x, [x, #low * 8]: the slot of the address
        std::memcpy(&address, reinterpret_cast<void *>(page + low * 8), 8);
      else if ((word(j) & 0xff800000) != 0x91000000)
        continue;
      EXPECT_EQ(address, table);
      found = true;
    }
  }
  EXPECT_TRUE(found) << "no adrp in lookUp";
}

// Flipped bits in headers, tables and anywhere else: an error or a loaded object, never a
// crash. Nothing of the result is called.
TEST(ElfLoader, survivesFlippedBits) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const ElfMachine machines[] = {ElfMachine::X86_64, ElfMachine::Aarch64};
  int loads = 0, errors = 0;
  for (ElfMachine machine : machines) {
    const std::string original = object(machine == ElfMachine::X86_64 ? "sample.o" : "sample_aarch64.o");
    Elf64_Ehdr header;
    std::memcpy(&header, original.data(), sizeof header);
    for (int round = 0; round < 20000; ++round) {
      std::string bytes = original;
      for (int flips = 1 + random() % 4; flips > 0; --flips) {
        // Half of them where they hurt most: the section table.
        size_t at =
            random() % 2 ? header.e_shoff + random() % (bytes.size() - header.e_shoff) : random() % bytes.size();
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      }
      (ElfObject::load(bytes, machine) ? loads : errors)++;
    }
  }
  EXPECT_GT(errors, 1000);
  EXPECT_GT(loads, 1000);
}

// Whole fields replaced by extreme values.
TEST(ElfLoader, survivesExtremeFields) {
  const std::string original = object("sample.o");
  const uint64_t extremes[] = {0,
                               1,
                               0x7fffffff,
                               0xffffffff,
                               0x7fffffffffffffff,
                               ~uint64_t(0),
                               uint64_t(1) << 63,
                               original.size(),
                               original.size() - 1};
  for (size_t at = 0; at + 8 <= original.size(); ++at)
    for (uint64_t value : extremes) {
      std::string bytes = original;
      std::memcpy(bytes.data() + at, &value, 8);
      (void)ElfObject::load(bytes, ElfMachine::X86_64);
    }
}

// The cubin reader on a file made here, byte by byte, and on that file cut off and damaged
// in every place: an error or a smaller report, never a read outside.
#include "runtime/cuda/Cubin.h"

#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "runtime/cuda/CubinStatistics.h"

namespace attnc::cuda {
namespace {

using testing::HasSubstr;

template <typename T> void append(std::string &bytes, T value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

struct Section {
  std::string name;
  std::string contents;
  uint32_t type = 1;
  uint32_t link = 0;
  uint64_t size = 0; // of a section without contents
};

// An ELF64 file of these sections, after a null section and before .shstrtab.
std::string elf(std::vector<Section> sections, uint32_t flags, uint8_t abi) {
  sections.insert(sections.begin(), Section{"", "", 0});
  std::string names;
  std::vector<uint32_t> nameOffsets;
  sections.push_back({".shstrtab", ""});
  for (const Section &section : sections) {
    nameOffsets.push_back(static_cast<uint32_t>(names.size()));
    names += section.name + '\0';
  }
  sections.back().contents = names;
  std::string bytes("\177ELF\2\1\1\x29", 8);
  bytes += static_cast<char>(abi);
  bytes.resize(16);
  append<uint16_t>(bytes, 2);
  append<uint16_t>(bytes, 190);
  append<uint32_t>(bytes, 1);
  append<uint64_t>(bytes, 0);
  append<uint64_t>(bytes, 0);
  append<uint64_t>(bytes, 64); // section headers follow
  append<uint32_t>(bytes, flags);
  append<uint16_t>(bytes, 64);
  append<uint16_t>(bytes, 0);
  append<uint16_t>(bytes, 0);
  append<uint16_t>(bytes, 64);
  append(bytes, static_cast<uint16_t>(sections.size()));
  append(bytes, static_cast<uint16_t>(sections.size() - 1));
  uint64_t offset = 64 + 64 * sections.size();
  for (size_t i = 0; i < sections.size(); ++i) {
    const Section &section = sections[i];
    append(bytes, nameOffsets[i]);
    append(bytes, section.type);
    append<uint64_t>(bytes, 0);
    append<uint64_t>(bytes, 0);
    append(bytes, offset);
    append<uint64_t>(bytes, section.type == 8 ? section.size : section.contents.size());
    append(bytes, section.link);
    append<uint32_t>(bytes, 0);
    append<uint64_t>(bytes, 1);
    append<uint64_t>(bytes, 0);
    offset += section.contents.size();
  }
  for (const Section &section : sections)
    bytes += section.contents;
  return bytes;
}

std::string attribute(uint8_t format, uint8_t code, const std::vector<uint32_t> &payload, uint16_t value = 0) {
  std::string bytes{static_cast<char>(format), static_cast<char>(code)};
  append(bytes, static_cast<uint16_t>(format == 4 ? payload.size() * 4 : value));
  for (const uint32_t word : payload)
    append(bytes, word);
  return bytes;
}

std::string instruction(uint64_t low, uint64_t high = 0) {
  std::string bytes;
  append(bytes, low);
  append(bytes, high);
  return bytes;
}

constexpr uint64_t kFfma = 0x223, kLdl = 0x983, kStl = 0x387, kNop = 0x918, kBra = 0x947, kExit = 0x94D;

// BRA over `distance` instructions from the next one, as sm_80 writes it.
std::string branch(int64_t distance) {
  const uint64_t words = static_cast<uint64_t>(distance * 4);
  return instruction(kBra | words << 34, words >> 30 & 0x3FFFF);
}

// Kernel "axpy" of sm_80: a loop of two FFMAs, a spilled 16 bytes, an opcode nobody knows.
std::string sample(uint8_t abi = 8, uint32_t flags = 80 << 8) {
  std::string code;
  const uint64_t wide = 6ULL << 9; // 16 bytes
  code += instruction(kStl, wide) + instruction(kFfma, 4ULL << 41) + instruction(0xC23, 2ULL << 41);
  code += branch(-3) + instruction(kLdl, wide) + instruction(0x7FF) + branch(0) + instruction(kExit);
  code += branch(-1);
  for (int i = 0; i < 7; ++i)
    code += instruction(kNop);
  std::string symbols(24, '\0'), names("\0axpy\0", 6);
  append<uint32_t>(symbols, 1);
  symbols += std::string("\x12\x10", 2);
  append<uint16_t>(symbols, 6);
  append<uint64_t>(symbols, 0);
  append<uint64_t>(symbols, code.size());
  return elf({{".symtab", symbols, 2, 2},
              {".strtab", names, 3},
              {".nv.info", attribute(4, 0x2F, {1, 40}) + attribute(4, 0x11, {1, 64}), 0x70000000},
              {".nv.info.axpy",
               attribute(3, 0x19, {}, 20) + attribute(2, 0x4C, {}, 3) + attribute(4, 0x05, {128, 2, 1}), 0x70000000},
              {".nv.shared.axpy", "", 8, 0, 4096},
              {".text.axpy", code}},
             flags, abi);
}

TEST(Cubin, ReadsWhatTheFileSays) {
  const std::string bytes = sample();
  const Result<Cubin> cubin = parseCubin(bytes);
  ASSERT_TRUE(cubin) << cubin.error().message;
  EXPECT_EQ(cubin->sm, 80);
  ASSERT_EQ(cubin->kernels.size(), 1U);
  const CubinKernel &kernel = cubin->kernels[0];
  EXPECT_EQ(kernel.name, "axpy");
  EXPECT_EQ(kernel.registers, 40U);
  EXPECT_EQ(kernel.stackBytes, 64U);
  EXPECT_EQ(kernel.sharedBytes, 4096U);
  EXPECT_EQ(kernel.barriers, 3U);
  EXPECT_EQ(kernel.parameterBytes, 20U);
  EXPECT_EQ(kernel.maxThreads, 256U);
  EXPECT_EQ(kernel.instructionCount(), 16U);
}

// Before CUDA 13 the generation stood in the flags' first byte. Since sm_90 ptxas counts the
// system's 1024 bytes into a kernel's shared section.
TEST(Cubin, GenerationByAbi) {
  EXPECT_EQ(parseCubin(sample(7, 0x00500550))->sm, 80);
  const std::string hopper = sample(8, 0x06005A04);
  EXPECT_EQ(parseCubin(hopper)->sm, 90);
  EXPECT_EQ(parseCubin(hopper)->kernels[0].sharedBytes, 3072U);
  const auto turing = parseCubin(sample(7, 75));
  ASSERT_FALSE(turing);
  EXPECT_EQ(turing.error().code, ErrorCode::Unsupported);
}

TEST(Cubin, CountsInstructionsAndLoops) {
  const Result<CubinReport> report = readCubin(sample());
  ASSERT_TRUE(report) << report.error().message;
  const KernelStatistics &kernel = report->kernels.at(0);
  EXPECT_EQ(kernel.counts.total, 8U); // without the branch to itself and NOPs
  EXPECT_EQ(kernel.counts["FFMA"], 2U);
  EXPECT_EQ(kernel.counts["0x7ff"], 1U);
  EXPECT_EQ(kernel.counts[InstructionClass::Unknown], 1U);
  EXPECT_EQ(kernel.counts[InstructionClass::Local], 2U);
  EXPECT_EQ(kernel.counts.stall, 6U);
  EXPECT_EQ(kernel.localStores, 1U);
  EXPECT_EQ(kernel.localStoreBytes, 16U);
  EXPECT_EQ(kernel.localLoadBytes, 16U);
  EXPECT_EQ(kernel.forwardBranches, 1U);
  ASSERT_EQ(kernel.loops.size(), 1U);
  EXPECT_EQ(kernel.loops[0].first, 1U);
  EXPECT_EQ(kernel.loops[0].last, 3U);
  EXPECT_EQ(kernel.loops[0].counts["FFMA"], 2U);
  EXPECT_EQ(kernel.loops[0].counts.total, 3U);
  const std::string text = describe(kernel);
  EXPECT_THAT(text, HasSubstr("axpy  sm_80"));
  EXPECT_THAT(text, HasSubstr("1 local stores of 16 B"));
  EXPECT_THAT(text, HasSubstr("6 blocks of 256 threads"));
  EXPECT_THAT(text, HasSubstr("limited by registers"));
  EXPECT_THAT(text, HasSubstr("0x7ff"));
}

// Targets at both ends of the branch's two encodings.
TEST(Cubin, BranchDistances) {
  for (const int64_t distance : {-1'000'000L, -3L, -1L, 0L, 1L, 1'000'000L}) {
    Instruction instruction;
    const std::string early = branch(distance);
    std::memcpy(&instruction, early.data(), sizeof instruction);
    EXPECT_EQ(branchDistance(80, instruction), distance);
    const uint64_t words = static_cast<uint64_t>(distance * 4);
    instruction = {kBra | (words & 0xFF) << 16 | words >> 8 << 34, words >> 38 & 0x3FFFF};
    EXPECT_EQ(branchDistance(90, instruction), distance);
  }
  EXPECT_FALSE(branchDistance(80, {kFfma, 0}).has_value());
}

TEST(Cubin, OpcodesThatChanged) {
  EXPECT_EQ(opcodeOf(90, {0x235, 0}).mnemonic, "HFMA2");
  EXPECT_EQ(opcodeOf(100, {0x235, 0}).mnemonic, "IADD");
  EXPECT_EQ(opcodeOf(89, {0x98E, 0}).mnemonic, "RED");
  EXPECT_EQ(opcodeOf(90, {0x98E, 0}).mnemonic, "REDG");
  EXPECT_EQ(opcodeOf(90, {0x9AB, 0}).mnemonic, "ERRBAR");
  EXPECT_EQ(opcodeOf(90, {0x5AB, 0}).mnemonic, "CGAERRBAR");
  for (const uint64_t form : {0x20CULL, 0x80CULL, 0xA0CULL, 0xC0CULL})
    EXPECT_EQ(opcodeOf(80, {form | 0x123456000, 0}).mnemonic, "ISETP");
}

TEST(Cubin, OtherFilesAreRefused) {
  EXPECT_THAT(parseCubin("").error().message, HasSubstr("not an ELF64 file"));
  EXPECT_THAT(parseCubin(std::string(200, 'x')).error().message, HasSubstr("not an ELF64 file"));
  std::string host = sample();
  host[18] = 62;
  EXPECT_THAT(parseCubin(host).error().message, HasSubstr("machine 62"));
}

TEST(Cubin, EveryTruncationIsAnError) {
  const std::string bytes = sample();
  for (size_t size = 0; size < bytes.size(); ++size) {
    // A copy of its own, so that a sanitizer sees reads behind the end.
    const std::string part(bytes.data(), size);
    ASSERT_FALSE(readCubin(std::string_view(part.data(), part.size()))) << size;
  }
}

TEST(Cubin, DamageIsSurvived) {
  const std::string bytes = sample();
  std::mt19937 random(1);
  const auto survive = [](const std::string &damaged) {
    const Result<CubinReport> report = readCubin(damaged);
    if (report)
      for (const KernelStatistics &kernel : report->kernels)
        describe(kernel);
  };
  for (size_t at = 0; at < bytes.size(); ++at)
    for (const uint8_t value : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(value);
      survive(damaged);
    }
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = bytes;
    for (uint32_t i = 0, n = 1 + random() % 16; i < n; ++i)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    survive(damaged);
  }
}

} // namespace
} // namespace attnc::cuda

// Three things are read: section headers with their names, symbols (which functions are
// kernels), and the attribute lists .nv.info and .nv.info.<kernel>. An attribute is a
// format byte, a code byte and a 16-bit value, which for the format 4 is a payload's size.
#include "runtime/cuda/Cubin.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace attnc::cuda {
namespace {

constexpr uint16_t kMachineCuda = 190;
constexpr uint32_t kNoBits = 8;  // a section without contents in the file
constexpr uint8_t kEntry = 0x10; // st_other of a kernel
// ptxas adds what the system keeps for itself since sm_90.
constexpr uint32_t kReservedShared = 1024;

enum Attribute : uint8_t {
  kMaxThreads = 0x05,
  kRequiredThreads = 0x10,
  kFrameSize = 0x11,
  kParameterSize = 0x19,
  kRegisterCount = 0x2F,
  kBarrierCount = 0x4C,
};

struct ElfHeader {
  uint8_t identity[16];
  uint16_t type, machine;
  uint32_t version;
  uint64_t entry, programHeaders, sectionHeaders;
  uint32_t flags;
  uint16_t size, programHeaderSize, programHeaderCount, sectionHeaderSize, sectionCount, namesSection;
};
static_assert(sizeof(ElfHeader) == 64);

struct SectionHeader {
  uint32_t name, type;
  uint64_t flags, address, offset, size;
  uint32_t link, info;
  uint64_t alignment, entrySize;
};
static_assert(sizeof(SectionHeader) == 64);

struct Symbol {
  uint32_t name;
  uint8_t info, other;
  uint16_t section;
  uint64_t value, size;
};
static_assert(sizeof(Symbol) == 24);

struct Section {
  std::string_view name;
  std::string_view contents; // empty for kNoBits
  uint64_t size = 0;
  uint32_t link = 0;
};

Error bad(std::string what) { return {ErrorCode::InvalidArgument, "cubin: " + std::move(what)}; }

// `count` values at `offset`, or false where they are not all there.
template <typename T> bool readAt(std::string_view bytes, uint64_t offset, T *values, uint64_t count = 1) {
  if (offset > bytes.size() || (bytes.size() - offset) / sizeof(T) < count)
    return false;
  std::memcpy(values, bytes.data() + offset, count * sizeof(T));
  return true;
}

// The zero-terminated string at `offset` of a string table; empty where there is none.
std::string_view stringAt(std::string_view table, uint64_t offset) {
  if (offset >= table.size())
    return {};
  const std::string_view rest = table.substr(offset);
  const size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

Result<std::vector<Section>> readSections(std::string_view bytes, const ElfHeader &header) {
  if (header.sectionHeaderSize != sizeof(SectionHeader))
    return bad("section headers of " + std::to_string(header.sectionHeaderSize) + " bytes");
  std::vector<SectionHeader> headers(header.sectionCount);
  if (headers.empty() || !readAt(bytes, header.sectionHeaders, headers.data(), headers.size()))
    return bad("the section headers lie outside the " + std::to_string(bytes.size()) + " bytes");
  std::vector<Section> sections;
  for (const SectionHeader &raw : headers) {
    Section section;
    section.size = raw.size;
    section.link = raw.link;
    if (raw.type != kNoBits) {
      if (raw.offset > bytes.size() || raw.size > bytes.size() - raw.offset)
        return bad("section " + std::to_string(sections.size()) + " lies outside the " + std::to_string(bytes.size()) +
                   " bytes; the file is truncated");
      section.contents = bytes.substr(raw.offset, raw.size);
    }
    sections.push_back(section);
  }
  if (header.namesSection >= sections.size())
    return bad("no section names");
  const std::string_view names = sections[header.namesSection].contents;
  for (size_t i = 0; i < sections.size(); ++i)
    sections[i].name = stringAt(names, headers[i].name);
  return sections;
}

const Section *find(const std::vector<Section> &sections, std::string_view name) {
  const auto found =
      std::find_if(sections.begin(), sections.end(), [&](const Section &section) { return section.name == name; });
  return found == sections.end() ? nullptr : &*found;
}

// Calls visit(code, value, payload) for each attribute, up to the first that is cut off.
template <typename Visit> void visitAttributes(std::string_view list, Visit &&visit) {
  constexpr uint8_t kSized = 4;
  for (uint64_t at = 0;;) {
    uint8_t head[2];
    uint16_t value = 0;
    if (!readAt(list, at, head, 2) || !readAt(list, at + 2, &value))
      return;
    at += 4;
    std::string_view payload;
    if (head[0] == kSized) {
      if (value > list.size() - at)
        return;
      payload = list.substr(at, value);
      at += value;
    }
    visit(head[1], value, payload);
  }
}

void readKernelAttributes(std::string_view list, CubinKernel &kernel) {
  visitAttributes(list, [&](uint8_t code, uint16_t value, std::string_view payload) {
    uint32_t threads[3];
    switch (code) {
    case kParameterSize:
      kernel.parameterBytes = value;
      break;
    case kBarrierCount:
      kernel.barriers = value & 0xFF;
      break;
    case kMaxThreads:
    case kRequiredThreads:
      if (readAt(payload, 0, threads, 3)) {
        const uint64_t product = std::min<uint64_t>(uint64_t(threads[0]) * threads[1], 1 << 20) * threads[2];
        kernel.maxThreads = static_cast<uint32_t>(std::min<uint64_t>(product, UINT32_MAX));
      }
      break;
    default:
      break;
    }
  });
}

// .nv.info's pairs of a symbol and a number, by the symbol's name.
using Numbers = std::map<std::string_view, uint32_t>;

struct Functions {
  std::vector<std::string_view> symbols; // names by index
  std::vector<std::string_view> kernels;
  Numbers registers;
  Numbers frames;
};

Functions readFunctions(const std::vector<Section> &sections) {
  Functions functions;
  const Section *table = find(sections, ".symtab");
  if (!table || table->link >= sections.size())
    return functions;
  const std::string_view names = sections[table->link].contents;
  Symbol symbol;
  for (uint64_t at = 0; readAt(table->contents, at, &symbol); at += sizeof symbol) {
    functions.symbols.push_back(stringAt(names, symbol.name));
    if ((symbol.other & kEntry) != 0)
      functions.kernels.push_back(functions.symbols.back());
  }
  if (const Section *info = find(sections, ".nv.info"))
    visitAttributes(info->contents, [&](uint8_t code, uint16_t, std::string_view payload) {
      uint32_t pair[2];
      if ((code != kRegisterCount && code != kFrameSize) || !readAt(payload, 0, pair, 2) ||
          pair[0] >= functions.symbols.size())
        return;
      (code == kRegisterCount ? functions.registers : functions.frames)[functions.symbols[pair[0]]] = pair[1];
    });
  return functions;
}

uint32_t numberOf(const Numbers &numbers, std::string_view name) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? 0 : found->second;
}

Result<CubinKernel> readKernel(const std::vector<Section> &sections, const Functions &functions, int sm,
                               std::string_view name) {
  CubinKernel kernel;
  kernel.name = name;
  const Section *text = find(sections, ".text." + kernel.name);
  if (!text)
    return bad("no code of kernel " + kernel.name);
  if (text->contents.size() % kInstructionBytes != 0)
    return bad("the code of kernel " + kernel.name + " has " + std::to_string(text->contents.size()) + " bytes");
  kernel.code = text->contents;
  kernel.registers = numberOf(functions.registers, name);
  kernel.stackBytes = numberOf(functions.frames, name);
  if (const Section *shared = find(sections, ".nv.shared." + kernel.name)) {
    kernel.sharedBytes = static_cast<uint32_t>(std::min<uint64_t>(shared->size, UINT32_MAX));
    if (sm >= 90)
      kernel.sharedBytes -= std::min(kernel.sharedBytes, kReservedShared);
  }
  if (const Section *info = find(sections, ".nv.info." + kernel.name))
    readKernelAttributes(info->contents, kernel);
  return kernel;
}

} // namespace

Instruction CubinKernel::instruction(size_t index) const {
  Instruction result;
  std::memcpy(&result, code.data() + index * kInstructionBytes, kInstructionBytes);
  return result;
}

Result<Cubin> parseCubin(std::string_view bytes) {
  ElfHeader header;
  if (!readAt(bytes, 0, &header) || std::memcmp(header.identity, "\177ELF\2\1", 6) != 0)
    return bad("not an ELF64 file");
  if (header.machine != kMachineCuda)
    return bad("an ELF file for machine " + std::to_string(header.machine) + ", not for CUDA");
  Cubin cubin;
  // The ABI since CUDA 13 keeps the generation one byte higher.
  cubin.sm = static_cast<int>(header.identity[8] >= 8 ? header.flags >> 8 & 0xFF : header.flags & 0xFF);
  if (cubin.sm < 80)
    return Error{ErrorCode::Unsupported,
                 "cubin: machine code of sm_" + std::to_string(cubin.sm) + "; sm_80 and later can be read"};
  const Result<std::vector<Section>> sections = readSections(bytes, header);
  if (!sections)
    return sections.error();
  const Functions functions = readFunctions(*sections);
  for (const std::string_view name : functions.kernels) {
    Result<CubinKernel> kernel = readKernel(*sections, functions, cubin.sm, name);
    if (!kernel)
      return kernel.error();
    cubin.kernels.push_back(*std::move(kernel));
  }
  return cubin;
}

} // namespace attnc::cuda

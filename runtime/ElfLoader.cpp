#include "runtime/ElfLoader.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "runtime/ElfRelocate.h"

namespace attnc {

namespace {

constexpr uint64_t kMaxImage = uint64_t(256) << 20;
constexpr uint64_t kMaxAlign = 4096;
// Checkers of indirect calls (-fsanitize=function) read the bytes before a function.
constexpr uint64_t kLeadIn = 64;

template <typename F> const void *address(F *function) { return reinterpret_cast<const void *>(function); }

uint64_t roundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

} // namespace

// Only what LLVM may call for vector code: an object cannot reach anything else.
const void *importedFunction(std::string_view name) {
  static const std::pair<std::string_view, const void *> table[] = {
      {"memcpy", address(static_cast<void *(*)(void *, const void *, size_t)>(std::memcpy))},
      {"memmove", address(static_cast<void *(*)(void *, const void *, size_t)>(std::memmove))},
      {"memset", address(static_cast<void *(*)(void *, int, size_t)>(std::memset))},
      {"fmaf", address(static_cast<float (*)(float, float, float)>(::fmaf))},
      {"fma", address(static_cast<double (*)(double, double, double)>(::fma))},
      {"floorf", address(static_cast<float (*)(float)>(::floorf))},
      {"floor", address(static_cast<double (*)(double)>(::floor))},
      {"ceilf", address(static_cast<float (*)(float)>(::ceilf))},
      {"ceil", address(static_cast<double (*)(double)>(::ceil))},
      {"truncf", address(static_cast<float (*)(float)>(::truncf))},
      {"rintf", address(static_cast<float (*)(float)>(::rintf))},
      {"roundevenf", address(static_cast<float (*)(float)>(::roundevenf))},
      {"sqrtf", address(static_cast<float (*)(float)>(::sqrtf))},
      {"sqrt", address(static_cast<double (*)(double)>(::sqrt))},
      {"fmodf", address(static_cast<float (*)(float, float)>(::fmodf))},
  };
  for (const auto &[known, function] : table)
    if (known == name)
      return function;
  return nullptr;
}

ElfMachine hostElfMachine() {
#if defined(__aarch64__)
  return ElfMachine::Aarch64;
#else
  return ElfMachine::X86_64;
#endif
}

// The state of one load. Each step returns an empty string or what is wrong.
class ElfLoading {
public:
  ElfLoading(std::string_view bytes, ElfMachine machine, ElfObject &object)
      : bytes(bytes), machine(machine), object(object) {}

  std::string run() {
    for (auto step : {&ElfLoading::readHeaders, &ElfLoading::readSymbols, &ElfLoading::place, &ElfLoading::copy,
                      &ElfLoading::relocateAll, &ElfLoading::publish})
      if (std::string problem = (this->*step)(); !problem.empty())
        return problem;
    return {};
  }

private:
  struct Section {
    Elf64_Shdr header;
    uint64_t at = 0; // offset within the image
    bool isPlaced = false;
  };

  bool holds(uint64_t offset, uint64_t size) const { return offset <= bytes.size() && size <= bytes.size() - offset; }
  // Objects need not be aligned in memory, so structures are copied out.
  template <typename T> bool read(T &into, uint64_t offset) const {
    if (!holds(offset, sizeof(T)))
      return false;
    std::memcpy(&into, bytes.data() + offset, sizeof(T));
    return true;
  }
  // The string at `offset` of a string table; false if it does not end inside.
  bool readName(std::string_view &into, const Elf64_Shdr &table, uint64_t offset) const {
    if (table.sh_type != SHT_STRTAB || !holds(table.sh_offset, table.sh_size) || offset >= table.sh_size)
      return false;
    into = bytes.substr(table.sh_offset + offset, table.sh_size - offset);
    size_t end = into.find('\0');
    if (end == into.npos)
      return false;
    into = into.substr(0, end);
    return true;
  }

  std::string readHeaders();
  std::string readSymbols();
  std::string place();
  std::string copy();
  std::string relocateAll();
  std::string relocateSection(const Section &table);
  std::string publish();
  std::string resolve(uint32_t index, Relocation &relocation);

  const std::string_view bytes;
  const ElfMachine machine;
  ElfObject &object;
  std::vector<Section> sections;
  std::vector<Elf64_Sym> symbols;
  Elf64_Shdr symbolNames = {};
  uint64_t codeSize = 0; // of code and stubs, whole pages
  uint64_t stubs = 0;    // offset within the image; one for each symbol
  uint8_t *image = nullptr;
};

std::string ElfLoading::readHeaders() {
  Elf64_Ehdr header;
  if (!read(header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return "not an ELF file";
  const uint16_t expected = machine == ElfMachine::X86_64 ? EM_X86_64 : EM_AARCH64;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL ||
      header.e_machine != expected)
    return fmt::format("not a relocatable file of this machine: expected type 1 machine {}, "
                       "found type {} machine {}",
                       expected, header.e_type, header.e_machine);
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0)
    return "no section table";
  sections.resize(header.e_shnum);
  for (size_t i = 0; i < sections.size(); ++i) {
    if (header.e_shoff > bytes.size() || !read(sections[i].header, header.e_shoff + i * sizeof(Elf64_Shdr)))
      return "the section table is truncated";
    const Elf64_Shdr &section = sections[i].header;
    if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL && !holds(section.sh_offset, section.sh_size))
      return fmt::format("section {} is truncated", i);
  }
  return {};
}

std::string ElfLoading::readSymbols() {
  for (const Section &section : sections) {
    const Elf64_Shdr &header = section.header;
    if (header.sh_type != SHT_SYMTAB)
      continue;
    if (!symbols.empty() || header.sh_entsize != sizeof(Elf64_Sym) || header.sh_link >= sections.size())
      return "a bad symbol table";
    symbolNames = sections[header.sh_link].header;
    symbols.resize(header.sh_size / sizeof(Elf64_Sym));
    if (!symbols.empty()) // readHeaders checked the range
      std::memcpy(symbols.data(), bytes.data() + header.sh_offset, symbols.size() * sizeof(Elf64_Sym));
  }
  return symbols.empty() ? "no symbol table" : "";
}

// Code first, then stubs, then from the next page on the constants.
std::string ElfLoading::place() {
  uint64_t next = kLeadIn;
  auto placeAll = [&](bool code) -> std::string {
    for (Section &section : sections) {
      const Elf64_Shdr &header = section.header;
      if (!(header.sh_flags & SHF_ALLOC) || header.sh_type == SHT_NULL || header.sh_size == 0 ||
          bool(header.sh_flags & SHF_EXECINSTR) != code)
        continue;
      if ((header.sh_flags & (SHF_WRITE | SHF_TLS)) || header.sh_type == SHT_NOBITS)
        return "writable data, which kernels never have";
      const uint64_t align = std::max<uint64_t>(header.sh_addralign, 1);
      if (align > kMaxAlign || (align & (align - 1)))
        return fmt::format("a section aligned to {}", align);
      section.at = roundUp(next, align);
      section.isPlaced = true;
      next = section.at + header.sh_size; // the section lies in the file: no overflow
      if (next > kMaxImage)
        return "an image of more than 256 MiB";
    }
    return {};
  };
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (std::string problem = placeAll(true); !problem.empty())
    return problem;
  if (next == kLeadIn)
    return "no code";
  stubs = roundUp(next, kStubSize);
  codeSize = next = roundUp(stubs + symbols.size() * kStubSize, page);
  if (std::string problem = placeAll(false); !problem.empty())
    return problem;
  object.size = roundUp(next, page);
  return {};
}

std::string ElfLoading::copy() {
  void *memory = mmap(nullptr, object.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return "no memory for the code";
  object.base = memory;
  image = static_cast<uint8_t *>(memory);
  for (const Section &section : sections)
    if (section.isPlaced)
      std::memcpy(image + section.at, bytes.data() + section.header.sh_offset, section.header.sh_size);
  return {};
}

// Fills in where a symbol is: in the image, or behind a stub.
std::string ElfLoading::resolve(uint32_t index, Relocation &relocation) {
  if (index >= symbols.size())
    return "a relocation names no symbol";
  const Elf64_Sym &symbol = symbols[index];
  uint8_t *stub = image + stubs + index * kStubSize;
  uint64_t target = 0;
  if (symbol.st_shndx == SHN_UNDEF) {
    std::string_view name;
    if (!readName(name, symbolNames, symbol.st_name))
      return "a symbol without a name";
    target = reinterpret_cast<uint64_t>(importedFunction(name));
    if (!target)
      return fmt::format("it needs '{}', which kernels may not call", name);
    relocation.symbol = reinterpret_cast<uint64_t>(stub);
  } else {
    if (symbol.st_shndx >= sections.size() || !sections[symbol.st_shndx].isPlaced ||
        symbol.st_value > sections[symbol.st_shndx].header.sh_size)
      return "a symbol lies outside of the loaded sections";
    target = relocation.symbol = reinterpret_cast<uint64_t>(image + sections[symbol.st_shndx].at + symbol.st_value);
  }
  writeStub(machine, stub, target);
  relocation.slot = reinterpret_cast<uint64_t>(stub) + 8;
  return {};
}

std::string ElfLoading::relocateSection(const Section &table) {
  const Elf64_Shdr &header = table.header;
  if (header.sh_info >= sections.size() || header.sh_entsize != sizeof(Elf64_Rela))
    return "a bad relocation table";
  const Section &section = sections[header.sh_info];
  if (!section.isPlaced)
    return {}; // of debug information
  for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= header.sh_size; at += sizeof(Elf64_Rela)) {
    Elf64_Rela entry;
    if (!read(entry, header.sh_offset + at))
      return "a truncated relocation table";
    if (entry.r_offset > section.header.sh_size)
      return "a relocation lies outside of its section";
    Relocation relocation = {};
    relocation.type = ELF64_R_TYPE(entry.r_info);
    relocation.place = image + section.at + entry.r_offset;
    relocation.room = section.header.sh_size - entry.r_offset;
    relocation.addend = entry.r_addend;
    if (std::string problem = resolve(ELF64_R_SYM(entry.r_info), relocation); !problem.empty())
      return problem;
    if (std::string problem = relocate(machine, relocation); !problem.empty())
      return problem;
  }
  return {};
}

std::string ElfLoading::relocateAll() {
  for (const Section &section : sections) {
    if (section.header.sh_type == SHT_REL)
      return "relocations without addends";
    if (section.header.sh_type == SHT_RELA)
      if (std::string problem = relocateSection(section); !problem.empty())
        return problem;
  }
  return {};
}

// Names the global symbols and takes write access away.
std::string ElfLoading::publish() {
  for (const Elf64_Sym &symbol : symbols) {
    if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || symbol.st_shndx == SHN_UNDEF)
      continue;
    std::string_view name;
    if (symbol.st_shndx >= sections.size() || !sections[symbol.st_shndx].isPlaced ||
        symbol.st_value >= sections[symbol.st_shndx].header.sh_size || !readName(name, symbolNames, symbol.st_name))
      return "a bad global symbol";
    const Section &section = sections[symbol.st_shndx];
    const bool isFunction = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && (section.header.sh_flags & SHF_EXECINSTR);
    object.symbols[std::string(name)] = {image + section.at + symbol.st_value, isFunction};
  }
  __builtin___clear_cache(reinterpret_cast<char *>(image), reinterpret_cast<char *>(image + codeSize));
  if (mprotect(image, codeSize, PROT_READ | PROT_EXEC) != 0 ||
      (object.size > codeSize && mprotect(image + codeSize, object.size - codeSize, PROT_READ) != 0))
    return "the system forbids making memory executable";
  return {};
}

Result<std::shared_ptr<const ElfObject>> ElfObject::load(std::string_view bytes, ElfMachine machine) {
  std::shared_ptr<ElfObject> object(new ElfObject);
  if (std::string problem = ElfLoading(bytes, machine, *object).run(); !problem.empty())
    return Error{ErrorCode::Internal, "object file: " + problem};
  return std::shared_ptr<const ElfObject>(std::move(object));
}

ElfObject::~ElfObject() {
  if (base)
    munmap(base, size);
}

const void *ElfObject::symbol(std::string_view name) const {
  auto found = symbols.find(std::string(name));
  return found == symbols.end() ? nullptr : found->second.address;
}

const void *ElfObject::functionAddress(std::string_view name) const {
  auto found = symbols.find(std::string(name));
  return found == symbols.end() || !found->second.isFunction ? nullptr : found->second.address;
}

} // namespace attnc

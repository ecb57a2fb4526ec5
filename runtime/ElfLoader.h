// Maps a relocatable ELF object and makes its functions callable: what a linker and dlopen
// would do, for the few forms that our compiler emits, in a fraction of a millisecond and
// with neither of them in the process.
//
//   mapping: | code, stubs (read, execute) | constants (read) |
//
// Every offset, size, index and relocation of the object is checked against its bounds, so
// a truncated or altered object is an error and never a crash of the loader. That the code
// itself is the one that was compiled is the cache's business (a hash beside the object).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "attnc/Status.h"

namespace attnc {

enum class ElfMachine { X86_64, Aarch64 };
ElfMachine hostElfMachine();

class ElfObject {
public:
  // `machine` other than the host's is for tests of the relocations: nothing can be called.
  static Result<std::shared_ptr<const ElfObject>> load(std::string_view bytes, ElfMachine machine = hostElfMachine());
  ~ElfObject();
  ElfObject(const ElfObject &) = delete;
  ElfObject &operator=(const ElfObject &) = delete;

  // Address of a global symbol that the object defines, or null.
  const void *symbol(std::string_view name) const;
  // Null unless the symbol is a function.
  template <typename F> F function(std::string_view name) const {
    return reinterpret_cast<F>(const_cast<void *>(functionAddress(name)));
  }

private:
  friend class ElfLoading;
  struct Symbol {
    const void *address;
    bool isFunction;
  };
  ElfObject() = default;
  const void *functionAddress(std::string_view name) const;

  void *base = nullptr;
  size_t size = 0;
  std::unordered_map<std::string, Symbol> symbols;
};

// The functions outside of an object that it may call, by name; null for any other.
const void *importedFunction(std::string_view name);

} // namespace attnc

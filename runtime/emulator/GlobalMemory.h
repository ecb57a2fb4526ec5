// The memory outside the CTAs: the regions that the caller named and the module's own
// variables. Nothing else is ever touched.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/emulator/Emulator.h"

namespace attnc::emulator {

class GlobalMemory {
public:
  struct Region {
    uint64_t begin = 0, end = 0;
    bool isWritable = false;
    std::string name;
    // Per 32-bit word the CTA that last wrote it plus one, and in the low bits which bytes.
    std::vector<uint32_t> writers;
  };

  void add(std::string name, const void *data, size_t bytes, bool isWritable);
  void sort(); // after the last add

  // The region that holds all of [address, address + bytes), or nullptr.
  Region *find(uint64_t address, uint64_t bytes) {
    if (lastFound != nullptr && address >= lastFound->begin && address < lastFound->end)
      return bytes <= lastFound->end - address ? lastFound : nullptr;
    return search(address, bytes);
  }
  // "12 bytes past the end of 'q'", for messages.
  std::string describe(uint64_t address) const;

  // Notes a plain write; another CTA that wrote one of the bytes before, or -1.
  int64_t noteWrite(Region &region, uint64_t address, uint32_t bytes, uint32_t cta);

private:
  Region *search(uint64_t address, uint64_t bytes);

  std::vector<Region> regions;
  Region *lastFound = nullptr;
};

} // namespace attnc::emulator

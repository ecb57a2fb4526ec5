#include "runtime/emulator/GlobalMemory.h"

#include <algorithm>

namespace attnc::emulator {

void GlobalMemory::add(std::string name, const void *data, size_t bytes, bool isWritable) {
  const auto begin = reinterpret_cast<uint64_t>(data);
  if (bytes > 0)
    regions.push_back({begin, begin + bytes, isWritable, std::move(name), {}});
}

void GlobalMemory::sort() {
  std::ranges::sort(regions, {}, &Region::begin);
  lastFound = nullptr;
}

GlobalMemory::Region *GlobalMemory::search(uint64_t address, uint64_t bytes) {
  auto after = std::ranges::upper_bound(regions, address, {}, &Region::begin);
  if (after == regions.begin())
    return nullptr;
  Region &region = *std::prev(after);
  if (address >= region.end || bytes > region.end - address)
    return nullptr;
  return lastFound = &region;
}

std::string GlobalMemory::describe(uint64_t address) const {
  const Region *nearest = nullptr;
  uint64_t distance = UINT64_MAX;
  for (const Region &region : regions) {
    const uint64_t d = address < region.begin  ? region.begin - address
                       : address >= region.end ? address - region.end
                                               : 0;
    if (d < distance)
      distance = d, nearest = &region;
  }
  if (nearest == nullptr || distance > uint64_t(1) << 32)
    return "far from all regions";
  const std::string name = "'" + nearest->name + "'";
  if (address < nearest->begin)
    return std::to_string(distance) + " bytes before " + name;
  if (address >= nearest->end)
    return std::to_string(distance) + " bytes past the end of " + name;
  return "byte " + std::to_string(address - nearest->begin) + " of " + name + " with " +
         std::to_string(nearest->end - nearest->begin);
}

int64_t GlobalMemory::noteWrite(Region &region, uint64_t address, uint32_t bytes, uint32_t cta) {
  const uint64_t base = region.begin & ~uint64_t(3);
  if (region.writers.empty())
    region.writers.resize((region.end - base + 3) / 4);
  const uint32_t tag = (cta + 1) << 4;
  int64_t conflict = -1;
  for (uint64_t word = (address - base) / 4; base + 4 * word < address + bytes; ++word) {
    const uint64_t begin = std::max(address, base + 4 * word) - (base + 4 * word);
    const uint64_t end = std::min(address + bytes, base + 4 * word + 4) - (base + 4 * word);
    const auto mask = uint32_t((1U << end) - (1U << begin));
    uint32_t &writer = region.writers[word];
    if (writer != 0 && writer >> 4 != tag >> 4 && (writer & mask) != 0)
      conflict = int64_t(writer >> 4) - 1;
    writer = writer >> 4 == tag >> 4 ? writer | mask : tag | mask;
  }
  return conflict;
}

} // namespace attnc::emulator

// SHA-256 (FIPS 180-4): cache keys and checksums of cached objects.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace attnc {

class Sha256 {
public:
  void update(std::string_view bytes);
  // 64 hexadecimal digits; ends the computation.
  std::string hex();

private:
  void block(const uint8_t *bytes);

  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending = {};
  size_t pendingSize = 0;
  uint64_t total = 0;
};

std::string sha256(std::string_view bytes);

} // namespace attnc

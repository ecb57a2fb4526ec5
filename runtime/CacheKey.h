// What tells one kernel from another: named fields in clear, in order, and their SHA-256.
// Everything that may change the code or its bits is a field, and nothing else is: no
// locations, no captured values, no names of the user's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnc {

class CacheKey {
public:
  struct Field {
    std::string name, value;
    bool operator==(const Field &) const = default;
  };

  explicit CacheKey(std::vector<Field> fields);

  const std::vector<Field> &fields() const { return list; }
  const std::string &hex() const { return digits; } // 64 hexadecimal digits
  std::string brief() const { return digits.substr(0, 12); }
  bool operator==(const CacheKey &other) const { return list == other.list; }

private:
  std::vector<Field> list;
  std::string digits;
};

// Whether `text` is 1 to 64 lower-case hexadecimal digits.
bool isKeyPrefix(std::string_view text);

} // namespace attnc

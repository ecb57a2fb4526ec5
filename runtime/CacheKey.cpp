#include "runtime/CacheKey.h"

#include "runtime/Sha256.h"

namespace attnc {

// Each name and value goes in behind its length, so no two lists of fields hash the same text.
CacheKey::CacheKey(std::vector<Field> fields) : list(std::move(fields)) {
  Sha256 hash;
  hash.update("attnc cache key\n");
  for (const auto &[name, value] : list)
    for (const std::string *text : {&name, &value}) {
      hash.update(std::to_string(text->size()) + ":");
      hash.update(*text);
    }
  digits = hash.hex();
}

bool isKeyPrefix(std::string_view text) {
  return !text.empty() && text.size() <= 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

} // namespace attnc

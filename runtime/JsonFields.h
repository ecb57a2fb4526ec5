// Reading JSON that may be damaged or hostile: no exception gets out, nothing nests deeply
// enough to exhaust a stack, and types are asked before values are taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace attnc {

using Json = nlohmann::ordered_json; // objects keep their order: that of a key's fields counts

// An empty object for what is no JSON object or nests deeper than 16.
Json parseObject(std::string_view text);
// UTF-8, two spaces of indentation.
std::string toText(const Json &json);

// "" for a field that is absent or no string; 0 for one that is no number.
std::string textField(const Json &json, const char *name);
double realField(const Json &json, const char *name);
// Whether the field is an integer in [low, high].
bool integerField(const Json &json, const char *name, int64_t low, int64_t high, int64_t &into);

} // namespace attnc

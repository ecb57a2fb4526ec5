// The "did you mean" of messages about names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnc {

// The known name closest to a misspelt one; empty if none is close.
std::string closestName(std::string_view name, const std::vector<std::string> &known);

// "; did you mean 'alibi'?" or "; it has 'alibi', 'causal'" or "; it has none".
std::string suggestion(std::string_view name, const std::vector<std::string> &known);

} // namespace attnc

#include "runtime/Suggest.h"

#include <algorithm>
#include <numeric>

namespace attnc {

static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string closestName(std::string_view name, const std::vector<std::string> &known) {
  std::string closest;
  size_t best = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string &candidate : known) {
    size_t distance = editDistance(name, candidate);
    if (distance < best) {
      best = distance;
      closest = candidate;
    }
  }
  return closest;
}

std::string suggestion(std::string_view name, const std::vector<std::string> &known) {
  if (std::string closest = closestName(name, known); !closest.empty())
    return "; did you mean '" + closest + "'?";
  if (known.empty())
    return "; it has none";
  std::string list;
  for (const std::string &candidate : known)
    list += (list.empty() ? "'" : ", '") + candidate + "'";
  return "; it has " + list;
}

} // namespace attnc

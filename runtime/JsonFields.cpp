#include "runtime/JsonFields.h"

namespace attnc {

static constexpr int kMaxDepth = 16;

Json parseObject(std::string_view text) {
  bool isDeep = false;
  auto keep = [&](int depth, Json::parse_event_t, const Json &) {
    isDeep |= depth > kMaxDepth;
    return depth <= kMaxDepth;
  };
  Json json = Json::parse(text, keep, /*allow_exceptions=*/false);
  return json.is_object() && !isDeep ? json : Json::object();
}

std::string toText(const Json &json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

std::string textField(const Json &json, const char *name) {
  auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

double realField(const Json &json, const char *name) {
  auto found = json.find(name);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

bool integerField(const Json &json, const char *name, int64_t low, int64_t high, int64_t &into) {
  auto found = json.find(name);
  if (found == json.end() || !found->is_number_integer())
    return false;
  if (found->is_number_unsigned() && found->get<uint64_t>() > INT64_MAX)
    return false;
  into = found->get<int64_t>();
  return into >= low && into <= high;
}

} // namespace attnc

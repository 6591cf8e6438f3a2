#include "base/json_object.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace tilescope {

nlohmann::json parse_json(std::string_view text, const std::string& origin) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
    std::string why = error.what();
    why.erase(0, std::min(why.find("] ") + 2, why.size()));
    constexpr std::string_view at = "parse error at ";
    if (why.starts_with(at)) why.erase(0, at.size());
    // It quotes what it read last, which may be no text.
    std::replace_if(
        why.begin(), why.end(), [](char c) { return static_cast<unsigned char>(c) > 0x7f; }, '?');
    throw input_error("{}: expected JSON: {}", origin, printable(why, 200));
  }
}

nlohmann::json parse_json_object(std::string_view text, const std::string& origin) {
  nlohmann::json document = parse_json(text, origin);
  if (!document.is_object()) {
    throw input_error("{}: expected a JSON object {{...}}, got {} {}", origin, document.type_name(),
                      printable(document.dump(), 40));
  }
  return document;
}

double number_in(const nlohmann::json& object, const std::string& key, const std::string& origin) {
  const auto found = object.find(key);
  if (found == object.end()) return 0.0;
  if (found->is_number()) return found->get<double>();
  throw input_error("{}: \"{}\": expected a number, got {}", origin, key,
                    printable(found->dump(), 40));
}

}  // namespace tilescope

// Reading JSON that a user or another program wrote.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tilescope {

/// The JSON in `text`. Throws Error(bad_input), one line that begins with `origin` and names line
/// and column, for what is no JSON.
nlohmann::json parse_json(std::string_view text, const std::string& origin);

/// The JSON object in `text`. Throws Error(bad_input) likewise for JSON that is no object.
nlohmann::json parse_json_object(std::string_view text, const std::string& origin);

/// The number called `key` of `object`, or 0. Throws Error(bad_input), one line that begins with
/// `origin`, where it is no number.
double number_in(const nlohmann::json& object, const std::string& key, const std::string& origin);

}  // namespace tilescope

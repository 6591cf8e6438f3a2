#include "report/json/json_renderer.hpp"

#include <nlohmann/json.hpp>

namespace tilescope::report {
namespace {

nlohmann::json json_of(const Value& value) {
  if (const auto* record = std::get_if<Record>(&value.data)) return json_of(*record);
  if (const auto* list = std::get_if<List>(&value.data)) {
    nlohmann::json array = nlohmann::json::array();
    for (const Value& element : *list) array.push_back(json_of(element));
    return array;
  }
  return std::visit(
      [](const auto& plain) -> nlohmann::json {
        if constexpr (std::is_constructible_v<nlohmann::json, decltype(plain)>) return plain;
        return nullptr;
      },
      value.data);
}

}  // namespace

nlohmann::json json_of(const Record& record) {
  nlohmann::json object = nlohmann::json::object();
  for (const Field& field : record.fields()) {
    if (!field.text_only) object[field.key] = json_of(field.value);
  }
  return object;
}

nlohmann::json json_of(const Page& page) {
  nlohmann::json document = json_of(page.data);
  document["version"] = json_version;
  document["command"] = page.command;
  if (page.with_steps) document["steps"] = page.steps;
  return document;
}

std::string render_json(const Page& page) {
  return json_of(page).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace tilescope::report

#include "report/run_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "inspect/array_values.hpp"
#include "inspect/scalar_value.hpp"
#include "report/device_report.hpp"
#include "report/text/wrap.hpp"

namespace tilescope::report {
namespace {

/// The elements that were brought back.
std::vector<std::string> texts_of(const RunArray& array) {
  std::vector<std::string> texts;
  const std::size_t size = size_of(array.type);
  for (std::size_t at = 0; at < array.bytes.size(); at += size) {
    texts.push_back(inspect::element_text(array.type, array.bytes.data() + at));
  }
  return texts;
}

std::string array_text(const RunArray& array) {
  std::string head = fmt::format("  {}: {}[{}]", array.name, inspect::short_name_of(array.type),
                                 format_count(array.count));
  std::string values;
  for (const std::string& text : texts_of(array)) values += ' ' + text;
  if (array.bytes.size() < array.count * size_of(array.type)) values += " ...";
  std::string range;
  if (array.least) range = fmt::format("{:.6g} to {:.6g}", *array.least, *array.most);
  if (array.nans > 0) {
    range += fmt::format("{}{} NaN", range.empty() ? "" : ", ", format_count(array.nans));
  }
  if (!range.empty()) head += ", " + range;
  if (!array.saved_to.empty()) head += ", saved to " + array.saved_to;
  head += '\n';
  if (!array.bytes.empty()) head += "    " + hang(values, 4, terminal_columns - 4) + '\n';
  return head;
}

template <typename T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

}  // namespace

std::string extents_text(const Dim3& extents) {
  if (extents.z != 1) return fmt::format("{} x {} x {}", extents.x, extents.y, extents.z);
  if (extents.y != 1) return fmt::format("{} x {}", extents.x, extents.y);
  return fmt::format("{}", extents.x);
}

std::string run_text(const RunResult& result) {
  std::string text = fmt::format(
      "{}: grid {}, block {} on {} ({}){}\n", result.kernel, extents_text(result.launch.grid),
      extents_text(result.launch.block), result.device, result.properties.name,
      result.time_ms ? " in " + format_duration(*result.time_ms * 1e-3) : "");
  for (const RunArray& array : result.arrays) text += array_text(array);
  return text;
}

nlohmann::json run_json(const RunResult& result) {
  nlohmann::json list = nlohmann::json::array();
  for (const RunArray& array : result.arrays) {
    list.push_back(
        {{"name", array.name},
         {"type", name_of(array.type)},
         {"count", array.count},
         {"first", texts_of(array)},
         {"least", or_null(array.least)},
         {"most", or_null(array.most)},
         {"nans", array.nans},
         {"saved_to", array.saved_to.empty() ? nlohmann::json() : nlohmann::json(array.saved_to)}});
  }
  const Dim3 &grid = result.launch.grid, &block = result.launch.block;
  nlohmann::json json{{"version", 1},
                      {"command", "run"},
                      {"kernel", result.kernel},
                      {"grid", {grid.x, grid.y, grid.z}},
                      {"block", {block.x, block.y, block.z}},
                      {"shared_bytes", result.launch.shared_bytes},
                      {"device", device_json(result.device, result.properties)},
                      {"time_ms", or_null(result.time_ms)},
                      {"arrays", std::move(list)},
                      {"complete", result.failure.empty()}};
  if (!result.failure.empty()) json["failure"] = result.failure;
  return json;
}

}  // namespace tilescope::report

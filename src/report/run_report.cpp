#include "report/run_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "inspect/scalar_value.hpp"
#include "report/device_report.hpp"
#include "report/wrap.hpp"

namespace tilescope::report {
namespace {

std::string array_text(const inspect::ArraySummary& array) {
  std::string head = fmt::format("  {}: {}[{}]", array.name, inspect::short_name_of(array.type),
                                 format_count(array.count));
  std::string values;
  for (const std::string& value : array.first) values += ' ' + value;
  if (array.first.size() < array.count) values += " ...";
  std::string range;
  if (array.count > 0 && array.least <= array.most) {
    range = fmt::format("{:.6g} to {:.6g}", array.least, array.most);
  }
  if (array.nans > 0) {
    range += fmt::format("{}{} NaN", range.empty() ? "" : ", ", format_count(array.nans));
  }
  if (!range.empty()) head += ", " + range;
  if (!array.saved_to.empty()) head += ", saved to " + array.saved_to;
  head += '\n';
  if (!array.first.empty()) head += "    " + hang(values, 4, terminal_columns - 4) + '\n';
  return head;
}

}  // namespace

std::string extents_text(const Dim3& extents) {
  if (extents.z != 1) return fmt::format("{} x {} x {}", extents.x, extents.y, extents.z);
  if (extents.y != 1) return fmt::format("{} x {}", extents.x, extents.y);
  return fmt::format("{}", extents.x);
}

std::string run_text(const RunContext& context, const std::vector<inspect::ArraySummary>& arrays) {
  std::string text = fmt::format(
      "{}: grid {}, block {} on {} ({}){}\n", context.kernel, extents_text(context.launch.grid),
      extents_text(context.launch.block), context.device_id, context.device.name,
      context.time_ms ? " in " + format_duration(*context.time_ms * 1e-3) : "");
  for (const inspect::ArraySummary& array : arrays) text += array_text(array);
  return text;
}

nlohmann::json run_json(const RunContext& context,
                        const std::vector<inspect::ArraySummary>& arrays) {
  nlohmann::json list = nlohmann::json::array();
  for (const inspect::ArraySummary& array : arrays) {
    const bool has_range = array.count > array.nans;
    list.push_back(
        {{"name", array.name},
         {"type", name_of(array.type)},
         {"count", array.count},
         {"first", array.first},
         {"least", has_range ? nlohmann::json(array.least) : nlohmann::json()},
         {"most", has_range ? nlohmann::json(array.most) : nlohmann::json()},
         {"nans", array.nans},
         {"saved_to", array.saved_to.empty() ? nlohmann::json() : nlohmann::json(array.saved_to)}});
  }
  const Dim3 &grid = context.launch.grid, &block = context.launch.block;
  return {{"version", 1},
          {"command", "run"},
          {"kernel", context.kernel},
          {"grid", {grid.x, grid.y, grid.z}},
          {"block", {block.x, block.y, block.z}},
          {"shared_bytes", context.launch.shared_bytes},
          {"device", device_json(context.device_id, context.device)},
          {"time_ms", context.time_ms ? nlohmann::json(*context.time_ms) : nlohmann::json()},
          {"arrays", std::move(list)}};
}

}  // namespace tilescope::report

#include "report/run_report.hpp"

#include <fmt/format.h>

#include "base/format.hpp"
#include "inspect/array_values.hpp"
#include "inspect/scalar_value.hpp"
#include "report/assumptions.hpp"
#include "report/device_report.hpp"

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

void add_array(Page& page, const RunArray& array) {
  std::string head = fmt::format("{}: {}[{}]", array.name, inspect::short_name_of(array.type),
                                 format_count(array.count));
  if (array.least) head += fmt::format(", {:.6g} to {:.6g}", *array.least, *array.most);
  if (array.nans > 0) head += fmt::format(", {} NaN", format_count(array.nans));
  if (!array.saved_to.empty()) head += ", saved to " + array.saved_to;
  page.add(Text{std::move(head), 2, 2});
  if (array.bytes.empty()) return;
  const bool has_more = array.bytes.size() < array.count * size_of(array.type);
  page.add(Text{fmt::format("{}{}", fmt::join(texts_of(array), " "), has_more ? " ..." : ""), 4});
}

Record array_record(const RunArray& array) {
  return {{"name", array.name},   {"type", name_of(array.type)},
          {"count", array.count}, {"first", texts_of(array)},
          {"least", array.least}, {"most", array.most},
          {"nans", array.nans},   {"saved_to", or_null(array.saved_to)}};
}

}  // namespace

Page run_page(const RunResult& result) {
  Page page("run");
  List arrays;
  for (const RunArray& array : result.arrays) arrays.push_back(array_record(array));
  List launches;
  for (const KernelRun& launch : result.launches) {
    launches.push_back(Record{{"kernel", launch.kernel},
                              {"grid", launch.launch.grid},
                              {"block", launch.launch.block},
                              {"shared_bytes", launch.launch.shared_bytes}});
  }
  page.data = {{"kernel", result.kernel},
               {"launches", std::move(launches)},
               {"grid", result.launch.grid},
               {"block", result.launch.block},
               {"shared_bytes", result.launch.shared_bytes},
               {"device", device_record(result.device, result.properties)},
               {"time_ms", result.time_ms},
               {"arrays", std::move(arrays)},
               {"complete", result.failure.empty()}};
  if (!result.failure.empty()) page.data.set("failure", result.failure);
  page.data.set_all(assumptions(result));
  page.say(
      std::string("{kernel}: grid {grid:few_extents}, block {block:few_extents} on {device.id} "
                  "({device.name})") +
      (result.time_ms ? " in {time_ms}" : "") + guesses(result));
  for (std::size_t i = 1; i < result.launches.size(); ++i) {
    const KernelRun& then = result.launches[i];
    page.add(Text{fmt::format("{}: grid {}, block {}", then.kernel,
                              text_of(then.launch.grid, {}, "few_extents"),
                              text_of(then.launch.block, {}, "few_extents"))});
  }
  for (const RunArray& array : result.arrays) add_array(page, array);
  return page;
}

}  // namespace tilescope::report

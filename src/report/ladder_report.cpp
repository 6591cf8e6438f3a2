#include "report/ladder_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "report/device_report.hpp"
#include "report/wrap.hpp"

namespace tilescope::report {
namespace {

using measure::RungResult;
using measure::Verdict;

constexpr std::size_t name_width = 23;
constexpr std::size_t text_width = 80 - name_width - 11;

}  // namespace

double peer_ms(const std::vector<RungResult>& results) {
  for (const RungResult& result : results) {
    if (result.variant.is_peer && result.timing) return result.timing->median_ms();
  }
  return 0.0;
}

std::string ladder_head(const LadderContext& context) {
  std::string text = fmt::format("{} {} on {} ({})\n", context.operation, context.size,
                                 context.device_id, context.device.name);
  text += fmt::format("{:<{}} {:<8} {:>10} {:>15} {:>8} {:>9}\n", "rung", name_width, "verdict",
                      "time", "rate", "x peer", "max error");
  return text;
}

std::string ladder_row(const RungResult& result, double peer) {
  std::string row = fmt::format("{:<{}} {:<8} ", result.variant.name, name_width,
                                measure::name_of(result.verdict));
  if (result.verdict != Verdict::ok) {
    return row + hang(result.reason, name_width + 10, text_width) + '\n';
  }
  const bool timed = result.timing.has_value();
  row += fmt::format(
      "{:>10} {:>15} {:>8} {:>9}", timed ? format_duration(result.timing->median_ms() * 1e-3) : "-",
      timed ? format_rate(result.flops_per_second, "FLOP/s") : "-",
      timed && peer > 0.0 ? fmt::format("{:.3f}", peer / result.timing->median_ms()) : "-",
      result.max_error ? fmt::format("{:.2e}", *result.max_error) : "-");
  return row + '\n';
}

std::string ladder_foot(const std::vector<RungResult>& results) {
  const auto count = [&](Verdict verdict) {
    return std::count_if(results.begin(), results.end(),
                         [verdict](const RungResult& r) { return r.verdict == verdict; });
  };
  std::string text = fmt::format("{} rungs ok, {} wrong, {} skipped\n", count(Verdict::ok),
                                 count(Verdict::wrong), count(Verdict::skipped));
  for (const RungResult& result : results) {
    if (!result.note.empty() && result.verdict == Verdict::ok) {
      text += fmt::format("  {}: {}\n", result.variant.name, result.note);
    }
  }
  return text;
}

nlohmann::json ladder_json(const LadderContext& context, const std::vector<RungResult>& results) {
  const double peer = peer_ms(results);
  nlohmann::json rungs = nlohmann::json::array();
  for (const RungResult& result : results) {
    nlohmann::json rung{{"name", result.variant.name},
                        {"idea", result.variant.idea},
                        {"source", result.variant.source},
                        {"is_peer", result.variant.is_peer},
                        {"verdict", measure::name_of(result.verdict)},
                        {"reason", result.reason},
                        {"note", result.note},
                        {"time_ms", nullptr},
                        {"max_error", nullptr}};
    if (result.max_error) rung["max_error"] = *result.max_error;
    if (result.timing) {
      rung["time_ms"] = result.timing->median_ms();
      rung["fastest_ms"] = result.timing->fastest_ms();
      rung["slowest_ms"] = result.timing->slowest_ms();
      rung["samples"] = result.timing->samples_ms.size();
      rung["flops_per_second"] = result.flops_per_second;
      rung["bytes_per_second"] = result.bytes_per_second;
      if (peer > 0.0) rung["speed_over_peer"] = peer / result.timing->median_ms();
    }
    rungs.push_back(std::move(rung));
  }
  return {{"version", 1},
          {"command", "ladder"},
          {"operation", context.operation},
          {"size", context.size},
          {"seed", context.seed},
          {"flops", context.work.flops},
          {"compulsory_bytes", context.work.bytes},
          {"device", device_json(context.device_id, context.device)},
          {"rungs", std::move(rungs)}};
}

}  // namespace tilescope::report

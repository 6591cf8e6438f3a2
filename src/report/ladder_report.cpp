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
constexpr std::size_t rate_width = 15;
constexpr std::size_t text_width = 80 - name_width - 11;

// Yardstick over time, such as "0.973"; "-" without one of them.
std::string ratio(double yardstick_ms, const RungResult& result) {
  if (yardstick_ms <= 0.0 || !result.timing) return "-";
  return fmt::format("{:.3f}", yardstick_ms / result.timing->median_ms());
}

}  // namespace

Yardsticks yardsticks(const std::vector<RungResult>& results) {
  Yardsticks found;
  for (const RungResult& result : results) {
    if (!result.timing) continue;
    if (result.variant.is_peer && found.peer_ms == 0.0) found.peer_ms = result.timing->median_ms();
    if (result.variant.is_copy) found.copy_ms = result.timing->median_ms();
  }
  return found;
}

std::string ladder_head(const LadderContext& context) {
  const bool memory = context.work.memory_bound;
  return fmt::format("{} {} on {} ({})\n{:<{}} {:<8} {:>10} {:>{}} {:>8} {:>9}\n",
                     context.operation, context.size, context.device_id, context.device.name,
                     "rung", name_width, "verdict", "time", "rate", rate_width, "x peer",
                     memory ? "x copy" : "max error");
}

std::string ladder_row(const RungResult& result, const operations::Work& work,
                       const Yardsticks& yardsticks) {
  const std::string row = fmt::format("{:<{}} {:<8} ", result.variant.name, name_width,
                                      measure::name_of(result.verdict));
  if (result.verdict != Verdict::ok) {
    return row + hang(result.reason, name_width + 10, text_width) + '\n';
  }
  std::string time = "-", rate = "-";
  if (result.timing) {
    time = format_duration(result.timing->median_ms() * 1e-3);
    rate = work.memory_bound ? format_fixed(result.bytes_per_second * 1e-9, 1) + " GB/s"
                             : format_rate(result.flops_per_second, "FLOP/s");
  }
  std::string last = result.max_error ? fmt::format("{:.2e}", *result.max_error) : "-";
  if (work.memory_bound) last = ratio(yardsticks.copy_ms, result);
  return row + fmt::format("{:>10} {:>{}} {:>8} {:>9}\n", time, rate, rate_width,
                           ratio(yardsticks.peer_ms, result), last);
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
  const Yardsticks sticks = yardsticks(results);
  nlohmann::json rungs = nlohmann::json::array();
  for (const RungResult& result : results) {
    nlohmann::json rung{{"name", result.variant.name},
                        {"idea", result.variant.idea},
                        {"source", result.variant.source},
                        {"is_peer", result.variant.is_peer},
                        {"is_copy", result.variant.is_copy},
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
      const double ms = result.timing->median_ms();
      if (sticks.peer_ms > 0.0) rung["speed_over_peer"] = sticks.peer_ms / ms;
      if (sticks.copy_ms > 0.0) rung["speed_over_copy"] = sticks.copy_ms / ms;
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

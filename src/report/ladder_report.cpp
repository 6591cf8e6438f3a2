#include "report/ladder_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "report/counts_report.hpp"
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

std::string counted_columns(const RungResult& result) {
  if (!result.counts) {
    return result.timing
               ? fmt::format("{:>43}\n",
                             "on the CPU, " + format_duration(result.timing->median_ms() * 1e-3))
               : std::string("-\n");
  }
  const Counts& c = *result.counts;
  const SectorCounts global = c.global();
  const WavefrontCounts shared = c.shared();
  const auto or_dash = [](std::uint64_t value) {
    return value == 0 ? std::string("-") : short_count(value);
  };
  return fmt::format(
      "{:>8} {:>5.1f} {:>6} {:>6} {:>6} {:>7}\n", short_count(global.requests),
      global.per_request(), or_dash(shared.wavefronts),
      shared.wavefronts == 0 ? "-" : short_count(shared.conflicts()), or_dash(c.operations.ffma),
      c.operations.flops() == 0 ? "-" : fmt::format("{:.2f}", c.requested_intensity()));
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
  const std::string first =
      fmt::format("{} {} on {} ({})\n{:<{}} {:<8}", context.operation, context.size,
                  context.device_id, context.device.name, "rung", name_width, "verdict");
  if (context.counted) {
    return first + fmt::format(" {:>8} {:>5} {:>6} {:>6} {:>6} {:>7}\n", "requests", "/req",
                               "waves", "confl.", "FFMA", "FLOP/B");
  }
  return first + fmt::format(" {:>10} {:>{}} {:>8} {:>9}\n", "time", "rate", rate_width, "x peer",
                             memory ? "x copy" : "max error");
}

std::string ladder_row(const RungResult& result, const LadderContext& context,
                       const Yardsticks& yardsticks) {
  const operations::Work& work = context.work;
  const std::string row = fmt::format("{:<{}} {:<8} ", result.variant.name, name_width,
                                      measure::name_of(result.verdict));
  if (result.verdict != Verdict::ok) {
    return row + hang(result.reason, name_width + 10, text_width) + '\n';
  }
  if (context.counted) return row + counted_columns(result);
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

std::string ladder_foot(const std::vector<RungResult>& results, const LadderContext& context) {
  const auto count = [&](Verdict verdict) {
    return std::count_if(results.begin(), results.end(),
                         [verdict](const RungResult& r) { return r.verdict == verdict; });
  };
  const auto ok = count(Verdict::ok);
  std::string text = fmt::format("{} rung{} ok, {} wrong, {} skipped\n", ok, ok == 1 ? "" : "s",
                                 count(Verdict::wrong), count(Verdict::skipped));
  for (const RungResult& result : results) {
    if (!result.note.empty() && result.verdict == Verdict::ok) {
      text += fmt::format("  {}: {}\n", result.variant.name, result.note);
    }
  }
  if (context.counted) {
    text +=
        "These are counts of an emulated GPU, no times. requests: to global memory; /req:\n"
        "32-byte sectors each; waves: turns of shared memory, confl.: those lost to bank\n"
        "conflicts; FLOP/B: operations a byte requested of global memory.\n";
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
    if (result.counts) {
      rung["counts"] = counts_json(*result.counts);
      rung["flops_per_requested_byte"] = result.counts->requested_intensity();
    }
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

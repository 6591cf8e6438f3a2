#include "report/profile_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tilescope::report {
namespace {

using measure::RungResult;

constexpr double sector_bytes = 32.0;

/// Needed bytes over those of the sectors.
Value efficiency(const SectorCounts& counts) {
  if (counts.sectors == 0) return {};
  return fmt::format("{:.0f}%", 100.0 * double(counts.ideal_sectors) / double(counts.sectors));
}

// Bytes of the sectors, per second if there is a time.
Value traffic(const SectorCounts& counts, const RungResult& result) {
  const double bytes = sector_bytes * double(counts.sectors);
  if (counts.sectors == 0) return {};
  return text_of(result.timing ? bytes / (result.timing->median_ms() * 1e-3) : bytes, {},
                 result.timing ? "rate" : "bytes");
}

double weight(const RungResult& result, bool timed) {
  if (timed) return result.timing ? result.timing->median_ms() : 0.0;
  return result.counts ? double(result.counts->instructions) : 0.0;
}

}  // namespace

void add_profile(Page& page, const std::vector<RungResult>& results) {
  std::vector<const RungResult*> rows;
  for (const RungResult& result : results) {
    if (result.verdict == measure::Verdict::ok && (result.counts || result.timing) &&
        !result.variant.on_host) {
      rows.push_back(&result);
    }
  }
  const bool timed = std::any_of(rows.begin(), rows.end(),
                                 [](const RungResult* r) { return r->timing.has_value(); });
  std::stable_sort(rows.begin(), rows.end(), [&](const RungResult* a, const RungResult* b) {
    return weight(*a, timed) > weight(*b, timed);
  });
  double total = 0.0;
  for (const RungResult* row : rows) total += weight(*row, timed);

  Table table{.columns = {{"method", left, 21, "{method}"},
                          {"calls", right, 5, "{calls}"},
                          timed ? Column{"time", right, 9, "{time_ms}"}
                                : Column{"warp in.", right, 9, "{instructions:short}"},
                          {"share", right, 6, "{share:percent}"},
                          {"read", right, 10, "{read}"},
                          {"written", right, 10, "{written}"},
                          {"ld.ef", right, 5, "{load_efficiency}"},
                          {"st.ef", right, 5, "{store_efficiency}"}},
              .rows = {}};
  Table serialised{.columns = {{"", left, 21, "{method}"}, {"", right, 25, "{conflicts}"}},
                   .rows = {},
                   .has_head = false};
  for (const RungResult* row : rows) {
    const Counts counts = row->counts.value_or(Counts{});
    const Record record{{"method", row->variant.name},
                        {"calls", row->timing ? row->timing->samples_ms.size() : 1},
                        {"time_ms", row->timing ? Value(row->timing->median_ms()) : Value()},
                        {"instructions", counts.instructions},
                        {"share", total > 0.0 ? weight(*row, timed) / total : 0.0},
                        {"read", traffic(counts.global_load, *row)},
                        {"written", traffic(counts.global_store, *row)},
                        {"load_efficiency", efficiency(counts.global_load)},
                        {"store_efficiency", efficiency(counts.global_store)},
                        {"conflicts", counts.shared().conflicts()}};
    table.rows.push_back(record);
    if (counts.shared().conflicts() > 0) serialised.rows.push_back(record);
  }
  page.gap();
  page.say("Profile");
  page.add(std::move(table));
  page.gap();
  page.say("serialised warps (turns of shared memory lost to bank conflicts)");
  if (serialised.rows.empty()) page.say("none", 2);
  page.add(std::move(serialised));
  page.say(
      fmt::format("read, written: sectors of global memory{}; ld.ef, st.ef: bytes that\n"
                  "the threads wanted over bytes of the sectors{}",
                  timed ? " over the time" : "",
                  timed ? "; - where the run was too large\nto be counted by emulation too" : ""));
}

}  // namespace tilescope::report

#include "report/profile_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "report/counts_report.hpp"

namespace tilescope::report {
namespace {

using measure::RungResult;

constexpr double sector_bytes = 32.0;

std::string percent(const SectorCounts& counts) {
  if (counts.sectors == 0) return "-";
  return fmt::format("{:.0f}%", 100.0 * double(counts.ideal_sectors) / double(counts.sectors));
}

// Bytes of the sectors, a second where there is a time.
std::string traffic(const SectorCounts& counts, const RungResult& result) {
  const double bytes = sector_bytes * double(counts.sectors);
  if (counts.sectors == 0) return "-";
  if (!result.timing) return format_bytes(static_cast<std::uint64_t>(bytes));
  return format_rate(bytes / (result.timing->median_ms() * 1e-3), "B/s");
}

double weight(const RungResult& result, bool timed) {
  if (timed) return result.timing ? result.timing->median_ms() : 0.0;
  return result.counts ? double(result.counts->instructions) : 0.0;
}

}  // namespace

std::string profile_table(const std::vector<RungResult>& results) {
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

  std::string text = fmt::format("\nProfile\n{:<21} {:>5} {:>9} {:>6} {:>10} {:>10} {:>5} {:>5}\n",
                                 "method", "calls", timed ? "time" : "warp in.", "share", "read",
                                 "written", "ld.ef", "st.ef");
  for (const RungResult* row : rows) {
    const Counts counts = row->counts.value_or(Counts{});
    const std::string what =
        timed ? format_duration(row->timing->median_ms() * 1e-3) : short_count(counts.instructions);
    text += fmt::format("{:<21} {:>5} {:>9} {:>5.1f}% {:>10} {:>10} {:>5} {:>5}\n",
                        row->variant.name, row->timing ? row->timing->samples_ms.size() : 1, what,
                        total > 0.0 ? 100.0 * weight(*row, timed) / total : 0.0,
                        traffic(counts.global_load, *row), traffic(counts.global_store, *row),
                        percent(counts.global_load), percent(counts.global_store));
  }
  text += "\nserialised warps (turns of shared memory lost to bank conflicts)\n";
  bool any = false;
  for (const RungResult* row : rows) {
    if (!row->counts || row->counts->shared().conflicts() == 0) continue;
    any = true;
    text += fmt::format("{:<21} {:>25}\n", row->variant.name,
                        format_count(row->counts->shared().conflicts()));
  }
  if (!any) text += "  none\n";
  return text + fmt::format(
                    "read, written: sectors of global memory{}; ld.ef, st.ef: bytes that\n"
                    "the threads wanted over bytes of the sectors{}\n",
                    timed ? " over the time" : "",
                    timed ? "; - where the run was too large\nto be counted by emulation too" : "");
}

}  // namespace tilescope::report

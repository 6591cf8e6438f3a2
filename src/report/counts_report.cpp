#include "report/counts_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.hpp"

namespace tilescope::report {
namespace {

using observe::Counts;
using observe::SectorCounts;
using observe::WavefrontCounts;

std::string sectors_line(std::string_view name, const SectorCounts& c) {
  if (c.requests == 0) return {};
  return fmt::format("  {:<17} {:>13} {:>13} {:>9.2f} {:>12} {:>9}\n", name,
                     format_count(c.requests), format_count(c.sectors), c.per_request(),
                     format_count(c.ideal_sectors),
                     fmt::format("{:.0f}%", 100.0 * double(c.ideal_sectors) / double(c.sectors)));
}

std::string wavefronts_line(std::string_view name, const WavefrontCounts& c) {
  if (c.requests == 0) return {};
  return fmt::format("  {:<17} {:>13} {:>13} {:>9.2f} {:>12} {:>9}\n", name,
                     format_count(c.requests), format_count(c.wavefronts),
                     double(c.wavefronts) / double(c.requests), format_count(c.conflicts()),
                     c.ways);
}

/// One more line, of which the name and value are given; nothing for zero.
std::string plain_line(std::string_view name, std::uint64_t value) {
  return value == 0 ? std::string() : fmt::format("  {:<38} {:>20}\n", name, format_count(value));
}

std::string operations_text(const observe::OperationCounts& o) {
  return plain_line("FFMA (32-bit), threads", o.ffma) +
         plain_line("FADD and FMUL (32-bit), threads", o.fadd + o.fmul) +
         plain_line("DFMA (64-bit), threads", o.dfma) +
         plain_line("DADD and DMUL (64-bit), threads", o.dadd + o.dmul) +
         plain_line("HFMA (16-bit), threads", o.hfma) +
         plain_line("HADD and HMUL (16-bit), threads", o.hadd + o.hmul) +
         plain_line("special functions, threads", o.special) +
         plain_line("integer operations, threads", o.integer) +
         plain_line("floating-point operations", o.flops());
}

}  // namespace

std::string short_count(std::uint64_t count) {
  if (count < 100000) return fmt::format("{}", count);
  constexpr std::string_view units = "kMGTPE";
  double value = static_cast<double>(count) / 1000.0;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000.0;
    ++unit;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}{}", value, decimals, units[unit]);
}

std::string totals_text(const observe::LaunchCounts& counts) {
  const Counts& t = counts.totals;
  std::string text = plain_line("warp instructions (of the PTX)", t.instructions);
  if (t.instructions > 0) {
    text += fmt::format("  {:<38} {:>20.2f}\n", "threads per instruction",
                        double(t.thread_instructions) / double(t.instructions));
  }
  text += operations_text(t.operations);
  text += plain_line("barriers, warps", t.barriers);
  if (t.branches > 0) {
    text += fmt::format("  {:<38} {:>20}\n", "branches, divergent",
                        fmt::format("{} of {} ({:.1f}%)", format_count(t.divergent_branches),
                                    format_count(t.branches),
                                    100.0 * double(t.divergent_branches) / double(t.branches)));
  }
  std::string sectors =
      sectors_line("global loads", t.global_load) + sectors_line("global stores", t.global_store) +
      sectors_line("global atomics", t.global_atomic) +
      sectors_line("global reductions", t.global_reduction) +
      sectors_line("local loads", t.local_load) + sectors_line("local stores", t.local_store);
  if (!sectors.empty()) {
    text += fmt::format("\n  {:<17} {:>13} {:>13} {:>9} {:>12} {:>9}\n", "", "requests", "sectors",
                        "per req.", "ideal", "efficient") +
            sectors;
  }
  std::string waves = wavefronts_line("shared loads", t.shared_load) +
                      wavefronts_line("shared stores", t.shared_store) +
                      wavefronts_line("shared atomics", t.shared_atomic) +
                      wavefronts_line("cp.async writes", t.shared_async);
  if (!waves.empty()) {
    text += fmt::format("\n  {:<17} {:>13} {:>13} {:>9} {:>12} {:>9}\n", "", "requests",
                        "wavefronts", "per req.", "conflicts", "worst way") +
            waves;
  }
  if (!counts.footprint.empty()) {
    text += fmt::format("\n  different bytes read {}, written {}",
                        format_count(counts.unique_bytes_read()),
                        format_count(counts.unique_bytes_written()));
    if (t.operations.flops() > 0) {
      text += fmt::format("; FLOP/B {:.2f} (sectors: {:.2f})", counts.compulsory_intensity(),
                          t.requested_intensity());
    }
    text += '\n';
  }
  return text;
}

nlohmann::json counts_json(const Counts& c) {
  const auto& o = c.operations;
  return {{"instructions", c.instructions},
          {"thread_instructions", c.thread_instructions},
          {"global_load_requests", c.global_load.requests},
          {"global_load_sectors", c.global_load.sectors},
          {"global_load_ideal_sectors", c.global_load.ideal_sectors},
          {"global_store_requests", c.global_store.requests},
          {"global_store_sectors", c.global_store.sectors},
          {"global_store_ideal_sectors", c.global_store.ideal_sectors},
          {"global_atomic_requests", c.global_atomic.requests},
          {"global_atomic_sectors", c.global_atomic.sectors},
          {"global_reduction_requests", c.global_reduction.requests},
          {"global_reduction_sectors", c.global_reduction.sectors},
          {"local_load_requests", c.local_load.requests},
          {"local_load_sectors", c.local_load.sectors},
          {"local_store_requests", c.local_store.requests},
          {"local_store_sectors", c.local_store.sectors},
          {"shared_load_requests", c.shared_load.requests},
          {"shared_load_wavefronts", c.shared_load.wavefronts},
          {"shared_load_conflicts", c.shared_load.conflicts()},
          {"shared_load_ways", c.shared_load.ways},
          {"shared_store_requests", c.shared_store.requests},
          {"shared_store_wavefronts", c.shared_store.wavefronts},
          {"shared_store_conflicts", c.shared_store.conflicts()},
          {"shared_store_ways", c.shared_store.ways},
          {"shared_atomic_requests", c.shared_atomic.requests},
          {"shared_atomic_wavefronts", c.shared_atomic.wavefronts},
          {"shared_atomic_conflicts", c.shared_atomic.conflicts()},
          {"shared_async_wavefronts", c.shared_async.wavefronts},
          {"branches", c.branches},
          {"divergent_branches", c.divergent_branches},
          {"barriers", c.barriers},
          {"ffma", o.ffma},
          {"fadd", o.fadd},
          {"fmul", o.fmul},
          {"dfma", o.dfma},
          {"dadd", o.dadd},
          {"dmul", o.dmul},
          {"hfma", o.hfma},
          {"hadd", o.hadd},
          {"hmul", o.hmul},
          {"special", o.special},
          {"integer", o.integer},
          {"flops", o.flops()}};
}

void add_launch(observe::LaunchCounts& to, const observe::LaunchCounts& launch) {
  to.totals += launch.totals;
  to.complete = to.complete && launch.complete;
  if (to.kernel.empty()) to.kernel = launch.kernel;
  for (const observe::LineCounts& line : launch.lines) {
    const auto at =
        std::lower_bound(to.lines.begin(), to.lines.end(), line,
                         [](const auto& a, const auto& b) { return a.place < b.place; });
    if (at != to.lines.end() && at->place == line.place) {
      at->counts += line.counts;
    } else {
      to.lines.insert(at, line);
    }
  }
  for (const observe::FootprintOf& part : launch.footprint) {
    const auto same = std::find_if(to.footprint.begin(), to.footprint.end(),
                                   [&](const auto& f) { return f.name == part.name; });
    if (same == to.footprint.end()) {
      to.footprint.push_back(part);
    } else {  // what several launches touched in turn cannot be told apart any more
      same->read = std::max(same->read, part.read);
      same->written = std::max(same->written, part.written);
    }
  }
}

}  // namespace tilescope::report

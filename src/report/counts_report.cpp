#include "report/counts_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.hpp"

namespace tilescope::report {
namespace {

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

std::string operations_text(const OperationCounts& o) {
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

std::string totals_text(const LaunchCounts& counts) {
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

nlohmann::json counts_json(const Counts& counts) {
  nlohmann::json json;
  for (const NamedCount& count : named_counts()) json[std::string(count.name)] = count.of(counts);
  return json;
}

}  // namespace tilescope::report

#include "report/dram_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "report/wrap.hpp"

namespace tilescope::report {
namespace {

gpu::BurstTiming timing_of(const DramContext& c) {
  return gpu::burst_timing(c.clock_hz, c.prefetch, c.array_ns, c.transfers_per_clock);
}

gpu::LittleNeed need_of(const DramContext& c) {
  return gpu::little_need(c.bandwidth(), c.latency_ns * 1e-9, c.sm_count, c.bytes_per_thread,
                          c.loads_per_warp);
}

// Bursts over time: '.' the array works, '#' the burst crosses the interface.
std::string timeline(const gpu::BurstTiming& timing, int banks) {
  constexpr int width = 64;
  const double scale =
      std::max(1.0, std::min(8.0, std::round(timing.transfer_ns /
                                             (timing.array_ns + timing.transfer_ns) * 24.0)));
  const int transfer = static_cast<int>(scale);
  const int array = std::clamp(
      static_cast<int>(std::lround(timing.array_ns / timing.transfer_ns * transfer)), 1, 40);
  std::string text;
  std::string interface(width, ' ');
  const int period = std::max(array + transfer, banks * transfer);
  for (int bank = 0; bank < std::min(banks, 16); ++bank) {
    std::string line(width, ' ');
    for (int start = bank * transfer; start < width; start += period) {
      for (int t = 0; t < array + transfer && start + t < width; ++t) {
        const bool moving = t >= array;
        line[static_cast<std::size_t>(start + t)] = moving ? '#' : '.';
        if (moving) interface[static_cast<std::size_t>(start + t)] = '#';
      }
    }
    text += fmt::format("  bank {:>3}   {}\n", bank, line);
  }
  return text + fmt::format("  interface  {}\n", interface);
}

}  // namespace

std::string dram_text(const DramContext& c) {
  const auto line = [](std::string_view name, const std::string& value) {
    return fmt::format("  {:<24} {}\n", name, hang(value, 27, 53));
  };
  std::string text = fmt::format("DRAM of {}\n", c.machine);
  text += line("Bandwidth", fmt::format("{} ({:.0f} MHz, {:g} transfers a clock, {} bits)",
                                        format_rate(c.bandwidth(), "B/s"), c.clock_hz / 1e6,
                                        c.transfers_per_clock, c.bus_bits));
  if (c.wanted_bytes_per_second > 0.0) {
    text +=
        line("Channels needed",
             fmt::format("{} for {}", gpu::channels_for(c.wanted_bytes_per_second, c.bandwidth()),
                         format_rate(c.wanted_bytes_per_second, "B/s")));
  }
  const gpu::SparseUse sparse = gpu::sparse_use(c.used_bytes, c.line_bytes);
  text +=
      line("Random access",
           fmt::format("{} of {} B used: {:.3g} times the traffic, {:.0f}% wasted", c.used_bytes,
                       c.line_bytes, sparse.times_the_traffic, 100.0 * sparse.wasted_share));
  if (c.latency_ns > 0.0 && c.sm_count > 0) {
    const gpu::LittleNeed need = need_of(c);
    text +=
        line("In flight for all of it",
             fmt::format(
                 "{} ({:.0f} ns): {} an SM",
                 format_bytes(static_cast<std::uint64_t>(std::llround(need.bytes))), c.latency_ns,
                 format_bytes(static_cast<std::uint64_t>(std::llround(need.bytes_per_sm)))));
    text += line(
        "Warps needed per SM",
        fmt::format("{} with {} load{} of {} B a thread under way{}", need.warps_per_sm,
                    c.loads_per_warp, c.loads_per_warp == 1 ? "" : "s", c.bytes_per_thread,
                    c.warps_resident > 0 && need.warps_per_sm > c.warps_resident
                        ? fmt::format("; an SM holds only {}: load more a thread", c.warps_resident)
                        : ""));
  }
  if (c.prefetch > 0) {
    const gpu::BurstTiming timing = timing_of(c);
    text += line("Burst", fmt::format("{} transfers = {} B in {:.2f} ns, after {:.4g} ns in the "
                                      "array",
                                      c.prefetch, gpu::burst_bytes(c.prefetch, c.bus_bits),
                                      timing.transfer_ns, timing.array_ns));
    text += line("Interface busy",
                 fmt::format("{:.1f}% with 1 bank, {:.1f}% with {}; {} banks "
                             "hide the array",
                             100.0 * timing.utilisation(1), 100.0 * timing.utilisation(c.banks),
                             c.banks, timing.banks_to_hide()));
    text += "\nTime runs to the right; '.': the array works, '#': a burst crosses\n";
    text += "One bank:\n" + timeline(timing, 1);
    if (c.banks > 1) text += fmt::format("{} banks:\n{}", c.banks, timeline(timing, c.banks));
  }
  return text;
}

Steps dram_steps(const DramContext& c) {
  Steps steps;
  steps.add("Bandwidth",
            fmt::format("{:.4g} MHz x {:g} transfers x {} bits / 8 = {}", c.clock_hz / 1e6,
                        c.transfers_per_clock, c.bus_bits, format_rate(c.bandwidth(), "B/s")));
  if (c.wanted_bytes_per_second > 0.0) {
    steps.add(
        "Channels",
        fmt::format("{} / {} = {:.3f}, so {} (figures rounded to 1% count as reached)",
                    format_rate(c.wanted_bytes_per_second, "B/s"),
                    format_rate(c.bandwidth(), "B/s"), c.wanted_bytes_per_second / c.bandwidth(),
                    gpu::channels_for(c.wanted_bytes_per_second, c.bandwidth())));
  }
  const gpu::SparseUse sparse = gpu::sparse_use(c.used_bytes, c.line_bytes);
  steps.add("Random access", fmt::format("{} / {} = {:.3g} times the lines; 1 - {} / {} = {:.1f}% "
                                         "wasted",
                                         c.line_bytes, c.used_bytes, sparse.times_the_traffic,
                                         c.used_bytes, c.line_bytes, 100.0 * sparse.wasted_share));
  if (c.latency_ns > 0.0 && c.sm_count > 0) {
    const gpu::LittleNeed need = need_of(c);
    steps.add("Little's law",
              fmt::format("{} x {:.1f} ns = {:.0f} B in flight", format_rate(c.bandwidth(), "B/s"),
                          c.latency_ns, need.bytes));
    steps.add("Per SM", fmt::format("{:.0f} / {} = {:.0f} B; a warp's load has 32 x {} B: {:.1f} "
                                    "loads under way",
                                    need.bytes, c.sm_count, need.bytes_per_sm, c.bytes_per_thread,
                                    need.requests_per_sm));
    steps.add("Warps", fmt::format("{:.1f} / {} loads a warp, rounded up = {}",
                                   need.requests_per_sm, c.loads_per_warp, need.warps_per_sm));
  }
  if (c.prefetch > 0) {
    const gpu::BurstTiming timing = timing_of(c);
    steps.add("A burst", fmt::format("{} transfers / ({:.4g} MHz x {:g}) = {:.3f} ns", c.prefetch,
                                     c.clock_hz / 1e6, c.transfers_per_clock, timing.transfer_ns));
    steps.add("Banks", fmt::format("({:.3f} + {:.3f}) / {:.3f}, rounded up = {}", timing.array_ns,
                                   timing.transfer_ns, timing.transfer_ns, timing.banks_to_hide()));
  }
  return steps;
}

nlohmann::json dram_json(const DramContext& c) {
  const gpu::SparseUse sparse = gpu::sparse_use(c.used_bytes, c.line_bytes);
  nlohmann::json json{{"machine", c.machine},
                      {"clock_hz", c.clock_hz},
                      {"transfers_per_clock", c.transfers_per_clock},
                      {"bus_bits", c.bus_bits},
                      {"bandwidth_bytes_per_second", c.bandwidth()},
                      {"random_access",
                       {{"used_bytes", c.used_bytes},
                        {"line_bytes", c.line_bytes},
                        {"times_the_traffic", sparse.times_the_traffic},
                        {"wasted_share", sparse.wasted_share}}}};
  if (c.wanted_bytes_per_second > 0.0) {
    json["wanted_bytes_per_second"] = c.wanted_bytes_per_second;
    json["channels"] = gpu::channels_for(c.wanted_bytes_per_second, c.bandwidth());
  }
  if (c.latency_ns > 0.0 && c.sm_count > 0) {
    const gpu::LittleNeed need = need_of(c);
    json["little"] = {{"latency_ns", c.latency_ns},
                      {"bytes_in_flight", need.bytes},
                      {"bytes_in_flight_per_sm", need.bytes_per_sm},
                      {"requests_per_sm", need.requests_per_sm},
                      {"warps_per_sm", need.warps_per_sm}};
  }
  if (c.prefetch > 0) {
    const gpu::BurstTiming timing = timing_of(c);
    json["burst"] = {{"transfers", c.prefetch},
                     {"burst_bytes", gpu::burst_bytes(c.prefetch, c.bus_bits)},
                     {"array_ns", timing.array_ns},
                     {"transfer_ns", timing.transfer_ns},
                     {"banks", c.banks},
                     {"interface_busy_share", timing.utilisation(c.banks)},
                     {"banks_that_hide_the_array", timing.banks_to_hide()}};
  }
  return json;
}

}  // namespace tilescope::report

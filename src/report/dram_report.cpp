#include "report/dram_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilescope::report {
namespace {

// Bursts over time: '.' the array works, '#' the burst crosses the interface.
Table timeline(const gpu::BurstTiming& timing, int banks) {
  constexpr int width = 64;
  const double scale =
      std::max(1.0, std::min(8.0, std::round(timing.transfer_ns /
                                             (timing.array_ns + timing.transfer_ns) * 24.0)));
  const int transfer = static_cast<int>(scale);
  const int array = std::clamp(
      static_cast<int>(std::lround(timing.array_ns / timing.transfer_ns * transfer)), 1, 40);
  Table table{.columns = {{"", left, 10, "{name}"}, {"", left, width, "{time}"}},
              .rows = {},
              .indent = 2,
              .has_head = false};
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
    table.rows.push_back({{"name", fmt::format("bank {:>3}", bank)}, {"time", line}});
  }
  table.rows.push_back({{"name", "interface"}, {"time", interface}});
  return table;
}

/// The same as a picture: banks in turns, and the interface that they share.
TimeLine burst_line(const gpu::BurstTiming& timing, int banks) {
  using enum TimeLine::Kind;
  constexpr int most_banks = 16, turns = 3;
  const double cycle = timing.array_ns + timing.transfer_ns;
  const double period = std::max(cycle, banks * timing.transfer_ns);
  TimeLine line{.title = fmt::format("{} bank{}: the interface is busy {:.0f}% of the time", banks,
                                     banks == 1 ? "" : "s", 100.0 * timing.utilisation(banks)),
                .unit = "ns",
                .end = turns * period + std::min(banks, most_banks) * timing.transfer_ns};
  TimeLine::Track interface {
    "interface", {}
  };
  for (int bank = 0; bank < std::min(banks, most_banks); ++bank) {
    TimeLine::Track& track = line.tracks.emplace_back();
    track.name = fmt::format("bank {}", bank);
    for (int turn = 0; turn < turns; ++turn) {
      const double begin = turn * period + bank * timing.transfer_ns,
                   ready = begin + timing.array_ns, end = begin + cycle;
      track.spans.push_back({begin, ready, array, "", "a row is read"});
      track.spans.push_back({ready, end, burst, "", "the burst crosses"});
      interface.spans.push_back({ready, end, burst, "", track.name});
    }
  }
  line.tracks.push_back(std::move(interface));
  return line;
}

/// The bytes that an access at a random place fetches, and those that it uses.
BarChart waste_chart(const DramContext& c) {
  const int wasted = std::max(0, c.line_bytes - c.used_bytes);
  return {.title = "An access at a random place",
          .axis = "A memory hands out a whole line, however little of it is used.",
          .use = "fetched and used",
          .waste = "fetched and not used",
          .bars = {{.name = "fetched",
                    .value = static_cast<double>(c.line_bytes),
                    .wasted = static_cast<double>(wasted),
                    .label = fmt::format("{} bytes, {} of them used", c.line_bytes,
                                         c.line_bytes - wasted)}}};
}

void add_little(Page& page, const DramContext& c) {
  if (!(c.latency_ns > 0.0) || c.sm_count <= 0) return;
  const gpu::LittleNeed need = gpu::little_need(c.bandwidth(), c.latency_ns * 1e-9, c.sm_count,
                                                c.bytes_per_thread, c.loads_per_warp);
  page.data.set("little", Record{{"latency_ns", c.latency_ns},
                                 {"bytes_in_flight", need.bytes},
                                 {"bytes_in_flight_per_sm", need.bytes_per_sm},
                                 {"requests_per_sm", need.requests_per_sm},
                                 {"warps_per_sm", need.warps_per_sm}});
  page.data.let("whole_bytes", std::llround(need.bytes))
      .let("bytes_per_sm", std::llround(need.bytes_per_sm))
      .let("sms", c.sm_count)
      .let("loads", c.loads_per_warp)
      .let("bytes_per_thread", c.bytes_per_thread)
      .let("resident", c.warps_resident);
  page.fact("In flight for all of it",
            "{whole_bytes} ({little.latency_ns:.0f} ns): {bytes_per_sm:bytes} an SM");
  const bool too_many = c.warps_resident > 0 && need.warps_per_sm > c.warps_resident;
  page.fact("Warps needed per SM",
            std::string("{little.warps_per_sm} with {loads} load{loads:s} of "
                        "{bytes_per_thread} B a thread under way") +
                (too_many ? "; an SM holds only {resident}: load more a thread" : ""));
  page.step("Little's law",
            "{bandwidth_bytes_per_second} x {little.latency_ns:.1f} ns = "
            "{little.bytes_in_flight:.0f} B in flight");
  page.step("Per SM",
            "{little.bytes_in_flight:.0f} / {sms} = {little.bytes_in_flight_per_sm:.0f} B; a "
            "warp's load has 32 x {bytes_per_thread} B: {little.requests_per_sm:.1f} loads under "
            "way");
  page.step("Warps",
            "{little.requests_per_sm:.1f} / {loads} loads a warp, rounded up = "
            "{little.warps_per_sm}");
}

void add_burst(Page& page, const DramContext& c) {
  if (c.prefetch <= 0) return;
  const gpu::BurstTiming timing =
      gpu::burst_timing(c.clock_hz, c.prefetch, c.array_ns, c.transfers_per_clock);
  page.data.set("burst", Record{{"transfers", c.prefetch},
                                {"burst_bytes", gpu::burst_bytes(c.prefetch, c.bus_bits)},
                                {"array_ns", timing.array_ns},
                                {"transfer_ns", timing.transfer_ns},
                                {"banks", c.banks},
                                {"interface_busy_share", timing.utilisation(c.banks)},
                                {"banks_that_hide_the_array", timing.banks_to_hide()}});
  page.data.let("share_of_one", timing.utilisation(1));
  page.fact("Burst",
            "{burst.transfers} transfers = {burst.burst_bytes:plain} B in {burst.transfer_ns:.2f} "
            "ns, after {burst.array_ns} ns in the array");
  page.fact("Interface busy",
            "{share_of_one:percent} with 1 bank, {burst.interface_busy_share} with {burst.banks}; "
            "{burst.banks_that_hide_the_array} banks hide the array");
  page.step("A burst",
            "{burst.transfers} transfers / ({clock_mhz} MHz x {transfers_per_clock:g}) = "
            "{burst.transfer_ns:.3f} ns");
  page.step("Banks",
            "({burst.array_ns:.3f} + {burst.transfer_ns:.3f}) / {burst.transfer_ns:.3f}, rounded "
            "up = {burst.banks_that_hide_the_array}");
  page.figures.emplace_back(burst_line(timing, 1));
  if (c.banks > 1) page.figures.emplace_back(burst_line(timing, c.banks));
  page.gap();
  page.say("Time runs to the right; '.': the array works, '#': a burst crosses\nOne bank:");
  page.add(timeline(timing, 1));
  if (c.banks <= 1) return;
  page.say("{burst.banks} banks:");
  page.add(timeline(timing, c.banks));
}

}  // namespace

Page dram_page(const DramContext& c) {
  const gpu::SparseUse sparse = gpu::sparse_use(c.used_bytes, c.line_bytes);
  Page page("dram");
  page.data = {{"machine", c.machine},
               {"clock_hz", c.clock_hz},
               {"transfers_per_clock", c.transfers_per_clock},
               {"bus_bits", c.bus_bits},
               {"bandwidth_bytes_per_second", c.bandwidth()},
               {"random_access", Record{{"used_bytes", c.used_bytes},
                                        {"line_bytes", c.line_bytes},
                                        {"times_the_traffic", sparse.times_the_traffic},
                                        {"wasted_share", sparse.wasted_share}}}};
  page.data.let("clock_mhz", c.clock_hz / 1e6).let("wasted", 100.0 * sparse.wasted_share);
  page.say("DRAM of {machine}");
  page.facts(24);
  page.fact("Bandwidth",
            "{bandwidth_bytes_per_second} ({clock_mhz:.0f} MHz, {transfers_per_clock:g} transfers "
            "a clock, {bus_bits:plain} bits)");
  page.step("Bandwidth",
            "{clock_mhz} MHz x {transfers_per_clock:g} transfers x {bus_bits:plain} bits / 8 = "
            "{bandwidth_bytes_per_second}");
  if (c.wanted_bytes_per_second > 0.0) {
    page.data.set("wanted_bytes_per_second", c.wanted_bytes_per_second)
        .set("channels", gpu::channels_for(c.wanted_bytes_per_second, c.bandwidth()))
        .let("ratio", c.wanted_bytes_per_second / c.bandwidth());
    page.fact("Channels needed", "{channels} for {wanted_bytes_per_second}");
    page.step("Channels",
              "{wanted_bytes_per_second} / {bandwidth_bytes_per_second} = {ratio:.3f}, so "
              "{channels} (figures rounded to 1% count as reached)");
  }
  page.fact("Random access",
            "{random_access.used_bytes:count} of {random_access.line_bytes:count} B used: "
            "{random_access.times_the_traffic:.3g} times the traffic, {wasted:.0f}% wasted");
  page.step("Random access",
            "{random_access.line_bytes:count} / {random_access.used_bytes:count} = "
            "{random_access.times_the_traffic:.3g} times the lines; 1 - "
            "{random_access.used_bytes:count} / {random_access.line_bytes:count} = "
            "{random_access.wasted_share} wasted");
  add_little(page, c);
  add_burst(page, c);
  page.figures.emplace_back(waste_chart(c));
  return page;
}

}  // namespace tilescope::report

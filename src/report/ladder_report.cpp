#include "report/ladder_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "operations/registry.hpp"
#include "report/counts_report.hpp"
#include "report/device_report.hpp"
#include "report/text/wrap.hpp"

namespace tilescope::report {
namespace {

using measure::RungResult;
using measure::Verdict;

Record rung_record(const operations::VariantInfo& rung) {
  return {{"name", rung.name}, {"idea", rung.idea}, {"source", rung.source}};
}

/// The columns of counts.
void let_counts(Record& record, const Counts& c) {
  const SectorCounts global = c.global();
  const WavefrontCounts shared = c.shared();
  const auto or_null = [](auto value) { return value == 0 ? Value() : Value(value); };
  record.let("requests", global.requests)
      .let("per_request", global.per_request())
      .let("wavefronts", or_null(shared.wavefronts))
      .let("conflicts", shared.wavefronts == 0 ? Value() : Value(shared.conflicts()))
      .let("ffma", or_null(c.operations.ffma))
      .let("intensity", c.operations.flops() == 0 ? Value() : Value(c.requested_intensity()));
}

/// The text in place of figures; empty where there are some.
std::string instead_of_figures(const RungResult& result, const LadderContext& context) {
  if (result.verdict != Verdict::ok) return result.reason;
  if (!context.counted || result.counts) return {};
  if (!result.timing) return "-";
  constexpr int width = 43;  // of the columns of counts
  return fmt::format("{:>{}}", "on the CPU, " + format_duration(result.timing->median_ms() * 1e-3),
                     width);
}

Record result_record(const RungResult& result, const LadderContext& context,
                     const Baselines& baselines) {
  Record record = rung_record(result.variant);
  record.set_all({{"is_peer", result.variant.is_peer},
                  {"is_copy", result.variant.is_copy},
                  {"verdict", measure::name_of(result.verdict)},
                  {"reason", result.reason},
                  {"note", result.note},
                  {"time_ms", Value()},
                  {"max_error", result.max_error}});
  if (result.counts) {
    record.set("counts", counts_record(*result.counts))
        .set("flops_per_requested_byte", result.counts->requested_intensity());
    let_counts(record, *result.counts);
  }
  if (result.timing) {
    const double ms = result.timing->median_ms();
    record.set_all({{"time_ms", ms},
                    {"fastest_ms", result.timing->fastest_ms()},
                    {"slowest_ms", result.timing->slowest_ms()},
                    {"samples", result.timing->samples_ms.size()},
                    {"flops_per_second", result.flops_per_second},
                    {"bytes_per_second", result.bytes_per_second}});
    if (baselines.peer_ms > 0.0) record.set("speed_over_peer", baselines.peer_ms / ms);
    if (baselines.copy_ms > 0.0) record.set("speed_over_copy", baselines.copy_ms / ms);
    record.let("rate", context.work.memory_bound
                           ? format_fixed(result.bytes_per_second * 1e-9, 1) + " GB/s"
                           : format_rate(result.flops_per_second, "FLOP/s"));
  }
  return record.let("instead", instead_of_figures(result, context));
}

Table result_table(const LadderContext& context) {
  Table table{.columns = {{"rung", left, 23, "{name}"}, {"verdict", left, 8, "{verdict}"}},
              .rows = {},
              .note = "{instead}",
              .note_from = 2};
  const std::vector<Column> times{{"time", right, 10, "{time_ms}"},
                                  {"rate", right, 15, "{rate?-}"},
                                  {"x peer", right, 8, "{speed_over_peer:.3f?-}"},
                                  context.work.memory_bound
                                      ? Column{"x copy", right, 9, "{speed_over_copy:.3f?-}"}
                                      : Column{"max error", right, 9, "{max_error:.2e?-}"}};
  const std::vector<Column> counts{
      {"requests", right, 8, "{requests:short}"},  {"/req", right, 5, "{per_request:.1f}"},
      {"waves", right, 6, "{wavefronts:short?-}"}, {"confl.", right, 6, "{conflicts:short?-}"},
      {"FFMA", right, 6, "{ffma:short?-}"},        {"FLOP/B", right, 7, "{intensity:.2f?-}"}};
  const std::vector<Column>& figures = context.counted ? counts : times;
  table.columns.insert(table.columns.end(), figures.begin(), figures.end());
  return table;
}

BarChart::Bar bar_of(const RungResult& result) {
  BarChart::Bar bar{.name = result.variant.name,
                    .verdict = std::string(measure::name_of(result.verdict)),
                    .remark = std::string(result.variant.idea),
                    .is_reference = result.variant.is_peer || result.variant.is_copy};
  if (result.verdict != Verdict::ok) {
    bar.label = fmt::format("{}: {}", bar.verdict, clipped(result.reason, 60));
  }
  return bar;
}

/// "x moves 12 times as much as y", for the longest and the shortest bar; empty if they are alike.
std::string extremes(const BarChart& chart, std::string_view words) {
  const BarChart::Bar *most = nullptr, *least = nullptr;
  for (const BarChart::Bar& bar : chart.bars) {
    if (bar.value <= 0.0) continue;
    if (most == nullptr || bar.value > most->value) most = &bar;
    if (least == nullptr || bar.value < least->value) least = &bar;
  }
  if (most == nullptr || most->value < 1.05 * least->value) return {};
  const double ratio = most->value / least->value;
  return fmt::format(fmt::runtime(words), most->name, format_fixed(ratio, ratio < 10.0 ? 1 : 0),
                     least->name);
}

/// " x wastes most: 1,852,000 of its 2,179,000 (red)."; empty if nothing is wasted.
std::string worst_waste(const BarChart& chart) {
  const auto worst = std::ranges::max_element(chart.bars, {}, &BarChart::Bar::wasted);
  if (worst == chart.bars.end() || worst->wasted <= 0.0) return {};
  return fmt::format(" {} wastes most: {} of its {} (red).", worst->name,
                     format_count(static_cast<std::uint64_t>(worst->wasted)),
                     format_count(static_cast<std::uint64_t>(worst->value)));
}

/// The rate of each rung.
BarChart rate_chart(const LadderContext& context, const std::vector<RungResult>& results) {
  BarChart chart{
      .title = "How fast each rung is",
      .axis =
          "Each row is a program (a rung) for the same result; the grey words say how it works. "
          "A tick: its result is right. Longer is better."};
  for (const RungResult& result : results) {
    BarChart::Bar& bar = chart.bars.emplace_back(bar_of(result));
    if (!result.timing) {
      if (bar.label.empty()) bar.label = "not timed";
      continue;
    }
    bar.value = context.work.memory_bound ? result.bytes_per_second : result.flops_per_second;
    bar.label =
        fmt::format("{}, {}", format_rate(bar.value, context.work.memory_bound ? "B/s" : "FLOP/s"),
                    format_duration(result.timing->median_ms() * 1e-3));
  }
  chart.summary = extremes(chart, "{} is {} times as fast as {}.");
  return chart;
}

/// A count of each rung, and the part of it that is waste. `compared`: the words of extremes().
template <typename Count, typename Waste>
BarChart count_chart(BarChart chart, const std::vector<RungResult>& results, Count&& count,
                     Waste&& waste, std::string_view compared) {
  bool is_empty = true;
  for (const RungResult& result : results) {
    if (!result.counts) continue;  // the table says why
    BarChart::Bar& bar = chart.bars.emplace_back(bar_of(result));
    const std::uint64_t all = count(*result.counts), lost = waste(*result.counts);
    is_empty = is_empty && all == 0;
    bar.value = static_cast<double>(all);
    bar.wasted = static_cast<double>(lost);
    bar.label = lost == 0 ? format_count(all)
                          : fmt::format("{}, {:.0f}% wasted", format_count(all),
                                        100.0 * bar.wasted / bar.value);
  }
  if (is_empty) chart.bars.clear();
  chart.summary = extremes(chart, compared) + worst_waste(chart);
  return chart;
}

void add_charts(Page& page, const LadderContext& context, const std::vector<RungResult>& results) {
  if (!context.counted) {
    page.figures.emplace_back(rate_chart(context, results));
    return;
  }
  BarChart charts[] = {
      count_chart(
          {.title = "Traffic to global memory",
           .axis = "Each row is a program (a rung) for the same result; the grey words say how "
                   "it works. A tick: its result is right. A bar is what it moves between "
                   "chip and memory, in sectors of 32 bytes: each takes time, so shorter is "
                   "better.",
           .use = "moved and used",
           .waste = "moved and thrown away"},
          results, [](const Counts& c) { return c.global().sectors; },
          [](const Counts& c) { return c.global().excessive(); },
          "For the same result {} moves {} times as much as {}."),
      count_chart(
          {.title = "Turns of shared memory",
           .axis = "A bar is how often the small memory on the chip must answer "
                   "(wavefronts): shorter is better.",
           .use = "needed",
           .waste = "lost to bank conflicts"},
          results, [](const Counts& c) { return c.shared().wavefronts; },
          [](const Counts& c) { return c.shared().conflicts(); },
          "For the same result {} takes {} times as many turns as {}."),
      count_chart(
          {.title = "Instructions",
           .axis = "A bar is how many instructions its warps run, groups of 32 "
                   "threads: shorter is better."},
          results, [](const Counts& c) { return c.instructions; },
          [](const Counts&) { return std::uint64_t{0}; },
          "For the same result {} runs {} times as many instructions as {}.")};
  for (BarChart& chart : charts) {
    if (!chart.bars.empty()) page.figures.emplace_back(std::move(chart));
  }
}

}  // namespace

Baselines baselines(const std::vector<RungResult>& results) {
  Baselines found;
  for (const RungResult& result : results) {
    if (!result.timing) continue;
    if (result.variant.is_peer && found.peer_ms == 0.0) found.peer_ms = result.timing->median_ms();
    if (result.variant.is_copy) found.copy_ms = result.timing->median_ms();
  }
  return found;
}

Page ladder_page(const LadderContext& context, const std::vector<RungResult>& results) {
  Page page("ladder");
  Table table = result_table(context);
  const auto count = [&](Verdict verdict) {
    return std::count_if(results.begin(), results.end(),
                         [verdict](const RungResult& r) { return r.verdict == verdict; });
  };
  for (const RungResult& result : results) {
    table.rows.push_back(result_record(result, context, baselines(results)));
  }
  page.data = {{"operation", context.operation},
               {"size", context.size},
               {"seed", context.seed},
               {"flops", context.work.flops},
               {"compulsory_bytes", context.work.bytes},
               {"device", device_record(context.device_id, context.device)},
               {"rungs", table.rows}};
  page.data.let("ok", count(Verdict::ok))
      .let("wrong", count(Verdict::wrong))
      .let("skipped", count(Verdict::skipped));
  add_charts(page, context, results);
  page.say("{operation} {size} on {device.id} ({device.name})");
  page.add(std::move(table));
  page.say("{ok} rung{ok:s} ok, {wrong} wrong, {skipped} skipped");
  for (const RungResult& result : results) {
    if (!result.note.empty() && result.verdict == Verdict::ok) {
      page.add(Text{fmt::format("{}: {}", result.variant.name, result.note), 2, 2});
    }
  }
  if (context.counted) {
    page.say(
        "These are counts of an emulated GPU, no times. requests: to global memory; /req:\n"
        "32-byte sectors each; waves: turns of shared memory, confl.: those lost to bank\n"
        "conflicts; FLOP/B: operations a byte requested of global memory.");
  }
  return page;
}

Page operation_list_page() {
  Page page("ladder");
  Table table{.columns = {{"", left, 12, "{name}"}, {"", left, 0, "{summary}"}},
              .rows = {},
              .has_head = false};
  for (const operations::RegisteredOperation& known : operations::registered_operations()) {
    table.rows.push_back({{"name", known.name}, {"summary", known.summary}});
  }
  page.data = {{"operations", table.rows}};
  page.add(std::move(table));
  return page;
}

Page rung_list_page(std::string_view operation, const std::vector<operations::VariantInfo>& rungs) {
  Page page("ladder");
  Table table{
      .columns = {{"", left, 24, "{name}"}, {"", left, 44, "{idea}"}, {"", left, 0, "{source}"}},
      .rows = {},
      .has_head = false};
  for (const operations::VariantInfo& rung : rungs) table.rows.push_back(rung_record(rung));
  page.data = {{"operation", operation}, {"rungs", table.rows}};
  page.add(std::move(table));
  return page;
}

}  // namespace tilescope::report

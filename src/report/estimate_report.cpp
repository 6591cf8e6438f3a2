#include "report/estimate_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"

namespace tilescope::report {

Value spread_value(const Spreads& spread) {
  if (spread.empty()) return {};
  const auto names = named_counts();
  Record record;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (spread[i] != 0) record.set(std::string(names[i].name), spread[i]);
  }
  return record;
}

namespace {

std::uint64_t last_counted(const LaunchCounts& counts, const BlockSample& sample) {
  return std::min(sample.last, counts.blocks - 1);
}

}  // namespace

Value estimate_value(const LaunchCounts& counts, const BlockSample& sample) {
  if (!counts.is_estimate()) return {};
  Record record{{"blocks_counted", counts.blocks_counted}, {"blocks", counts.blocks}};
  if (sample.is_random()) {
    record.set_all({{"seed", sample.seed}, {"confidence", 0.95}});
  } else {
    record.set_all({{"first", sample.first}, {"last", last_counted(counts, sample)}});
  }
  record.set("spread", spread_value(counts.spread));
  return record;
}

std::string estimate_sentence(const ExplainResult& result) {
  const BlockSample& sample = *result.sample;
  const std::string chosen = sample.is_random()
                                 ? fmt::format("drawn with seed {}", sample.seed)
                                 : fmt::format(
                                       "{} to {}, no random sample: how far the others differ is "
                                       "not known",
                                       sample.first, last_counted(result.counts, sample));
  return fmt::format(
      "~ estimates from {} of {} blocks, {}; instructions, branches, barriers and operations are "
      "exact",
      format_count(result.counts.blocks_counted), format_count(result.counts.blocks), chosen);
}

std::string range_sentence(const ExplainResult& result) {
  const std::uint64_t blocks = result.counts.blocks;
  if (!result.sample || result.sample->is_random() || result.sample->last < blocks || blocks == 0) {
    return {};
  }
  return fmt::format("the launch has blocks 0 to {}: {}", format_count(blocks - 1),
                     result.sample->first < blocks ? "the range ends there"
                                                   : "none is in the range, so all were counted");
}

void add_estimates(Page& page, const LaunchCounts& counts) {
  if (!counts.is_estimate() || counts.spread.empty()) return;
  Table table{.columns = {{"estimates", left, 32, "{name}"},
                          {"count", right, 15, "~{count}"},
                          {"95% within", right, 15, "+-{spread}"},
                          {"", right, 8, "{share:percent}"}},
              .rows = {},
              .indent = 2};
  const auto names = named_counts();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (counts.spread[i] == 0) continue;
    const std::uint64_t count = names[i].of(counts.totals);
    table.rows.push_back({{"name", names[i].name},
                          {"count", count},
                          {"spread", counts.spread[i]},
                          {"share", count == 0 ? Value()
                                               : Value(static_cast<double>(counts.spread[i]) /
                                                       static_cast<double>(count))}});
  }
  page.gap();
  if (table.rows.empty()) {
    page.add(
        Text{"every block that was counted gave the same counts, apart from borders of the "
             "grid",
             2, 2});
    return;
  }
  page.add(std::move(table));
}

}  // namespace tilescope::report

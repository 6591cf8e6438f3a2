#include "report/explain_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "inspect/results/explain_details.hpp"
#include "report/access_figure.hpp"
#include "report/advice.hpp"
#include "report/annotated_source.hpp"
#include "report/assumptions.hpp"
#include "report/block_figure.hpp"
#include "report/counts_report.hpp"
#include "report/device_report.hpp"
#include "report/estimate_report.hpp"
#include "report/inspection_outcome.hpp"
#include "report/kernel_report.hpp"
#include "report/lanes_report.hpp"
#include "report/phases_report.hpp"
#include "report/pipeline_report.hpp"
#include "report/program_report.hpp"
#include "report/source_figure.hpp"
#include "report/words/rules.hpp"
#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

List line_list(const LaunchCounts& counts, SourceTexts& sources) {
  List lines;
  for (const LineCounts& line : counts.lines) {
    Record record = counts_record(line.counts);
    record.set_all({{"file", line.place.file},
                    {"line", line.place.line},
                    {"source", sources.line(line.place.file, line.place.line)}});
    if (counts.is_estimate()) record.set("spread", spread_value(line.spread));
    lines.push_back(std::move(record));
  }
  return lines;
}

List advice_list(const std::vector<Advice>& advice) {
  List findings;
  for (const Advice& piece : advice) {
    findings.push_back(Record{{"kind", to_string(piece.kind)},
                              {"file", piece.place.file},
                              {"line", piece.place.line},
                              {"message", piece.message}});
  }
  return findings;
}

void add_advice(Page& page, const std::vector<Advice>& advice, const LaunchCounts& counts) {
  page.head("findings");
  if (advice.empty()) page.add(Text{no_advice(counts), 2, 2});
  for (const Advice& piece : advice) {
    const SourcePlace& at = piece.place;
    const std::string place =
        at.line == 0
            ? std::string()
            : fmt::format("{}:{}: ", at.file.empty() ? "PTX" : file_name(at.file), at.line);
    page.add(Text{place + piece.message, 2, 2});
  }
}

/// Faulty accesses and waits without end are no findings here: `check` names them.
Outcome outcome_of_counts(const ExplainResult& result, const std::vector<Advice>& advice,
                          SourceTexts& sources) {
  Outcome outcome = outcome_of(result);
  for (const Advice& piece : advice) {
    const SourcePlace& at = piece.place;
    outcome.annotations.push_back(
        {.severity = "note",
         .kind = std::string(to_string(piece.kind)),
         .rule = std::string(rule_of(piece.kind)),
         .test_case = outcome.target,
         .message = piece.message,
         .places = {{.file = at.file, .line = at.line, .source = sources.line(at.file, at.line)}}});
  }
  if (outcome.broken.empty()) outcome.broken = result.ran.message;
  if (outcome.broken.empty() && result.ran.deadlocked_blocks > 0) {
    outcome.broken = counted(result.ran.deadlocked_blocks, "block") + " never ended";
  }
  if (outcome.broken.empty() && result.ran.faults > 0) {
    outcome.broken = fmt::format("{} faulty access{}; see tilescope check", result.ran.faults,
                                 result.ran.faults == 1 ? "" : "es");
  }
  outcome.foot = fmt::format("{}, {}", counted(result.ran.launches, "launch"),
                             counted(result.ran.blocks, "block"));
  return outcome;
}

void add_remarks(Page& page, const RunSummary& ran) {
  if (ran.ending != Ending::complete || ran.deadlocked_blocks > 0) {
    page.gap();
    page.add(Text{"The counts are of a part of the run: " + ran.message});
  }
  if (ran.faults > 0) {
    page.gap();
    page.add(Text{ran.faults == 1 ? "1 access was faulty and left out; see tilescope check"
                                  : fmt::format("{} accesses were faulty and left out; see "
                                                "tilescope check",
                                                ran.faults)});
  }
}

/// The counter that shows what the weightiest advice is about.
std::string heat_of(const std::vector<Advice>& advice, const Counts& totals) {
  if (advice.empty()) return "instructions";
  switch (advice.front().kind) {
    case AdviceKind::bank_conflict:
      return totals.shared_load.conflicts() >= totals.shared_store.conflicts()
                 ? "shared_load_conflicts"
                 : "shared_store_conflicts";
    case AdviceKind::uncoalesced:
    case AdviceKind::split_rows:
    case AdviceKind::misaligned:
      return totals.global_load.sectors >= totals.global_store.sectors ? "global_load_sectors"
                                                                       : "global_store_sectors";
    case AdviceKind::local_memory:
      return "local_load_sectors";
    case AdviceKind::divergence:
      return "divergent_branches";
    case AdviceKind::shallow_pipeline:
      return "bulk_load_sectors";
    default:
      return "instructions";
  }
}

void add_figures(Page& page, const ExplainResult& result, const std::vector<Advice>& advice,
                 std::uint32_t line, SourceTexts& sources) {
  SourceFacts facts{.counts = &result.counts, .heat = heat_of(advice, result.counts.totals)};
  for (const Advice& piece : advice) {
    if (piece.place.line == 0) continue;
    facts.remarks[piece.place].push_back(
        {"advice", std::string(to_string(piece.kind)), piece.message});
  }
  for (const inspect::ExplainDetails::OfLaunch& launch : result.details->launches) {
    const std::string& kernel = launch.counted.kernel;
    if (std::ranges::find(facts.code, kernel, &KernelCode::kernel) != facts.code.end()) continue;
    facts.code.push_back({kernel, launch.code});
  }
  if (line == 0) add_source_figures(page, facts, sources);
  if (line == 0 && result.program && result.launches.size() > 1) {
    page.figures.emplace_back(launches_figure(result));
  }
  add_access_figures(page, *result.details, advice, line, sources);
  if (line == 0) add_block_figures(page, *result.details);
}

}  // namespace

Page explain_page(const ExplainResult& result, const ExplainWishes& wishes) {
  SourceTexts sources(result.sources);
  const std::vector<Advice> advice = advise(result);
  Page page("explain");
  // Different bytes of a sample tell nothing of those of all blocks.
  const auto unique = [&result](std::uint64_t bytes) {
    return result.counts.is_estimate() ? Value() : Value(bytes);
  };
  page.data = {{"target", result.target},
               {"device", device_record(result.device, result.properties)},
               {"complete", result.complete()},
               {"launches", result.ran.launches},
               {"blocks", result.ran.blocks},
               {"faults", result.ran.faults},
               {"unique_bytes_read", unique(result.counts.unique_bytes_read())},
               {"unique_bytes_written", unique(result.counts.unique_bytes_written())},
               {"totals", counts_record(result.counts.totals)},
               {"by_kernel", kernel_list(result)},
               {"lines", line_list(result.counts, sources)},
               {"pipelines", pipeline_list(result)},
               {"findings", advice_list(advice)}};
  if (result.sample) {
    page.data.set("estimate", estimate_value(result.counts, *result.sample));
  }
  page.data.set_all(assumptions(result));
  page.outcome = outcome_of_counts(result, advice, sources);
  page.outcome.file = wishes.file;
  if (result.program) {
    page.data.set_all(program_record(*result.program)).set("launches", launch_list(result));
  }
  if (wishes.pictures) add_figures(page, result, advice, wishes.lanes, sources);
  if (wishes.lanes != 0) {
    const Dim3 block = result.launches.empty() ? Dim3{} : result.launches.back().block;
    add_lanes(page, result.details->samples(), block, wishes.lanes, sources);
    if (wishes.phases) page.gap();
  }
  if (wishes.phases) add_phases(page, result.target + ", ", result.details->phases);
  if (!page.blocks.empty()) return page;
  page.say("explain {target} on {device.id}" + guesses(result));
  if (wishes.with_notes) {
    for (const std::string& note : result.notes) page.add(Text{"(" + note + ")"});
  }
  const bool is_sum = !result.program && result.ran.launches > 1;
  if (is_sum) page.say("(counts of {launches:plain} launches)");
  if (result.counts.is_estimate()) page.add(Text{estimate_sentence(result), 0, 2});
  if (const std::string beyond = range_sentence(result); !result.program && !beyond.empty()) {
    page.add(Text{beyond, 0, 2});
  }
  page.gap();
  if (result.program) add_launches(page, result);
  add_annotated_source(page, result.counts, sources);
  page.gap();
  page.head("totals");
  add_totals(page, result.counts);
  add_estimates(page, result.counts);
  add_resources(page, result);
  add_pipelines(page, result);
  page.gap();
  add_advice(page, advice, result.counts);
  add_remarks(page, result.ran);
  return page;
}

}  // namespace tilescope::report

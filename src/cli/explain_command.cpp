#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "cli/command.hpp"
#include "cli/emulated_target.hpp"
#include "cli/exit_code.hpp"
#include "observe/count/count_observer.hpp"
#include "observe/trace/lane_samples.hpp"
#include "observe/trace/phase_trace.hpp"
#include "report/advice.hpp"
#include "report/annotated_source.hpp"
#include "report/counts_report.hpp"
#include "report/device_report.hpp"
#include "report/lanes_report.hpp"
#include "report/phases_report.hpp"
#include "report/wrap.hpp"

namespace tilescope::cli {
namespace {

/// What the launches of a run gave.
struct Explained {
  observe::LaunchCounts counts;
  std::vector<observe::LaneSample> samples;
  Dim3 block;
  /// Of each launch, with its warp instructions.
  std::vector<std::pair<std::uint64_t, std::vector<report::Advice>>> advice_of;
  std::vector<report::Advice> advice;  ///< of the run
  observe::PhaseTrace trace;
  RunEnd end;
};

struct ExplainCommand {
  TargetArguments arguments;
  std::string json;
  std::uint32_t lanes = 0;
  bool phases = false;

  int run() const {
    EmulatedTarget target(arguments);
    target.require_launchable();
    const CancelScope cancel;
    Explained explained;
    explain(target, explained);
    explained.advice = merged(explained);
    const std::string drawn = drawing(target, explained);
    if (json != "-") print(drawn.empty() ? text(target, explained) : drawn);
    write_json(as_json(target, explained), json);
    const RunEnd& end = explained.end;
    if (end.end == emulator::LaunchEnd::cancelled) return CancelScope::exit_code();
    const bool failed = !end.complete() || end.faults > 0 || end.deadlocked_blocks > 0;
    return failed ? static_cast<int>(ErrorKind::wrong_result) : 0;
  }

  void explain(EmulatedTarget& target, Explained& explained) const {
    observe::CountObserver counter;
    observe::LaneSamples sampler;
    std::vector<emulator::Observer*> observers{&counter, &sampler};
    if (phases) observers.push_back(&explained.trace);
    target.run({.observers = std::move(observers),
                .print = [](std::string_view printed) { fmt::print(stderr, "{}", printed); },
                .after_launch =
                    [&](const emulator::LaunchSummary& summary) {
                      explained.end.add(summary);
                      take(explained, counter, sampler, target.sources());
                    }});
  }

  /// The one thing asked for instead of the page; empty without.
  std::string drawing(EmulatedTarget& target, const Explained& explained) const {
    std::string text;
    if (lanes != 0) {
      text = report::lanes_report(explained.samples, explained.block, lanes, target.sources());
    }
    if (phases) {
      text += fmt::format("{}{}, ", text.empty() ? "" : "\n", target.title()) +
              report::phases_report(explained.trace);
    }
    return text;
  }

  static void take(Explained& explained, const observe::CountObserver& counter,
                   const observe::LaneSamples& sampler, report::SourceTexts& sources) {
    report::add_launch(explained.counts, counter.result());
    explained.block = sampler.block();
    explained.samples.insert(explained.samples.end(), sampler.result().begin(),
                             sampler.result().end());
    explained.advice_of.push_back(
        {counter.result().totals.instructions,
         report::advise(counter.result(), sampler.result(), sampler.block(), sources)});
  }

  /// What launches say of the same line is said once, with the figures of the first; launches that
  /// are a small part of the run have no say.
  static std::vector<report::Advice> merged(const Explained& explained) {
    constexpr double least_share = 0.02;
    std::vector<report::Advice> all;
    for (const auto& [instructions, advice] : explained.advice_of) {
      const auto total = static_cast<double>(explained.counts.totals.instructions);
      if (static_cast<double>(instructions) < least_share * total) continue;
      const std::size_t known = all.size();
      for (const report::Advice& a : advice) {
        const bool is_known =
            std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(known),
                        [&](const auto& k) { return k.kind == a.kind && k.place == a.place; });
        if (!is_known) all.push_back(a);
      }
    }
    return all;
  }

  static report::PageStyle style() {
    constexpr int widest = 160;  // a longer line of source is no pleasure to read
    return {.columns = static_cast<std::size_t>(std::clamp(terminal_width(1), 80, widest)),
            .colour = use_colour(1)};
  }

  static std::string text(EmulatedTarget& target, const Explained& explained) {
    std::string text = fmt::format("explain {} on {}\n", target.title(), target.device().id());
    if (!target.note().empty()) text += fmt::format("({})\n", target.note());
    if (explained.end.launches > 1) {
      text += fmt::format("(counts of {} launches)\n", explained.end.launches);
    }
    text += '\n' + report::annotated_source(explained.counts, target.sources(), style());
    text += "\ntotals\n" + report::totals_text(explained.counts);
    text += "\nfindings\n";
    if (explained.advice.empty()) {
      text += "  " + report::hang(report::no_advice(explained.counts), 4, 76) + '\n';
    }
    for (const report::Advice& advice : explained.advice) {
      const SourcePlace& at = advice.place;
      const std::string place =
          at.line == 0
              ? std::string()
              : fmt::format("{}:{}: ", at.file.empty() ? "PTX" : report::file_name(at.file),
                            at.line);
      text += "  " + report::hang(place + advice.message, 4, 76) + '\n';
    }
    return text + remarks(explained.end);
  }

  static std::string remarks(const RunEnd& end) {
    std::string text;
    if (!end.complete() || end.deadlocked_blocks > 0) {
      text +=
          "\n" +
          report::hang(fmt::format("The counts are of a part of the run: {}", end.message), 0, 80) +
          '\n';
    }
    if (end.faults > 0) {
      text +=
          fmt::format("\n{} accesses were faulty and left out; see tilescope check\n", end.faults);
    }
    return text;
  }

  nlohmann::json as_json(EmulatedTarget& target, const Explained& explained) const {
    nlohmann::json lines = nlohmann::json::array();
    for (const observe::LineCounts& line : explained.counts.lines) {
      nlohmann::json entry = report::counts_json(line.counts);
      entry["file"] = line.place.file;
      entry["line"] = line.place.line;
      entry["source"] = target.sources().line(line.place.file, line.place.line);
      lines.push_back(std::move(entry));
    }
    nlohmann::json findings = nlohmann::json::array();
    for (const report::Advice& advice : explained.advice) {
      findings.push_back({{"kind", to_string(advice.kind)},
                          {"file", advice.place.file},
                          {"line", advice.place.line},
                          {"message", advice.message}});
    }
    nlohmann::json json_text{
        {"version", 1},
        {"command", "explain"},
        {"target", target.title()},
        {"device", report::device_json(target.device().id(), target.device().properties())},
        {"complete", explained.end.complete()},
        {"launches", explained.end.launches},
        {"blocks", explained.end.blocks},
        {"faults", explained.end.faults},
        {"unique_bytes_read", explained.counts.unique_bytes_read()},
        {"unique_bytes_written", explained.counts.unique_bytes_written()},
        {"totals", report::counts_json(explained.counts.totals)},
        {"lines", std::move(lines)},
        {"findings", std::move(findings)}};
    if (phases) json_text["phases"] = report::phases_json(explained.trace);
    if (lanes != 0) json_text["lanes"] = report::lanes_json(explained.samples, lanes);
    return json_text;
  }
};

}  // namespace

void register_explain(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<ExplainCommand>();
  CLI::App* sub = app.add_subcommand("explain", "Count sectors, conflicts and divergence by line");
  command->arguments.add_to(*sub);
  sub->add_option("--lanes", command->lanes,
                  "Draw one warp's access in this line: lanes to sectors or banks")
      ->check(CLI::Range(1, 10000000))
      ->type_name("LINE");
  sub->add_flag("--phases", command->phases,
                "The table of execution phases: who loads and computes what");
  add_json_option(*sub, command->json);
  sub->footer(
      "The kernel is emulated, no GPU is needed. The listing begins the hottest lines\n"
      "with '>'. \"ways\" is the worst bank conflict, 1 being none.\n"
      "\n"
      "Examples:\n"
      "  tilescope explain matmul/tiled_conflicts --tile 32\n"
      "  tilescope explain matmul/tiled --size 4 --tile 2 --phases\n"
      "  tilescope explain mine.cu --grid 4 --block 256 --arg 'x=f32[1000]=iota'\n"
      "      --arg i32:1000 --lanes 12");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli

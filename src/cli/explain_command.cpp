#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tilescope/explain.hpp>

#include "base/terminal.hpp"
#include "cli/command.hpp"
#include "cli/target_arguments.hpp"
#include "inspect/explain_details.hpp"
#include "report/advice.hpp"
#include "report/annotated_source.hpp"
#include "report/counts_report.hpp"
#include "report/device_report.hpp"
#include "report/lanes_report.hpp"
#include "report/phases_report.hpp"
#include "report/text/wrap.hpp"

namespace tilescope::cli {
namespace {

struct ExplainCommand {
  TargetArguments arguments;
  std::string json;
  std::uint32_t lanes = 0;
  bool phases = false;

  int run() const {
    const ExplainResult result = arguments.inspect([&](InspectOptions options) {
      options.phases = phases;
      return explain(arguments.target(), arguments.launch.description(), options);
    });
    const std::vector<Advice> advice = advise(result);
    report::SourceTexts sources(result.sources);
    const std::string drawn = drawing(result, sources);
    if (json != "-") print(drawn.empty() ? text(result, advice, sources) : drawn);
    write_json(as_json(result, advice, sources), json);
    if (result.ran.ending == Ending::interrupted) return CancelScope::exit_code();
    const bool right =
        result.complete() && result.ran.faults == 0 && result.ran.deadlocked_blocks == 0;
    return right ? 0 : static_cast<int>(ErrorKind::wrong_result);
  }

  /// The single requested drawing instead of the page; empty without.
  std::string drawing(const ExplainResult& result, report::SourceTexts& sources) const {
    std::string text;
    if (lanes != 0) {
      const Dim3 block = result.launches.empty() ? Dim3{} : result.launches.back().block;
      text = report::lanes_report(result.details->samples(), block, lanes, sources);
    }
    if (phases) {
      text += fmt::format("{}{}, ", text.empty() ? "" : "\n", result.target) +
              report::phases_report(result.details->phases);
    }
    return text;
  }

  static report::PageStyle style() {
    constexpr int widest = 160;  // a longer line of source is hard to read
    return {.columns = static_cast<std::size_t>(std::clamp(terminal_width(1), 80, widest)),
            .colour = use_colour(1)};
  }

  std::string text(const ExplainResult& result, const std::vector<Advice>& advice,
                   report::SourceTexts& sources) const {
    std::string text = fmt::format("explain {} on {}\n", result.target, result.device);
    if (!arguments.is_file()) {
      for (const std::string& note : result.notes) text += fmt::format("({})\n", note);
    }
    if (result.ran.launches > 1) {
      text += fmt::format("(counts of {} launches)\n", result.ran.launches);
    }
    text += '\n' + report::annotated_source(result.counts, sources, style());
    text += "\ntotals\n" + report::totals_text(result.counts);
    text += "\nfindings\n";
    if (advice.empty()) {
      text += "  " + report::hang(report::no_advice(result.counts), 4, 76) + '\n';
    }
    for (const Advice& piece : advice) {
      const SourcePlace& at = piece.place;
      const std::string place =
          at.line == 0
              ? std::string()
              : fmt::format("{}:{}: ", at.file.empty() ? "PTX" : report::file_name(at.file),
                            at.line);
      text += "  " + report::hang(place + piece.message, 4, 76) + '\n';
    }
    return text + remarks(result.ran);
  }

  static std::string remarks(const RunSummary& ran) {
    std::string text;
    if (ran.ending != Ending::complete || ran.deadlocked_blocks > 0) {
      text +=
          "\n" +
          report::hang(fmt::format("The counts are of a part of the run: {}", ran.message), 0, 80) +
          '\n';
    }
    if (ran.faults > 0) {
      text +=
          fmt::format("\n{} accesses were faulty and left out; see tilescope check\n", ran.faults);
    }
    return text;
  }

  nlohmann::json as_json(const ExplainResult& result, const std::vector<Advice>& advice,
                         report::SourceTexts& sources) const {
    nlohmann::json lines = nlohmann::json::array();
    for (const LineCounts& line : result.counts.lines) {
      nlohmann::json entry = report::counts_json(line.counts);
      entry["file"] = line.place.file;
      entry["line"] = line.place.line;
      entry["source"] = sources.line(line.place.file, line.place.line);
      lines.push_back(std::move(entry));
    }
    nlohmann::json findings = nlohmann::json::array();
    for (const Advice& piece : advice) {
      findings.push_back({{"kind", to_string(piece.kind)},
                          {"file", piece.place.file},
                          {"line", piece.place.line},
                          {"message", piece.message}});
    }
    nlohmann::json json_text{{"version", 1},
                             {"command", "explain"},
                             {"target", result.target},
                             {"device", report::device_json(result.device, result.properties)},
                             {"complete", result.complete()},
                             {"launches", result.ran.launches},
                             {"blocks", result.ran.blocks},
                             {"faults", result.ran.faults},
                             {"unique_bytes_read", result.counts.unique_bytes_read()},
                             {"unique_bytes_written", result.counts.unique_bytes_written()},
                             {"totals", report::counts_json(result.counts.totals)},
                             {"lines", std::move(lines)},
                             {"findings", std::move(findings)}};
    if (phases) json_text["phases"] = report::phases_json(result.details->phases);
    if (lanes != 0) json_text["lanes"] = report::lanes_json(result.details->samples(), lanes);
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
                "Print the table of execution phases: which thread loads and computes what");
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

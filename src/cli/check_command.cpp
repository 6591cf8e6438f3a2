#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tilescope/check.hpp>

#include "base/format.hpp"
#include "cli/command.hpp"
#include "cli/target_arguments.hpp"
#include "report/findings_report.hpp"
#include "report/text/wrap.hpp"

namespace tilescope::cli {
namespace {

struct CheckCommand {
  TargetArguments arguments;
  std::string json;
  bool allow_warnings = false;

  int run() const {
    const CheckResult result = arguments.inspect([&](const InspectOptions& options) {
      return check(arguments.target(), arguments.launch.description(), options);
    });
    report::SourceTexts sources(result.sources);
    if (json != "-") print(text(result, sources));
    write_json(as_json(result, sources), json);
    if (result.ran.ending == Ending::interrupted) return CancelScope::exit_code();
    const bool no_errors =
        std::none_of(result.findings.begin(), result.findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::error; });
    const bool passed = allow_warnings ? result.complete() && no_errors : result.clean();
    return passed ? 0 : static_cast<int>(ErrorKind::wrong_result);
  }

  static std::string text(const CheckResult& result, report::SourceTexts& sources) {
    std::string text = fmt::format("check {} on {}\n", result.target, result.device);
    text += report::findings_text(result.findings, sources);
    const std::string foot = report::findings_foot(result.findings);
    if (result.ran.ending == Ending::refused) return text + foot + '\n';
    if (result.limitation != Limitation::none) {
      text += report::hang(message(result.limitation), 0, 80) + '\n';
    }
    if (result.ran.ending == Ending::interrupted) {
      text += "interrupted: the findings so far\n";
    }
    return text + fmt::format("{}; {} block{}, {} warp instructions{}\n", foot,
                              format_count(result.ran.blocks), result.ran.blocks == 1 ? "" : "s",
                              format_count(result.ran.warp_instructions),
                              result.complete() ? "" : " (a part of the run)");
  }

  static nlohmann::json as_json(const CheckResult& result, report::SourceTexts& sources) {
    return {{"version", 1},
            {"command", "check"},
            {"target", result.target},
            {"device", result.device},
            {"complete", result.complete()},
            {"limitation", message(result.limitation)},
            {"launches", result.ran.launches},
            {"blocks", result.ran.blocks},
            {"warp_instructions", result.ran.warp_instructions},
            {"reports", report::findings_json(result.findings, sources)}};
  }
};

}  // namespace

void register_check(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<CheckCommand>();
  CLI::App* sub = app.add_subcommand("check", "Find races, bad accesses, hanging barriers");
  command->arguments.add_to(*sub);
  sub->add_flag("--allow-warnings", command->allow_warnings,
                "Exit with 0 when there are warnings but no errors");
  add_json_option(*sub, command->json);
  sub->footer(
      "The kernel is emulated, no GPU is needed; what it prints goes to standard error.\n"
      "Exit code 1 when anything is found, or with --allow-warnings when an error is.\n"
      "\n"
      "Examples:\n"
      "  tilescope check matmul/tiled --tile 16 --size 100\n"
      "  tilescope check mine.cu --grid 4 --block 256 --arg 'x=f32[1000]=iota'\n"
      "      --arg i32:1000");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "base/signals.hpp"
#include "cli/command.hpp"
#include "cli/emulated_target.hpp"
#include "cli/exit_code.hpp"
#include "observe/check/check_observer.hpp"
#include "observe/findings.hpp"
#include "report/device_report.hpp"
#include "report/findings_report.hpp"
#include "report/wrap.hpp"

namespace tilescope::cli {
namespace {

/// What the launches of a run gave.
struct Checked {
  std::vector<Finding> findings;
  std::string limitation;
  RunEnd end;
  bool refused = false;  ///< the launch cannot be made
};

struct CheckCommand {
  TargetArguments arguments;
  std::string json;

  int run() const {
    EmulatedTarget target(arguments);
    const CancelScope cancel;
    const Checked checked = check(target);
    if (json != "-") print(text(target, checked));
    write_json(as_json(target, checked), json);
    if (checked.end.end == emulator::LaunchEnd::cancelled) return CancelScope::exit_code();
    const bool failed = !checked.findings.empty() || !checked.end.complete();
    return failed ? static_cast<int>(ErrorKind::wrong_result) : 0;
  }

  Checked check(EmulatedTarget& target) const {
    Checked checked;
    try {
      target.require_launchable();
    } catch (const Error& error) {
      checked.refused = true;
      checked.findings.push_back(
          {.kind = FindingKind::illegal_launch, .facts = LaunchRefusal{error.what()}});
      return checked;
    }
    observe::CheckObserver checker;
    target.run({.observers = {&checker},
                .print = [](std::string_view printed) { fmt::print(stderr, "{}", printed); },
                .after_launch =
                    [&](const emulator::LaunchSummary& summary) {
                      checked.end.add(summary);
                      checked.findings.insert(checked.findings.end(), checker.findings().begin(),
                                              checker.findings().end());
                      if (checked.limitation.empty()) checked.limitation = checker.limitation();
                    }});
    observe::fold(checked.findings);
    if (arguments.target.ends_with(".ptx")) {
      for (Finding& finding : checked.findings) {
        place_in_ptx(finding.first);
        if (finding.second) place_in_ptx(*finding.second);
      }
    }
    if (!is_kernel_file(arguments.target)) {
      // Ours write nothing where there is nothing to write: a list of one element backwards.
      std::erase_if(checked.findings, [](const Finding& finding) {
        return finding.kind == FindingKind::wrote_nothing;
      });
    }
    return checked;
  }

  /// PTX without a line table is its own source.
  void place_in_ptx(FindingAccess& access) const {
    if (access.place.line == 0) access.place = {arguments.target, access.ptx_line};
  }

  static std::string text(EmulatedTarget& target, const Checked& checked) {
    std::string text = fmt::format("check {} on {}\n", target.title(), target.device().id());
    text += report::findings_text(checked.findings, target.sources());
    if (checked.refused) return text + report::findings_foot(checked.findings) + '\n';
    if (!checked.limitation.empty()) text += report::hang(checked.limitation, 0, 80) + '\n';
    const bool interrupted = checked.end.end == emulator::LaunchEnd::cancelled;
    if (interrupted) text += "interrupted: what was found until then\n";
    text +=
        fmt::format("{}; {} block{}, {} warp instructions{}\n",
                    report::findings_foot(checked.findings), format_count(checked.end.blocks),
                    checked.end.blocks == 1 ? "" : "s", format_count(checked.end.warp_instructions),
                    checked.end.complete() ? "" : " (a part of the run)");
    return text;
  }

  static nlohmann::json as_json(EmulatedTarget& target, const Checked& checked) {
    return {{"version", 1},
            {"command", "check"},
            {"target", target.title()},
            {"device", target.device().id()},
            {"complete", checked.end.complete() && !checked.refused},
            {"limitation", checked.limitation},
            {"launches", checked.end.launches},
            {"blocks", checked.end.blocks},
            {"warp_instructions", checked.end.warp_instructions},
            {"reports", report::findings_json(checked.findings, target.sources())}};
  }
};

}  // namespace

void register_check(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<CheckCommand>();
  CLI::App* sub = app.add_subcommand("check", "Find races, bad accesses, hanging barriers");
  command->arguments.add_to(*sub);
  add_json_option(*sub, command->json);
  sub->footer(
      "The kernel is emulated, no GPU is needed; what it prints goes to standard error.\n"
      "Exit code 1 when anything is found.\n"
      "\n"
      "Examples:\n"
      "  tilescope check matmul/tiled --tile 16 --size 100\n"
      "  tilescope check mine.cu --grid 4 --block 256 --arg 'x=f32[1000]=iota'\n"
      "      --arg i32:1000");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli

#include <tilescope/check.hpp>
#include <tilescope/error.hpp>

#include "cli/budget_arguments.hpp"
#include "cli/command.hpp"
#include "cli/show.hpp"
#include "cli/target_arguments.hpp"
#include "inspect/program/launch_selection.hpp"
#include "report/findings_report.hpp"

namespace tilescope::cli {
namespace {

struct CheckCommand {
  TargetArguments arguments;
  BudgetArguments budgets;
  Outputs outputs;
  std::string suppress, resume;
  bool allow_warnings = false;
  int schedules = 1;
  std::uint64_t schedule = 0, max_findings = 0;
  CLI::Option* schedule_given = nullptr;

  void declare(const Options& add) {
    arguments.declare(add);
    add("--allow-warnings", allow_warnings, "Exit with 0 when there are warnings but no errors");
    add("--suppress FILE.json", suppress, "Findings that the project accepts, and its severities");
    add("--schedules N", schedules,
        "Run each launch in N orders of warps, blocks and bulk copies, and compare the results",
        within(1, 100'000));
    schedule_given = add("--schedule SEED", schedule,
                         "Run in one of these orders alone, by the seed that a report names");
    add("--max-findings N", max_findings,
        "Stop after N different findings (0: never), notes not counted, and say what was left out",
        up_to(std::uint64_t{1} << 32U));
    add("--resume FILE", resume,
        "Of a program: keep what is found in FILE until it has ended, and go on from there when a "
        "run was cut short");
    budgets.declare(add);
    add.outputs(outputs);
    add.trace(outputs.trace);
    add.format(outputs.format);
  }

  int run() const {
    if (schedule_given->count() > 0 && schedules > 1) {
      throw Error(ErrorKind::usage, "--schedules and --schedule exclude each other");
    }
    if (!outputs.trace.empty() && schedules > 1) {
      throw Error(ErrorKind::usage,
                  "--trace and --schedules exclude each other; --schedule SEED traces one order");
    }
    if (max_findings != 0 && !suppress.empty()) {
      throw Error(ErrorKind::usage,
                  "--max-findings and --suppress exclude each other: suppressed findings would "
                  "count");
    }
    const report::Budget budget(budgets);
    std::optional<inspect::Suppressions> suppressions;
    if (!suppress.empty()) suppressions.emplace(suppress);
    CheckResult result = arguments.inspect([&](InspectOptions options) {
      options.schedules = static_cast<std::uint64_t>(schedules);
      if (schedule_given->count() > 0) options.schedule = schedule;
      options.max_findings = max_findings;
      options.resume = resume;
      options.trace = !outputs.trace.empty();
      return check(arguments.target(), arguments.description(), options);
    });
    if (suppressions) suppressions->apply(result);
    report::Page page =
        report::check_page(result, {.suppressions = suppressions ? &*suppressions : nullptr,
                                    .file = arguments.file(),
                                    .allow_warnings = allow_warnings,
                                    .pictures = !outputs.html.empty()});
    budget.judge(page);
    write_trace(result, outputs);
    show(page, outputs);
    inspect::require_selected(result);
    if (result.ran.ending == Ending::interrupted) return CancelScope::exit_code();
    const bool by_itself = !result.left_out;  // a check that has enough ends the program
    if (by_itself && result.program && result.program->signal != 0)
      return result.program->exit_code;
    return result.complete() && page.outcome.passes() ? 0
                                                      : static_cast<int>(ErrorKind::wrong_result);
  }
};

}  // namespace

const Command check_command{
    "check", "Find races, bad accesses, hanging barriers", declare<CheckCommand>,
    "The GPU is emulated, none is needed; what is printed goes to standard error.\n"
    "Of a program every launch is watched, and its host code; words after -- are its\n"
    "arguments.\n"
    "Exit code 1 when anything but notes is found, or with --allow-warnings an error,\n"
    "and when a program launches no kernel.",
    "tilescope check vector_add.cu -- 1000\n"
    "tilescope check matmul/tiled --tile 16 --size 100\n"
    "tilescope check race.cu --launch launch.json --html page.html\n"
    "tilescope check reduce/one_pass --schedules 32\n"
    "tilescope check solver.cu --max-findings 3 --launches 0,10-12,smooth:2\n"
    "tilescope check solver.cu --resume solver.kept -- 1000\n"
    "tilescope check mine.cu --grid 4 --block 256 --arg 'x=f32[1000]=iota'\n"
    "    --arg i32:1000"};

}  // namespace tilescope::cli

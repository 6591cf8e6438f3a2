#include <tilescope/check.hpp>

#include "cli/budget_arguments.hpp"
#include "cli/command.hpp"
#include "cli/show.hpp"
#include "cli/target_arguments.hpp"
#include "report/findings_report.hpp"

namespace tilescope::cli {
namespace {

struct CheckCommand {
  TargetArguments arguments;
  BudgetArguments budgets;
  Outputs outputs;
  std::string suppress;
  bool allow_warnings = false;

  void declare(const Options& add) {
    arguments.declare(add);
    add("--allow-warnings", allow_warnings, "Exit with 0 when there are warnings but no errors");
    add("--suppress FILE.json", suppress, "Findings that the project accepts, and its severities");
    budgets.declare(add);
    add.outputs(outputs);
    add.format(outputs.format);
  }

  int run() const {
    const report::Budget budget(budgets);
    std::optional<inspect::Suppressions> suppressions;
    if (!suppress.empty()) suppressions.emplace(suppress);
    CheckResult result = arguments.inspect([&](const InspectOptions& options) {
      return check(arguments.target(), arguments.description(), options);
    });
    if (suppressions) suppressions->apply(result);
    report::Page page =
        report::check_page(result, {.suppressions = suppressions ? &*suppressions : nullptr,
                                    .file = arguments.file(),
                                    .allow_warnings = allow_warnings,
                                    .pictures = !outputs.html.empty()});
    budget.judge(page);
    show(page, outputs);
    if (result.ran.ending == Ending::interrupted) return CancelScope::exit_code();
    if (result.program && result.program->signal != 0) return result.program->exit_code;
    return result.complete() && passes(page.outcome, outputs)
               ? 0
               : static_cast<int>(ErrorKind::wrong_result);
  }
};

}  // namespace

const Command check_command{
    "check", "Find races, bad accesses, hanging barriers", declare<CheckCommand>,
    "The GPU is emulated, none is needed; what is printed goes to standard error.\n"
    "Of a program every launch is watched, and its host code; words after -- are its\n"
    "arguments.\n"
    "Exit code 1 when anything but notes is found, or with --allow-warnings an error.",
    "tilescope check vector_add.cu -- 1000\n"
    "tilescope check matmul/tiled --tile 16 --size 100\n"
    "tilescope check race.cu --launch launch.json --html page.html\n"
    "tilescope check mine.cu --grid 4 --block 256 --arg 'x=f32[1000]=iota'\n"
    "    --arg i32:1000"};

}  // namespace tilescope::cli

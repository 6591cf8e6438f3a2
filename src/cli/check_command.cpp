#include <fmt/format.h>

#include <algorithm>
#include <tilescope/check.hpp>
#include <tilescope/error.hpp>

#include "cli/command.hpp"
#include "cli/show.hpp"
#include "cli/target_arguments.hpp"
#include "report/findings_report.hpp"

namespace tilescope::cli {
namespace {

struct CheckCommand {
  TargetArguments arguments;
  std::string json;
  bool allow_warnings = false;
  int schedules = 1;
  std::uint64_t schedule = 0;
  CLI::Option* schedule_given = nullptr;

  void declare(const Options& add) {
    arguments.declare(add);
    add("--allow-warnings", allow_warnings, "Exit with 0 when there are warnings but no errors");
    add("--schedules N", schedules,
        "Run each launch in N orders of warps, blocks and bulk copies, and compare the results",
        within(1, 100'000));
    schedule_given = add("--schedule SEED", schedule,
                         "Run in one of these orders alone, by the seed that a report names");
    add.json(json);
  }

  int run() const {
    if (schedule_given->count() > 0 && schedules > 1) {
      throw Error(ErrorKind::usage, "--schedules and --schedule exclude each other");
    }
    const CheckResult result = arguments.inspect([&](InspectOptions options) {
      options.schedules = static_cast<std::uint64_t>(schedules);
      if (schedule_given->count() > 0) options.schedule = schedule;
      return check(arguments.target(), arguments.description(), options);
    });
    show(report::check_page(result), json);
    if (result.ran.ending == Ending::interrupted) return CancelScope::exit_code();
    const bool no_errors =
        std::none_of(result.findings.begin(), result.findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::error; });
    if (result.program && result.program->signal != 0) return result.program->exit_code;
    const bool passed = allow_warnings ? result.complete() && no_errors : result.clean();
    return passed ? 0 : static_cast<int>(ErrorKind::wrong_result);
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
    "tilescope check reduce/one_pass --schedules 32\n"
    "tilescope check mine.cu --grid 4 --block 256 --arg 'x=f32[1000]=iota'\n"
    "    --arg i32:1000"};

}  // namespace tilescope::cli

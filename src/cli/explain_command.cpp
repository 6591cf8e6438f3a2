#include <fmt/format.h>

#include <algorithm>
#include <tilescope/explain.hpp>

#include "base/terminal.hpp"
#include "cli/budget_arguments.hpp"
#include "cli/command.hpp"
#include "cli/show.hpp"
#include "cli/target_arguments.hpp"
#include "inspect/program/launch_selection.hpp"
#include "report/explain_report.hpp"

namespace tilescope::cli {
namespace {

struct ExplainCommand {
  TargetArguments arguments;
  BudgetArguments budgets;
  Outputs outputs;
  std::uint32_t lanes = 0;
  bool phases = false;
  std::string blocks;

  void declare(const Options& add) {
    arguments.launch.takes_number = true;
    arguments.declare(add);
    add("--lanes LINE", lanes, "Draw one warp's access in this line: lanes to sectors or banks",
        within(1, 10000000));
    add("--phases", phases,
        "Print the table of execution phases: which thread loads and computes what");
    add("--blocks SAMPLE", blocks,
        "Count only 64 blocks, 5%, 64:SEED or the range 0-63, and estimate the counts of all");
    budgets.declare(add);
    add.outputs(outputs);
    add.trace(outputs.trace);
    add.format(outputs.format);
  }

  int run() const {
    if (!blocks.empty() && (!budgets.assertions.empty() || !budgets.baseline.empty())) {
      throw Error(ErrorKind::usage,
                  "--blocks gives estimates, and --assert and --baseline need exact counts");
    }
    const report::Budget budget(budgets);
    const ExplainResult result = arguments.inspect([&](InspectOptions options) {
      options.phases = phases;
      if (!blocks.empty()) options.blocks = parse_block_sample(blocks);
      options.pictures = !outputs.html.empty();
      options.trace = !outputs.trace.empty();
      if (const auto number = arguments.launch.number()) {
        options.launches.push_back({.kernel = {}, .first = *number, .last = *number});
      }
      return explain(arguments.target(), arguments.description(), options);
    });
    report::Page page = report::explain_page(result, {.file = arguments.file(),
                                                      .lanes = lanes,
                                                      .phases = phases,
                                                      .pictures = !outputs.html.empty(),
                                                      .with_notes = !arguments.is_file()});
    budget.judge(page);
    write_trace(result, outputs);
    show(page, outputs, style());
    inspect::require_selected(result);
    if (result.ran.ending == Ending::interrupted) return CancelScope::exit_code();
    if (result.program && result.program->signal != 0) return result.program->exit_code;
    const bool right = page.outcome.passes() && result.complete();
    return right ? 0 : static_cast<int>(ErrorKind::wrong_result);
  }

  static report::TextStyle style() {
    constexpr int widest = 160;  // a longer line of source is no pleasure to read
    return {.columns = static_cast<std::size_t>(std::clamp(terminal_width(1), 80, widest)),
            .colour = use_colour(1)};
  }
};

}  // namespace

const Command explain_command{
    "explain", "Count sectors, conflicts and divergence by line", declare<ExplainCommand>,
    "The GPU is emulated, none is needed. Of a program all launches are counted, or\n"
    "those that --launches names; words after -- are its arguments. The listing\n"
    "begins the hottest lines with '>'. \"ways\" is the worst bank conflict, 1 being\n"
    "none. Estimates of --blocks are marked by ~.",
    "tilescope explain vector_add.cu -- 1000\n"
    "tilescope explain matmul/tiled_conflicts --tile 32 --html page.html\n"
    "tilescope explain matmul/tiled --size 4 --tile 2 --phases\n"
    "tilescope explain matmul/tiled --size 1024 --blocks 100\n"
    "tilescope explain solver.cu --launches 0,10-12,smooth:2\n"
    "tilescope explain mine.cu --grid 4 --block 256 --arg 'x=f32[1000]=iota'\n"
    "    --arg i32:1000 --lanes 12"};

}  // namespace tilescope::cli

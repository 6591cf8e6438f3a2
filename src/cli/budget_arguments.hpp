// The options of check and explain that make a verdict of a report.
#pragma once

#include "cli/options.hpp"
#include "report/budget_report.hpp"

namespace tilescope::cli {

struct BudgetArguments : report::BudgetWishes {
  void declare(const Options& options) {
    const Options add = options.in_group("Budgets");
    add("--assert CONDITION", assertions,
        "Fail unless it holds: 'shared_load_conflicts == 0', 'k.cu:25 sectors_per_request <= 4', "
        "'kernel:scale barriers < 9'; the counters are those of explain --json",
        one_at_a_time);
    add("--baseline FILE.json", baseline,
        "Fail if a count has grown since this report of --json, or a finding is new");
    add("--tolerance COUNTER=P%", tolerances, "How much a count may grow", one_at_a_time);
  }
};

}  // namespace tilescope::cli

// Budgets of a run: assertions about its counters, and a former report that it must not exceed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/compare/assertion.hpp"
#include "report/compare/comparison.hpp"
#include "report/page/page.hpp"

namespace tilescope::report {

struct BudgetWishes {
  std::vector<std::string> assertions;  ///< as Assertion takes them
  std::string baseline;                 ///< a file of --json; empty: none
  std::vector<std::string> tolerances;  ///< "counter=5%", of growth beyond the baseline
};

class Budget {
 public:
  /// Reads everything, so that mistakes show before the run. Throws Error(usage) for what is no
  /// assertion or tolerance, Error(bad_input) for a baseline that cannot be used.
  explicit Budget(const BudgetWishes& wishes);

  /// Adds a verdict on each budget to `page`, and makes those that fail annotations. A run that
  /// says too little fails all. With a baseline, findings of `check` that it has do not fail.
  /// Throws Error(usage) if the baseline is that of another run.
  void judge(Page& page) const;

 private:
  struct Verdict;
  Verdict judge(const Assertion& assertion, const Snapshot& now, const Comparison* moved) const;
  Verdict judge_counters(const Comparison& moved) const;
  static Verdict judge_findings(Page& page, const Comparison& moved);
  void require_same_run(const Snapshot& now) const;
  bool exceeds(const Move& move) const;

  std::vector<Assertion> assertions_;
  std::optional<Snapshot> baseline_;
  std::map<std::string, double> tolerances_;  ///< shares
};

}  // namespace tilescope::report

// The page of `check`: each finding with its source lines, its threads and what would cure it.
#pragma once

#include <tilescope/check.hpp>
#include <vector>

#include "inspect/results/suppressions.hpp"
#include "report/page/page.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

/// Writes out only the first few of one kind about the same variable.
void add_findings(Page& page, const std::vector<Finding>& findings, SourceTexts& sources);

struct CheckWishes {
  const inspect::Suppressions* suppressions = nullptr;  ///< that were applied
  std::string file = {};                                ///< of the target; empty: it is none
  bool allow_warnings = false;                          ///< warnings do not make the command fail
  bool pictures = false;  ///< add figures, for a renderer with graphics
};

Page check_page(const CheckResult& result, const CheckWishes& wishes = {});

}  // namespace tilescope::report

// The page of `explain`: the source with its counts, the totals, advice; or one thing drawn.
#pragma once

#include <cstdint>
#include <string>
#include <tilescope/explain.hpp>

#include "report/page/page.hpp"

namespace tilescope::report {

struct ExplainWishes {
  std::string file = {};    ///< of the target; empty: it is none
  std::uint32_t lanes = 0;  ///< draw the accesses of this line instead of the page
  bool phases = false;      ///< show the table of phases instead of the page
  bool pictures = false;    ///< add figures, for a renderer with graphics
  bool with_notes = true;   ///< say what was taken for options that were not given
};

/// Errors: usage for a line without accesses and for a kernel without phases.
Page explain_page(const ExplainResult& result, const ExplainWishes& wishes = {});

}  // namespace tilescope::report

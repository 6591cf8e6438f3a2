// Sources for the page in a browser: lines with counts, remarks and instructions.
#pragma once

#include <map>
#include <string>
#include <tilescope/counts.hpp>
#include <vector>

#include "observe/trace/code_lines.hpp"
#include "report/page/page.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

struct SourceFacts {
  const LaunchCounts* counts = nullptr;      ///< null: nothing was counted
  std::string heat = "instructions";         ///< the counter to begin with
  std::vector<observe::CodeLine> code = {};  ///< the kernel's instructions
  std::map<SourcePlace, std::vector<SourceView::Remark>> remarks = {};
};

/// Adds a view for each file with counts or remarks. A long file is cut to their surroundings.
void add_source_figures(Page& page, const SourceFacts& facts, SourceTexts& sources);

}  // namespace tilescope::report

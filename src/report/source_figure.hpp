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

/// The instructions of one kernel.
struct KernelCode {
  std::string kernel;
  std::vector<observe::CodeLine> lines;
};

struct SourceFacts {
  const LaunchCounts* counts = nullptr;  ///< null: nothing was counted
  std::string heat = "instructions";     ///< the counter to begin with
  std::vector<KernelCode> code = {};
  std::map<SourcePlace, std::vector<SourceView::Remark>> remarks = {};
};

/// Adds a view for each file with counts or remarks, beside the instructions of its kernels. A long
/// file is cut to what surrounds its counts and remarks.
void add_source_figures(Page& page, const SourceFacts& facts, SourceTexts& sources);

}  // namespace tilescope::report

// A source with the counts of each line beside it, as a profiler's source page has them.
#pragma once

#include <cstddef>
#include <string>

#include "observe/count/counts.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

struct PageStyle {
  std::size_t columns = 80;
  bool colour = false;
};

/// Every file that has counts, from a little before its first counted line to its last. Columns:
/// share of the warp instructions; sectors of global and local memory and how many a request;
/// wavefronts of shared memory and the worst n-way access; share of the branches that diverge.
/// Columns that nothing in the launch fills are left out. The hottest lines begin with '>'.
std::string annotated_source(const LaunchCounts& counts, SourceTexts& sources,
                             const PageStyle& style = {});

}  // namespace tilescope::report

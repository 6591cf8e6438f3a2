// The counts of a histogram, with bars.
#pragma once

#include <tilescope/histogram.hpp>

#include "report/page/page.hpp"

namespace tilescope::report {

/// Adds all bins if there are few, else the fullest. `bins` and `type` are those of the result.
void add_histogram(Page& page, const HistogramResult& result, const Bins& bins, DataType type);

}  // namespace tilescope::report

// The pages of `tune`.
#pragma once

#include <tilescope/tuning.hpp>
#include <vector>

#include "report/page/page.hpp"

namespace tilescope::report {

/// Adds one product to the page's `products`: its candidates in the order in which they were
/// measured, and what is taken.
void add_tuning(Page& page, const TuneReport& report);

/// The tuned products on file, device after device.
Page tuned_page(const std::vector<TunedMatmul>& products);

}  // namespace tilescope::report

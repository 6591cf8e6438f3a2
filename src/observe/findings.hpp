// Folds findings about the same defect into one.
#pragma once

#include <vector>

#include "tilescope/finding.hpp"

namespace tilescope::observe {

/// Whether both are about the same defect: kind, pair of source lines and object.
bool is_same_defect(const Finding& a, const Finding& b);

/// Findings about the same defect become one, with the counts added; sorted by kind (causes before
/// what they lead to), file and line.
void fold(std::vector<Finding>& findings);

/// Adds the folded findings of one more schedule of the same launch. A defect that is known keeps
/// its example, and this seed is added to its schedules.
void merge_schedule(std::vector<Finding>& findings, const std::vector<Finding>& of_schedule,
                    std::uint64_t seed);

}  // namespace tilescope::observe

// Folds findings about the same defect into one.
#pragma once

#include <vector>

#include "tilescope/finding.hpp"

namespace tilescope::observe {

/// Findings of the same kind and object with the same pair of source lines become one, with the
/// counts added; sorted by kind, file and line.
void fold(std::vector<Finding>& findings);

}  // namespace tilescope::observe

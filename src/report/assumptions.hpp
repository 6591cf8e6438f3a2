// The assumptions of a result besides the source: guessed values of its launch, unset variables.
#pragma once

#include <string>
#include <tilescope/inspection.hpp>

#include "report/page/value.hpp"

namespace tilescope::report {

/// "; guessed: grid, n" for a report's first line; empty without guesses.
std::string guesses(const Inspection& result);

/// The values `guessed` and `unset`, lists of names.
Record assumptions(const Inspection& result);

}  // namespace tilescope::report

// The part of an outcome that check and explain have in common.
#pragma once

#include <string>
#include <tilescope/inspection.hpp>

#include "report/page/outcome.hpp"

namespace tilescope::report {

/// Target and test cases. `broken` is set for a run that was cut short without a finding that says
/// so, and for a program that launched nothing.
Outcome outcome_of(const Inspection& result);

/// The test case of a finding: the kernel in a program, else the target as a whole.
std::string test_case_of(const Inspection& result, const std::string& kernel);

}  // namespace tilescope::report

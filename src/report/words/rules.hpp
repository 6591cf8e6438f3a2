// The rule behind each kind of finding and of advice, in one sentence, for tools that list rules.
#pragma once

#include <string_view>
#include <tilescope/explain.hpp>
#include <tilescope/finding.hpp>

namespace tilescope::report {

std::string_view rule_of(FindingKind kind);
std::string_view rule_of(AdviceKind kind);

}  // namespace tilescope::report

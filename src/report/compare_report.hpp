// The page of `compare`: what moved between two reports, line by line.
#pragma once

#include "report/compare/comparison.hpp"
#include "report/page/page.hpp"

namespace tilescope::report {

Page compare_page(const Snapshot& before, const Snapshot& after);

/// "shared_load_conflicts 0 -> 992": a move in words.
std::string move_text(const Move& move);
/// A counter for people: "1,024", "4.25".
std::string counter_text(double value);

}  // namespace tilescope::report

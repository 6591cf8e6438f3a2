// The sentence for launches without advice; advise() itself is public.
#pragma once

#include <string>
#include <tilescope/explain.hpp>

namespace tilescope::report {

/// "none: ..." with the figures behind it, for a launch without advice.
std::string no_advice(const LaunchCounts& counts);

}  // namespace tilescope::report

// The page of `run`: the launch, its time, and the first elements of every array.
#pragma once

#include <tilescope/run.hpp>

#include "report/page/page.hpp"

namespace tilescope::report {

Page run_page(const RunResult& result);

}  // namespace tilescope::report

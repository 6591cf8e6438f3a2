// A run as a trace of Chrome's format, which Perfetto and speedscope open.
#pragma once

#include <string>
#include <tilescope/inspection.hpp>

namespace tilescope::report {

/// The launches in their order, below each its first blocks with a track for each warp, and the
/// waits of warps at barriers. A program has its launches alone. Times are counts of work, shown as
/// microseconds: of warps those of observe/trace/warp_course.hpp, of a program's launches the warp
/// instructions. A GPU has one slice for all launches, in true microseconds. `run`: of
/// InspectOptions::trace.
std::string render_trace(const Inspection& run);

}  // namespace tilescope::report

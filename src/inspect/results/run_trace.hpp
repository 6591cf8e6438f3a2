// The launches of a run in their order, with the course of their first blocks, for a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "observe/trace/warp_course.hpp"
#include "tilescope/launch.hpp"

namespace tilescope::inspect {

struct RunTrace {
  struct OfLaunch {
    std::string kernel;
    Dim3 grid, block;
    std::uint64_t warp_instructions = 0;              ///< 0 on a GPU
    std::vector<observe::CourseOfBlock> blocks = {};  ///< the first ones; none on a GPU
  };
  std::vector<OfLaunch> launches;
  std::optional<double> time_ms;  ///< of all of them, on a GPU
};

/// Adds each emulated launch, those of kernels included, to a trace.
class TraceRecorder final : public observe::WarpCourse {
 public:
  const RunTrace& trace() const { return trace_; }

  void begin_launch(const emulator::LaunchInfo& launch) override;
  void end_launch(const emulator::LaunchTotals& totals) override;

 private:
  RunTrace trace_;
};

}  // namespace tilescope::inspect

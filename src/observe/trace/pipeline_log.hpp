// The log of a block's mbarriers, in order, and the pipelines that follow from it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tilescope/pipeline.hpp>
#include <vector>

#include "emulator/program.hpp"

namespace tilescope::observe {

struct PipelineEvent {
  enum class Kind : std::uint8_t {
    armed,       ///< the phase expects bytes
    issued,      ///< a bulk copy that completes on the barrier
    arrived,     ///< a thread
    phase_over,  ///< all has come
    waits,       ///< a warp has found the phase unfinished
    passed,      ///< a warp has found the phase before over
    used,        ///< a warp has read or written what copies of the barrier brought
    met,         ///< a warp has come to a barrier of the block that is now complete
    left,        ///< a warp continues behind it
  };
  static constexpr std::uint32_t kOtherBlock = ~0u;  ///< the warp is one of another block

  Kind kind;
  std::uint32_t warp;
  std::uint32_t barrier;  ///< offset in shared memory, or the number of a barrier of the block
  std::uint32_t instruction;
  std::uint32_t bytes;
};

/// The variable that holds a barrier.
struct BarrierVariable {
  std::string name;
  bool dynamic = false;  ///< all of dynamic shared memory
};

struct PipelineLog {
  /// Longer runs are cut; their first part shows the pipeline.
  static constexpr std::size_t kMostEvents = 1u << 18;

  std::vector<PipelineEvent> events;
  std::map<std::uint32_t, BarrierVariable> variables;  ///< of the barriers that copies complete on

  void add(const PipelineEvent& event) {
    if (events.size() < kMostEvents) events.push_back(event);
  }
};

std::vector<Pipeline> pipelines_of(const PipelineLog& log, const emulator::Program& program);

}  // namespace tilescope::observe

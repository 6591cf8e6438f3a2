// The cost of divergence: lanes that wait while others of their warp run the code that a branch
// guards.
#pragma once

#include <cstdint>
#include <map>

#include "emulator/events.hpp"
#include "emulator/program.hpp"
#include "ptx/control_flow.hpp"

namespace tilescope::observe {

class DivergenceCost {
 public:
  /// Both must outlive it.
  DivergenceCost(const emulator::Program& program, const emulator::InstructionCounts& counts)
      : program_(program), counts_(counts) {}

  /// Lane slots left empty between the branch and the place where its lanes meet again, or the end
  /// of the function: the lanes that a warp begins with, less those that were active, over all
  /// executions. If branches nest, the inner one's slots are also the outer one's.
  std::uint64_t idle_lanes(emulator::InstructionId branch);

 private:
  const ptx::ControlFlow& flow_of(std::uint32_t function);

  const emulator::Program& program_;
  const emulator::InstructionCounts& counts_;
  std::map<std::uint32_t, ptx::ControlFlow> flows_;
};

}  // namespace tilescope::observe

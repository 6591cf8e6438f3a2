#include "observe/count/divergence_cost.hpp"

#include <vector>

namespace tilescope::observe {

const ptx::ControlFlow& DivergenceCost::flow_of(std::uint32_t function) {
  const auto found = flows_.find(function);
  if (found != flows_.end()) return found->second;
  return flows_[function] = ptx::build_control_flow(*program_.functions()[function].source);
}

std::uint64_t DivergenceCost::idle_lanes(emulator::InstructionId branch) {
  const emulator::InstructionInfo& info = program_.instruction(branch);
  const ptx::ControlFlow& flow = flow_of(info.function);
  const std::uint32_t start = flow.block_of[info.index];
  const std::uint32_t meeting = flow.blocks[start].immediate_post_dominator;
  // All blocks between the branch and the place where its lanes meet.
  std::vector<bool> inside(flow.blocks.size(), false);
  std::vector<std::uint32_t> todo = flow.blocks[start].successors;
  while (!todo.empty()) {
    const std::uint32_t block = todo.back();
    todo.pop_back();
    if (block == meeting || inside[block]) continue;
    inside[block] = true;
    todo.insert(todo.end(), flow.blocks[block].successors.begin(),
                flow.blocks[block].successors.end());
  }
  const emulator::InstructionId first = branch - info.index;  // of the function
  if (counts_.executed[first] == 0) return 0;
  const double lanes = double(counts_.active[first]) / double(counts_.executed[first]);
  double idle = 0;
  for (std::uint32_t block = 0; block < flow.blocks.size(); ++block) {
    if (!inside[block]) continue;
    for (std::uint32_t i = flow.blocks[block].begin; i < flow.blocks[block].end; ++i) {
      const double missing =
          lanes * double(counts_.executed[first + i]) - double(counts_.active[first + i]);
      if (missing > 0) idle += missing;
    }
  }
  return static_cast<std::uint64_t>(idle);
}

}  // namespace tilescope::observe

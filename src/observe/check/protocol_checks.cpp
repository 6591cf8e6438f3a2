#include "observe/check/protocol_checks.hpp"

#include <algorithm>

namespace tilescope::observe {

void ProtocolChecks::begin_block(const emulator::BlockInfo& block) {
  mbarriers.begin_block(block);
  named.begin_block(block.linear);
  pool.begin_block(block.linear);
  tiles.begin_block(block);
  grid.begin_block(block.linear);
}

void ProtocolChecks::use(const emulator::MbarrierUse& use) {
  mbarriers.use(use);
  if (use.passed) grid.learn(use.origin.warp);
}

void ProtocolChecks::end_block(bool complete) {
  mbarriers.end_block(complete);
  pool.end_block(complete);
}

bool ProtocolChecks::deadlock(const emulator::Deadlock& deadlock) {
  const auto explained = [&](const emulator::StuckLanes& lanes) {
    return lanes.reason == emulator::StuckReason::barrier && named.explains(lanes.barrier);
  };
  return mbarriers.deadlock(deadlock) ||
         std::any_of(deadlock.stuck.begin(), deadlock.stuck.end(), explained);
}

void ProtocolChecks::merge(const ProtocolChecks& other) {
  mbarriers.merge(other.mbarriers);
  named.merge(other.named);
  pool.merge(other.pool);
  tiles.merge(other.tiles);
  grid.merge(other.grid);
}

void ProtocolChecks::describe(const Describer& describer, std::vector<Finding>& findings) const {
  mbarriers.log().describe(describer, findings);
  named.describe(describer, findings);
  pool.describe(describer, findings);
  tiles.describe(describer, findings);
  grid.describe(describer, findings);
}

}  // namespace tilescope::observe

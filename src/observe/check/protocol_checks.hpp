// The checks of a block's protocols, one file each, behind the events that they share.
#pragma once

#include <vector>

#include "emulator/events.hpp"
#include "observe/check/grid_waits.hpp"
#include "observe/check/mbarrier_protocol.hpp"
#include "observe/check/named_barrier_uses.hpp"
#include "observe/check/register_pool.hpp"
#include "observe/check/tile_uses.hpp"

namespace tilescope::observe {

struct ProtocolChecks {
  /// `before`: what the launch before has written, where this one may overlap it.
  ProtocolChecks(const emulator::LaunchInfo& launch, const Stretches& before)
      : mbarriers(launch), pool(launch), tiles(launch), grid(launch, before) {}

  void use(const emulator::MbarrierUse& use);
  void begin_block(const emulator::BlockInfo& block);
  void end_block(bool complete);
  /// True if a mistake with a barrier that was found explains the hang.
  bool deadlock(const emulator::Deadlock& deadlock);
  void merge(const ProtocolChecks& other);
  void describe(const Describer& describer, std::vector<Finding>& findings) const;

  MbarrierProtocol mbarriers;
  NamedBarrierUses named;
  RegisterPool pool;
  TileUses tiles;
  GridWaits grid;
};

}  // namespace tilescope::observe

// The events of protocols: what becomes of an mbarrier, fences between proxies, tiles and their
// swizzles, registers that warps pass on, and grids that wait for the grid before.
#pragma once

#include <cstdint>

#include "emulator/bulk_events.hpp"
#include "emulator/mbarrier_word.hpp"

namespace tilescope::emulator {

enum class MbarrierAction : std::uint8_t {
  init,
  invalidate,
  expect,    ///< of `bytes`, without an arrival
  arrive,    ///< `count` arrivals, which may expect `bytes` first
  drop,      ///< likewise, and they stay away from later phases
  announce,  ///< a copy of `bytes` that will complete on the barrier has been issued
  complete,  ///< `bytes` have come
  test,      ///< lanes ask whether a phase is over
};

/// One operation on an mbarrier. The observers of the block that holds the barrier receive it,
/// whoever acts.
struct MbarrierUse {
  BulkOrigin origin;  ///< the thread; of the engine's actions the one that issued the copy
  MbarrierAction action;
  std::uint32_t offset;  ///< of the barrier in shared memory
  MbarrierWord before, after;
  std::uint32_t count = 0;
  std::uint32_t bytes = 0;
  // The rest is set where the action is a test.
  std::uint32_t lanes = 0;  ///< that ask for the same phase of the same barrier
  std::uint32_t parity = 0;
  bool passed = false;    ///< that phase is over
  bool by_token = false;  ///< the token of an arrival names the phase, else a parity

  bool ends_phase() const { return before.parity() != after.parity(); }
};

enum class ProxyFenceKind : std::uint8_t {
  async,               ///< fence.proxy.async
  mbarrier_init,       ///< fence.mbarrier_init
  tensor_map_release,  ///< fence.proxy.tensormap::generic, and tensormap.cp_fenceproxy
  tensor_map_acquire,
  other,
};

/// A fence between the ways in which memory is reached. It orders earlier inits of mbarriers too.
struct ProxyFence {
  std::uint32_t instruction;
  std::uint32_t warp;
  std::uint32_t mask;
  ProxyFenceKind kind;
  std::uint64_t map = 0;  ///< generic address of the tensor map that the lanes acquire
};

/// A tile of shared memory: the copy engine will write it, or a matrix product reads it. The former
/// goes to the observers of the block that receives it.
struct TileUse {
  BulkOrigin origin;
  bool copied;                ///< else it is operand `operand` of wgmma
  std::uint64_t begin, end;   ///< offsets in shared memory; of an operand only the begin
  std::uint32_t span;         ///< bytes within which chunks of 16 are swizzled; 16: they are not
  std::uint32_t base_offset;  ///< as in MatrixDescriptor
  char operand = ' ';
};

/// setmaxnreg: a warp passes registers on to others of its block, or takes some.
struct RegisterChange {
  std::uint32_t instruction;
  std::uint32_t warp;
  std::uint32_t mask;
  std::uint32_t registers;  ///< per thread, from now on
  bool increases;
};

/// A thread launches a grid, not into the tail stream. Told with kOrder.
struct GridLaunch {
  std::uint32_t instruction;
  std::uint32_t warp;
  std::uint64_t number;  ///< LaunchInfo::child of the launch
};

/// griddepcontrol.wait or .launch_dependents.
struct GridDependency {
  std::uint32_t instruction;
  std::uint32_t warp;
  std::uint32_t mask;
  bool waits;
};

}  // namespace tilescope::emulator

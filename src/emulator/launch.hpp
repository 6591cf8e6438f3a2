// The options of a launch and its summary.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/events.hpp"

namespace tilescope::emulator {

struct LaunchSummary;

struct LaunchOptions {
  unsigned threads = 0;                       ///< host threads; 0: one for each core
  std::uint64_t max_instructions = 0;         ///< warp instructions; 0: no limit
  std::vector<Observer*> observers;           ///< not owned
  const std::atomic<bool>* cancel = nullptr;  ///< becoming true ends the launch soon
  bool cooperative = false;                   ///< grid-wide synchronisation allowed
  bool overlaps_previous = false;             ///< as in Launch
  std::uint64_t child = 0;                    ///< as in LaunchInfo
  Dim3 cluster = {};                          ///< blocks; one: as the kernel declares it
  /// Seed of the order in which blocks, warps and copies run (launch_schedule.hpp); 0: the usual
  /// one.
  std::uint64_t schedule = 0;
  bool interpret = false;  ///< without compiled code
  /// Receives what kernels print, in the order of blocks. Null: standard output.
  std::function<void(std::string_view)> print;
  /// Receives now and then how many blocks of the first grid are done, from any host thread.
  std::function<void(std::uint64_t)> progress;
  /// Called after each grid, those included that kernels launch; false: no further ones run.
  std::function<bool(const LaunchSummary&)> after_grid;
};

/// Limits of what kernels may take, as cudaDeviceSetLimit sets them.
struct KernelLimits {
  std::uint64_t heap_bytes = 8 * 1024 * 1024;  ///< for malloc
  std::uint64_t pending_launches = 2048;       ///< that the kernel of one grid may make
};

/// The same fault of the same instruction, folded.
struct FaultRecord {
  FaultKind kind;
  InstructionId instruction;
  std::uint64_t count = 0;  ///< lanes
  std::string text;         ///< the first in block order: one line with place, block and thread
  std::uint64_t block = 0;  ///< the block of the text
};

struct LaunchSummary {
  LaunchEnd end = LaunchEnd::complete;
  double seconds = 0;
  std::uint64_t blocks_run = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;  ///< active lanes, guarded-off ones included
  std::uint64_t deadlocked_blocks = 0;
  std::uint64_t fault_count = 0;    ///< lanes
  std::vector<FaultRecord> faults;  ///< by instruction
  std::string message;   ///< if end is not `complete`, or a block deadlocked: what happened
  TrapPlace trap{};      ///< if end is `trapped`
  unsigned threads = 1;  ///< host threads that ran it
  bool complete() const { return end == LaunchEnd::complete && deadlocked_blocks == 0; }
};

}  // namespace tilescope::emulator

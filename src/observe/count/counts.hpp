// What a profiler counts, per instruction, per source line and in total. Plain values, in Nsight
// Compute's words:
//   request     one warp instruction with at least one participating lane
//   sector      a 32-byte block of global or local memory that a request touches
//   wavefront   one turn of shared memory's 32 banks
//   ideal       sectors if the same bytes lay side by side; wavefronts without bank conflicts
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "observe/count/footprint.hpp"
#include "observe/count/operation_kind.hpp"
#include "observe/source_place.hpp"

namespace tilescope::observe {

/// Requests to global or local memory.
struct SectorCounts {
  std::uint64_t requests = 0;
  std::uint64_t sectors = 0;
  std::uint64_t ideal_sectors = 0;

  double per_request() const {
    return requests == 0 ? 0 : static_cast<double>(sectors) / static_cast<double>(requests);
  }
  std::uint64_t excessive() const { return sectors - ideal_sectors; }
  SectorCounts& operator+=(const SectorCounts& other);
  friend bool operator==(const SectorCounts&, const SectorCounts&) = default;
};

/// Requests to shared memory. A group of accesses that the chip executes as one is one request.
struct WavefrontCounts {
  std::uint64_t requests = 0;
  std::uint64_t wavefronts = 0;
  std::uint64_t ideal_wavefronts = 0;
  std::uint32_t ways = 0;  ///< the worst request: n words (atomics: lanes) in one bank

  std::uint64_t conflicts() const { return wavefronts - ideal_wavefronts; }
  WavefrontCounts& operator+=(const WavefrontCounts& other);
  friend bool operator==(const WavefrontCounts&, const WavefrontCounts&) = default;
};

struct Counts {
  std::uint64_t instructions = 0;         ///< executed by warps, of the PTX
  std::uint64_t thread_instructions = 0;  ///< active lanes of those, guarded-off ones included
  std::uint64_t guarded_on = 0;           ///< active lanes whose guard held

  SectorCounts global_load;  ///< cp.async included
  SectorCounts global_store;
  SectorCounts global_atomic;     ///< those that return the old value
  SectorCounts global_reduction;  ///< atomic changes whose old value nobody uses
  SectorCounts local_load;
  SectorCounts local_store;
  WavefrontCounts shared_load;  ///< ldmatrix included
  WavefrontCounts shared_store;
  WavefrontCounts shared_atomic;
  WavefrontCounts shared_async;  ///< the writes of cp.async

  std::uint64_t branches = 0;  ///< conditional ones, executed by warps
  std::uint64_t divergent_branches = 0;
  std::uint64_t barriers = 0;  ///< bar.*, executed by warps
  OperationCounts operations;

  /// Everything that went to global memory, or to shared memory.
  SectorCounts global() const;
  WavefrontCounts shared() const;
  /// Floating point operations per byte of the global sectors that were requested; 0 without any.
  double requested_intensity() const;

  Counts& operator+=(const Counts& other);
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// A warp whose lanes went different ways at a branch.
struct DivergedWarp {
  std::uint64_t block = 0;  ///< linear
  std::uint32_t warp = 0;
  emulator::LaneMask active = 0;
  emulator::LaneMask taken = 0;
  bool backward = false;         ///< the branch closes a loop
  std::uint64_t idle_lanes = 0;  ///< of all warps, by DivergenceCost
};

struct InstructionCount {
  emulator::InstructionId id = 0;
  SourcePlace place;
  Counts counts;
  std::optional<DivergedWarp> diverged;  ///< the lowest block's lowest warp that did, first time
};

struct LineCounts {
  SourcePlace place;
  Counts counts;
};

struct LaunchCounts {
  std::string kernel;
  Counts totals;
  std::vector<LineCounts> lines;  ///< by file and line; lines that never ran are left out
  std::vector<InstructionCount> instructions;  ///< by id; those that never ran are left out
  std::vector<FootprintOf> footprint;          ///< by address
  bool complete = true;                        ///< false: the launch was cut short

  std::uint64_t unique_bytes_read() const;
  std::uint64_t unique_bytes_written() const;
  /// Floating point operations per byte that had to move, each byte once; 0 without traffic.
  double compulsory_intensity() const;
};

}  // namespace tilescope::observe

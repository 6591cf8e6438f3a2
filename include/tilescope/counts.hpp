// The counts of a profiler, per source line and in total. Plain values, in Nsight Compute's terms:
//   request     one warp instruction with at least one participating lane
//   sector      a 32-byte block of global or local memory that a request touches
//   wavefront   one turn of shared memory's 32 banks
//   ideal       sectors if the same bytes were contiguous; wavefronts without bank conflicts
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilescope/finding.hpp"
#include "tilescope/launch.hpp"

namespace tilescope {

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

/// Bulk and tensor copies (cp.async.bulk). Each thread that issues one is a request; a copy to
/// several blocks of a cluster is one too.
struct BulkCounts {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;  ///< to or from global memory; what lies outside a tensor is left out
  /// Sectors that cross between the L2 cache and the SM, as the chip counts them: zeros for what
  /// lies outside a tensor are among a load's, and a copy to several blocks counts in each.
  std::uint64_t sectors = 0;

  BulkCounts& operator+=(const BulkCounts& other);
  friend bool operator==(const BulkCounts&, const BulkCounts&) = default;
};

/// Requests of a unit that counts no ideal: the texture unit, the network between the blocks of a
/// cluster.
struct UnitCounts {
  std::uint64_t requests = 0;
  std::uint64_t sectors = 0;

  UnitCounts& operator+=(const UnitCounts& other);
  friend bool operator==(const UnitCounts&, const UnitCounts&) = default;
};

/// Arithmetic by kind, each count in thread instructions whose guard held (a packed f16x2 operation
/// counts once). Divisions, roots and the like count as `special`: the chip executes each as one
/// approximation and a few fused operations around it, which are not counted.
struct OperationCounts {
  std::uint64_t ffma = 0, fadd = 0, fmul = 0;  ///< 32-bit
  std::uint64_t dfma = 0, dadd = 0, dmul = 0;  ///< 64-bit
  std::uint64_t hfma = 0, hadd = 0, hmul = 0;  ///< 16-bit, bfloat16 included
  std::uint64_t special = 0;                   ///< sin, ex2, rcp, div, sqrt, ...
  std::uint64_t integer = 0;                   ///< add, mul, shifts, logic, min, max, ...
  std::uint64_t tensor = 0;        ///< warp instructions: mma, and wgmma for each of the four warps
  std::uint64_t tensor_bytes = 0;  ///< of shared memory that wgmma reads
  /// Floating point operations: fused ones are 2, packed ones count each element.
  std::uint64_t fp32_flops = 0, fp64_flops = 0, fp16_flops = 0, tensor_flops = 0;

  std::uint64_t flops() const { return fp32_flops + fp64_flops + fp16_flops + tensor_flops; }
  OperationCounts& operator+=(const OperationCounts& other);
  friend bool operator==(const OperationCounts&, const OperationCounts&) = default;
};

/// The counts of an instruction, a line, a launch or a run.
struct Counts {
  std::uint64_t instructions = 0;         ///< executed by warps, of the PTX
  std::uint64_t thread_instructions = 0;  ///< their active lanes, guarded-off ones included
  std::uint64_t guarded_on = 0;           ///< active lanes whose guard held

  SectorCounts global_load;  ///< cp.async included
  SectorCounts global_store;
  SectorCounts global_atomic;     ///< atomics that return the old value
  SectorCounts global_reduction;  ///< atomic changes whose old value is unused
  SectorCounts local_load;
  SectorCounts local_store;
  WavefrontCounts shared_load;  ///< ldmatrix included
  WavefrontCounts shared_store;
  WavefrontCounts shared_atomic;
  WavefrontCounts shared_async;  ///< the writes of cp.async
  BulkCounts bulk_load;          ///< global to shared memory
  BulkCounts bulk_store;         ///< shared to global memory
  BulkCounts bulk_reduction;     ///< the same, combined with what is there
  BulkCounts bulk_exchange;      ///< between blocks of a cluster; no sectors

  UnitCounts texture;  ///< tex and tld4
  UnitCounts surface;  ///< loads and stores of surfaces
  // Distributed shared memory: that of other blocks of the cluster.
  UnitCounts dshared_load;
  UnitCounts dshared_store;            ///< st.async included
  UnitCounts dshared_atomic;           ///< atom and red
  UnitCounts dshared_async_reduction;  ///< red.async

  std::uint64_t branches = 0;  ///< conditional branches, executed by warps
  std::uint64_t divergent_branches = 0;
  std::uint64_t barriers = 0;  ///< bar.*, executed by warps
  OperationCounts operations;

  /// Everything that went to global memory, or to shared memory.
  SectorCounts global() const;
  WavefrontCounts shared() const;
  /// Floating point operations per byte of the requested global sectors; 0 without any.
  double requested_intensity() const;

  Counts& operator+=(const Counts& other);
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// One of the counts under its name in JSON, such as "global_load_sectors".
struct NamedCount {
  std::string_view name;
  std::uint64_t (*of)(const Counts& counts);
};

/// All names, in the order of Counts:
///
///     for (const NamedCount& count : named_counts()) {
///       std::cout << count.name << ' ' << count.of(result.counts.totals) << '\n';
///     }
std::span<const NamedCount> named_counts();

/// The half-widths of 95% intervals around estimated counts, in the order of named_counts(): the
/// true count lies between count - spread and count + spread 19 times out of 20. 0: exact, or alike
/// in all blocks that were counted. Empty: nothing is estimated.
using Spreads = std::vector<std::uint64_t>;

/// The counts of a source line, wherever the compiler put its instructions.
struct LineCounts {
  SourcePlace place;
  Counts counts;
  Spreads spread = {};
};

/// Bytes of one allocation that a launch touched.
struct BufferTraffic {
  std::string name;
  std::uint64_t bytes = 0;    ///< size of the allocation
  std::uint64_t read = 0;     ///< different bytes read (atomics read and write)
  std::uint64_t written = 0;  ///< different bytes written
};

/// The counts of one launch, or of several that were added up.
struct LaunchCounts {
  std::string kernel;
  Dim3 grid, block;
  Counts totals;
  std::vector<LineCounts> lines;         ///< by file and line; lines that never ran are left out
  std::vector<BufferTraffic> footprint;  ///< by address; untouched buffers are left out
  bool complete = true;                  ///< false: a launch was cut short
  /// Blocks that were counted, and all that ran. If they differ, counts are estimates: scaled from
  /// those blocks, but for instructions, branches, barriers and operations, which are exact. The
  /// footprint is empty then.
  std::uint64_t blocks_counted = 0, blocks = 0;
  Spreads spread = {};  ///< of the totals

  bool is_estimate() const { return blocks_counted < blocks; }

  std::uint64_t unique_bytes_read() const;
  std::uint64_t unique_bytes_written() const;
  /// Floating point operations per byte moved, each byte once; 0 without traffic.
  double compulsory_intensity() const;

  /// Adds another launch of the same run: lines by place, footprints by allocation. Kernel, grid
  /// and block stay those of the first.
  LaunchCounts& operator+=(const LaunchCounts& launch);
};

}  // namespace tilescope

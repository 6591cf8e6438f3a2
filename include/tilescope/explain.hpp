// Counts what a profiler would count on each line of a kernel, by running it on the emulated GPU.
//
//     const tilescope::ExplainResult result =
//         tilescope::explain(tilescope::LadderRung{.name = "matmul/tiled_16"});
//     for (const tilescope::LineCounts& line : result.counts.lines) {
//       std::cout << line.place.file << ':' << line.place.line << ": "
//                 << line.counts.global_load.sectors << " sectors\n";
//     }
//     for (const tilescope::Advice& advice : tilescope::advise(result)) {
//       std::cout << advice.message << '\n';
//     }
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilescope/counts.hpp"
#include "tilescope/inspection.hpp"
#include "tilescope/launch_description.hpp"
#include "tilescope/pipeline.hpp"

namespace tilescope {

namespace inspect {
struct ExplainDetails;
}

/// The resources of a kernel's compiled code, and of a launch of it.
struct LaunchResources {
  std::string kernel;
  int registers_per_thread = 0;              ///< 0: not known, the source was PTX
  std::uint64_t local_bytes_per_thread = 0;  ///< arrays and spilled registers
  std::uint64_t static_shared_bytes = 0;     ///< per block
  std::uint64_t dynamic_shared_bytes = 0;
  std::uint64_t threads_per_block = 0;

  friend bool operator==(const LaunchResources&, const LaunchResources&) = default;
};

/// The result of explain().
struct ExplainResult : Inspection {
  LaunchCounts counts;                     ///< the sum of all launches
  std::vector<LaunchCounts> launches;      ///< each launch by itself, in order
  std::vector<LaunchResources> resources;  ///< of different launches; empty for a program
  std::optional<BlockSample> sample;       ///< as InspectOptions::blocks
  std::vector<Pipeline> pipelines;         ///< of each kernel, in its first launch that has some
  /// Single accesses and instructions, from which advice and drawings are made.
  std::shared_ptr<const inspect::ExplainDetails> details;
};

/// Runs the kernel and counts. Faulty accesses are left out; Inspection::ran has their number.
///
/// Errors: as check(), and usage for a launch that the device forbids.
ExplainResult explain(const Target& target, const LaunchDescription& launch = {},
                      const InspectOptions& options = {});

enum class AdviceKind : std::uint8_t {
  uncoalesced,       ///< neighbouring threads access addresses far apart
  split_rows,        ///< a warp spans several short rows of the block
  misaligned,        ///< neighbours, but off the start of a sector
  narrow,            ///< a byte or two a thread
  contended_atomic,  ///< many lanes change the same word
  bank_conflict,
  local_memory,
  divergence,
  partial_warps,
  shallow_pipeline,  ///< too few bulk copies are under way at once
};

/// "uncoalesced", "bank-conflict", ...: the name in reports and JSON.
std::string_view to_string(AdviceKind kind);

/// A cost of a line in time, and its cure.
struct Advice {
  AdviceKind kind = AdviceKind::uncoalesced;
  SourcePlace place;    ///< line 0: about the launch as a whole
  std::string message;  ///< sentences, without the place
  double weight = 0.0;  ///< its share of the launch's cost of this kind, 0 to 1
};

/// Explains the counts in words, the costliest first. Advice that several launches give about a
/// line appears once; nothing below 2% of its kind of traffic is mentioned.
std::vector<Advice> advise(const ExplainResult& result);

}  // namespace tilescope

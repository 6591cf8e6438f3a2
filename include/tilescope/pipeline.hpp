// Pipelines of bulk and tensor copies: stages of shared memory that copies fill in turns, each with
// an mbarrier that says when it is full.
//
// The emulator has no time. It knows what must happen before what, and from that follows how far
// the producer may run ahead: how many copies are under way at once if they take long.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilescope/finding.hpp"

namespace tilescope {

/// One filling of a stage, which is one phase of its mbarrier.
struct PipelinePhase {
  std::uint32_t stage = 0;
  std::uint64_t bytes = 0;
  /// Fillings that may be full or under way when this one is issued, itself included: those whose
  /// data nothing before has used.
  std::uint32_t ahead = 0;
  /// Those among `ahead` that may still be under way: nothing before has waited for them.
  std::uint32_t under_way = 0;
  /// Stages that had been filled, or were being filled, when the first consumer came for this one.
  /// Unlike `ahead` it depends on the order in which the emulator runs warps.
  std::uint32_t ready = 0;
  bool producer_waited = false;  ///< in that order, until a stage was free
  bool consumer_waited = false;  ///< in that order, until the copy was issued
};

/// A pipeline of block 0. Barriers belong to one if the same instruction, line or variable feeds
/// or holds them.
struct Pipeline {
  std::string kernel;
  std::string barrier;  ///< the variable that holds the first one
  SourcePlace issue;    ///< the first copy
  SourcePlace wait;     ///< the first consumer's wait; line 0: there is none
  std::uint32_t stages = 0;
  std::vector<PipelinePhase> phases;  ///< in the order of issue

  /// The most phases that may be full or under way at once. 1: nothing is under way while data are
  /// used.
  std::uint32_t depth() const;
  /// The most bytes that may be under way at once.
  std::uint64_t bytes_under_way() const;
  /// Bytes of the largest phase.
  std::uint64_t phase_bytes() const;
};

}  // namespace tilescope

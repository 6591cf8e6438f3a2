// The compiled regions of a program, and when one is compiled.
//
// A block is a region's head once 32 lanes have entered it often. The region is compiled for what
// the registers hold at that moment (region.hpp). A warp that finds other shapes is refused; where
// that happens often, the head gets a further region. Registers whose shape keeps changing are not
// assumed to have one any more.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "emulator/compiled/code_memory.hpp"
#include "emulator/compiled/compiled_state.hpp"
#include "emulator/compiled/compiling_budget.hpp"
#include "emulator/compiled/region_emitter.hpp"
#include "emulator/compiled/warp_region.hpp"
#include "emulator/compiled_code.hpp"
#include "emulator/warp.hpp"

namespace tilescope::emulator::compiled {

struct CompiledRegion {
  explicit CompiledRegion(CodeMemory&& code) : memory(std::move(code)) {}
  CodeMemory memory;
  struct Exit {
    ExitKind kind;
    std::size_t entry, inner, settle;  ///< as in RegionExit
    CompiledExit place;
    WayRest taken_back;
  };
  std::vector<Exit> exits;
  std::vector<std::uint32_t> blocks;
  std::vector<std::pair<std::uint32_t, LaneShape>> assumed;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> numbers;  ///< assumed of registers
  KnownParameters parameters;
  bool of_warp = false;  ///< for one warp of each block
  std::vector<CountedWay> ways;
  RegionSums sums;
  RegionAnnounced announced;
  std::size_t slots = 0;
  // As in RegionCode:
  std::size_t trusted_entry = 0, trusted_inner = 0, rounds_entry = 0;
  std::uint32_t round_barrier = kNoBarrier;
  bool knows_block = false;
  std::uint32_t counter = 0;  ///< CodeBlock::counter of the head
  std::size_t number = 0;     ///< in the program
  /// The next region of the same head. Those that assume more come first: they fit fewer warps,
  /// which would enter any of the others.
  mutable std::atomic<const CompiledRegion*> next{nullptr};
  mutable std::atomic<std::uint32_t> failures{0};

  bool contains(std::uint32_t block) const {
    return block != kReturnBlock && std::binary_search(blocks.begin(), blocks.end(), block);
  }
  std::size_t assumptions() const { return assumed.size() + numbers.size() + parameters.size(); }
  /// `at`: offset of the place to enter by.
  Run entry(std::size_t at) const {
    return reinterpret_cast<Run>(const_cast<std::uint8_t*>(address(at)));
  }
  const std::uint8_t* address(std::size_t at) const { return memory.data() + at; }
};

struct Head {
  std::atomic<const CompiledRegion*> first{nullptr};
  std::atomic<std::size_t> count{0};
  // Guarded by the program's mutex:
  std::vector<std::unique_ptr<CompiledRegion>> regions;
  std::size_t warp_regions = 0;      ///< how many of them are of one warp
  bool knows_lanes = true;           ///< regions for one warp have not been found to gain little
  std::optional<int> possible_gain;  ///< of regions for one warp
  void add(std::unique_ptr<CompiledRegion> region);
};
struct CompiledFunction {
  explicit CompiledFunction(std::size_t blocks) : heads(blocks) {}
  std::unique_ptr<FunctionPlan> plan;
  std::vector<Head> heads;  ///< by block
};
/// The answer to a wish for a further region.
enum class Wish : std::uint8_t {
  granted,    ///< there is one: this thread or another has compiled it
  postponed,  ///< no budget is left
  refused,    ///< for ever
};

class CompiledProgram {
 public:
  CompiledProgram(const Program& program, AccessWatch watch);
  const CompiledRegion* first(const Frame& frame, std::uint32_t block) const {
    return functions_[frame.index]->heads[block].first.load(std::memory_order_acquire);
  }
  std::size_t count(const Frame& frame, std::uint32_t block) const {
    return functions_[frame.index]->heads[block].count.load(std::memory_order_acquire);
  }
  /// Compiles a region for what the frame holds, unless another thread has added one to the first
  /// `known`. `executed`: warp instructions of the calling thread since its last call, which add to
  /// the budget; nothing: there is no limit.
  Wish compile(const Frame& frame, const CompiledState& state, std::uint32_t block,
               std::size_t known, std::optional<std::uint64_t> executed);
  void add_executed(std::uint64_t instructions);
  /// Adds what a host thread has counted as ways to its counts of blocks and lanes.
  void settle_counts(std::vector<AccessBounds>& bounds, const CompiledState& state);
  const Program& program() const { return program_; }
  AccessWatch watch() const { return watch_; }
  /// Entries left before each block is compiled, by CodeBlock::counter: what earlier launches have
  /// left of `fresh`.
  std::vector<std::uint32_t> patience(std::size_t blocks, std::uint32_t fresh);
  /// The blocks that are still worth compiling begin later launches with what is left of them.
  void keep_patience(const std::vector<std::uint32_t>& left);
  /// CompiledThread::frame_resets of the kernel.
  const std::vector<FrameRange>& frame_resets();
  /// Counts a block that starts: true for the first `early` of all launches, unless frame_resets
  /// are known already.
  bool is_early_block(std::uint32_t early) {
    return !knows_frame_resets_.load(std::memory_order_acquire) &&
           blocks_.fetch_add(1, std::memory_order_relaxed) < early;
  }
  // Their numbers so far.
  std::uint32_t bounds() const { return bounds_.load(std::memory_order_acquire); }
  std::uint32_t sum_entries() const { return entries_.load(std::memory_order_acquire); }
  std::uint32_t recent_tables() const { return recent_.load(std::memory_order_acquire); }

 private:
  std::vector<bool> unstable(const CompiledFunction& function, const Head& head,
                             const std::uint8_t* frame) const;
  bool has_new_numbers(const CompiledFunction& function, const CompiledRegion& region,
                       const PresentState& present) const;
  bool may_know_lanes(const CompiledFunction& function, const Head& head,
                      const PresentState& present) const;
  Wish add_region(const FunctionPlan& plan, Head& head, Region& region,
                  const BlockCounter* counters);
  const FunctionPlan& plan(std::size_t function);

  const Program& program_;
  const AccessWatch watch_;
  std::vector<std::unique_ptr<CompiledFunction>> functions_;
  std::mutex mutex_;
  std::optional<std::vector<FrameRange>> frame_resets_;
  std::atomic<bool> knows_frame_resets_{false};
  std::atomic<std::uint32_t> blocks_{0};  ///< that started before they were
  std::vector<std::uint32_t> patience_;
  std::size_t code_bytes_ = 0;
  CompilingBudget budget_;
  std::size_t regions_ = 0;
  ProgramNumbers numbers_;
  std::vector<const CountedWay*> ways_;                            ///< of all regions
  std::atomic<std::uint32_t> bounds_{0}, entries_{0}, recent_{0};  ///< of `numbers_`
};

}  // namespace tilescope::emulator::compiled

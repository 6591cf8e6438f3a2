// Races between blocks of a program that orders its blocks itself, with fences, atomics and flags:
// the last block of a reduction, a lock, grid-wide barriers, a chain of blocks.
//
// Such a launch is run in block order on one host thread, and every access is judged when it
// happens: it races with an earlier one of another block unless that block published it (a fence of
// GPU scope, then an atomic or strong store) and this block has learned of it since (an atomic or
// strong load of the same address). A block passes on what it learned from another with its own
// publications. Knowledge is kept for blocks as a whole on the learning side.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "observe/check/block_order.hpp"
#include "observe/check/lane_cells.hpp"
#include "observe/check/race_log.hpp"
#include "observe/check/shadow_page.hpp"
#include "observe/check/store_values.hpp"

namespace tilescope::observe {

class GridOrder {
 public:
  explicit GridOrder(const StoreValues& values) : values_(values) {}

  void end_block(std::uint64_t block) { learned_.erase(block); }
  /// `published`: what the warp has fenced (BlockOrder::published); null: nothing.
  void release(std::uint64_t block, std::uint64_t variable, const WarpTimes* published);
  void acquire(std::uint64_t block, std::uint64_t variable);
  void access(std::uint64_t block, std::uint32_t time, const emulator::Access& access,
              const LaneCells& cells);

  const RaceLog& log() const { return log_; }
  bool overflowed() const { return overflowed_; }

 private:
  struct Publication {
    std::uint64_t version = 0;  ///< of the variable, at that time
    WarpTimes times{};
  };
  /// The contents of a flag: by block, the last two publications.
  struct Variable {
    std::uint64_t version = 0;
    std::unordered_map<std::uint64_t, Publication[2]> by_block;
    std::unordered_map<std::uint64_t, std::uint64_t> others;  ///< variables known: version
  };
  struct Touch {
    std::uint64_t block = 0;
    Event event;
  };
  struct GridCell {
    Touch write, atomic, reader[2];
  };
  struct Page {
    bool by_bytes = false;
    std::unique_ptr<GridCell[]> cells;
  };
  static constexpr std::size_t kMostPages = 65'536;

  Page* page(std::uint64_t address);
  bool known(std::uint64_t block, const Touch& earlier) const;
  void check(std::uint64_t block, const Touch& earlier, AccessVerb earlier_verb, AccessTag tag,
             AccessVerb verb, emulator::Space space, std::uint64_t address);

  const StoreValues& values_;
  std::unordered_map<std::uint64_t, Variable> variables_;
  /// By block in flight: the variables that it has learned from, and up to which version.
  std::unordered_map<std::uint64_t, std::unordered_map<std::uint64_t, std::uint64_t>> learned_;
  std::unordered_map<std::uint64_t, Page> pages_;
  RaceLog log_;
  bool overflowed_ = false;
};

/// Whether the program orders blocks itself: by fences of GPU scope or stores that release.
bool orders_blocks(const emulator::Program& program);

}  // namespace tilescope::observe

// A warp access as a list of cells, each with the lanes that touch it.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/events.hpp"
#include "observe/check/cell_rows.hpp"
#include "observe/check/word_access.hpp"
#include "observe/lane_runs.hpp"

namespace tilescope::observe {

struct TouchedCell {
  std::int64_t offset;       ///< bytes from the first lane's address, rounded down to the unit
  emulator::LaneMask lanes;  ///< at least one
};

/// The last pattern of an instruction, and its cells.
struct LaneCells {
  std::uint32_t pattern = 0;
  std::uint32_t low_bits = 0;
  std::uint64_t number = 0;  ///< another one whenever it has learned a pattern
  std::uint32_t unit = 4;    ///< bytes of a cell: 4, or 1 for accesses of single bytes and halves
  // Not of atomics and the shared sides of copies:
  bool collides = false;           ///< some cell is touched by several lanes
  bool apart = false;              ///< words, none of them beside another
  std::vector<TouchedCell> cells;  ///< ascending
  std::vector<Run> runs;           ///< the same bytes as intervals
  /// The lanes of the cells from `first` on, as WordRun has them.
  WordRun words(std::uint32_t first, std::uint32_t in_page, std::uint32_t count) const {
    return {in_page, count, first_lanes_.data() + kAround + first,
            second_lanes_.data() + kAround + first, collides};
  }
  /// The lanes of a run of words.
  struct RunLanes {
    bool known = false;        ///< they are in order, and
    std::uint32_t second = 0;  ///< as RowAccess has it
    LaneOrder order;           ///< from the first word on
  };
  std::vector<RunLanes> run_lanes;  ///< by run, of global memory
  /// A ReadLog refers to it since this time.
  mutable std::uint32_t logged = 0;

  /// Whether it describes `access`: if the pattern is that of the last time.
  bool describes(const emulator::Access& access) const {
    return access.pattern != 0 && access.pattern == pattern &&
           (base_address(access) & 3) == low_bits;
  }
  /// Makes it describe `access`.
  void learn(const emulator::Access& access);
  void update(const emulator::Access& access) {
    if (!describes(access)) learn(access);
  }

 private:
  void sort_cells();
  void find_lanes();
  void find_run_lanes();
  RunLanes lanes_in_order(std::size_t first, std::size_t count) const;

  static constexpr std::size_t kAround = 8;
  std::vector<std::uint32_t> first_lanes_, second_lanes_;
};

}  // namespace tilescope::observe

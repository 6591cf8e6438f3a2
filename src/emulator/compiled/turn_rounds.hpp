// Blocks all of whose warps are in regions with rounds, at their begin, at barriers or in loops
// that may wait for others: compiled code gives the turn from one warp to the next by itself
// (round_emitter.cpp). Meanwhile nothing but CompiledState says where each is; the block and its
// warps hear of it when the rounds are over.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulator/block.hpp"
#include "emulator/compiled/compiled_program.hpp"

namespace tilescope::emulator::compiled {

/// Code has been left by this exit: what it has counted beyond it does not run.
inline void take_back(const CompiledState& state, const CompiledRegion& region,
                      std::uint64_t exit) {
  const WayRest& rest = region.exits[exit].taken_back;
  if (rest.way == 0) return;
  count_rest(region.ways[rest.way - 1], rest, state.counters, state.lanes_on, ~std::uint64_t{0});
}

class TurnRounds {
 public:
  explicit TurnRounds(CompiledState& state) : state_(state) {}

  struct End {
    bool ran = false;
    /// By which a warp has left the region, in the middle of its turn; 0: none has, and all that
    /// can run have had their turn.
    std::uint64_t exit = 0;
    std::size_t warp = 0;
    const CompiledRegion* region = nullptr;
    std::uint32_t begun = 0;  ///< warps
    bool idle = true;         ///< no warp has ended in the last round
    std::int64_t instructions = 0;
  };
  /// A round of the block begins: runs it and further ones, and those of the blocks that it becomes
  /// (Block::become_next). `region`: that of the first warp;
  /// `first_place`: CompiledState::place of it; `beginnings`: by warp, the region that fits it
  /// where it begins; null: none does.
  /// The result lasts until the next call: a copy of it would wait for its members to be stored.
  const End& run(Block& block, const CompiledRegion& region, std::uint64_t first_place,
                 std::span<const CompiledRegion* const> beginnings);

 private:
  /// Whether rounds that begin in a region pay for their begin and end.
  struct Worth {
    std::uint32_t times = 0;
    std::uint32_t refused = 0;  ///< blocks that have had none
    std::uint64_t warps = 0, turns = 0;
  };
  bool begin(Block& block, std::uint64_t first_place,
             std::span<const CompiledRegion* const> beginnings);
  bool add(Warp& warp, const CompiledRegion* beginning);
  void start(Block& block, bool follows);
  void run_block(Block& block);
  bool follow(Block& block);
  void note_worth();
  bool end_warp(Block& block, std::uint64_t exit);
  void stay(Warp& warp, const RoundWarp& entry, bool left);
  void end(Block& block, const RoundWarp* left);
  bool is_worth(bool begins);

  CompiledState& state_;
  End result_;
  const CompiledRegion* region_ = nullptr;  ///< of the first warp
  std::array<RoundWarp, 32> warps_;
  std::uint32_t begun_ = 0;
  bool know_block_ = false;   ///< CompiledRegion::knows_block of all those that begin
  bool all_begin_ = false;    ///< all warps of the block have begun in these rounds
  std::uint32_t live_ = 0;    ///< warps as the rounds began
  std::uint32_t ends_ = 0;    ///< of them, those with the path with which they began
  std::uint64_t whole_ = 0;   ///< rounds in which no warp has left the region
  std::uint32_t blocks_ = 0;  ///< those that have followed each other
  std::vector<Worth> worth_;  ///< by region
};

}  // namespace tilescope::emulator::compiled

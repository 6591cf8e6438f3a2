// Basic blocks of a function, and the places where the lanes of a diverged warp meet again.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/instruction.hpp"

namespace tilescope::ptx {

struct BasicBlock {
  std::uint32_t begin = 0;                ///< first instruction
  std::uint32_t end = 0;                  ///< one past the last
  std::vector<std::uint32_t> successors;  ///< blocks, without duplicates; fall-through first
  /// The nearest block that every path from here to an exit passes; no_index if that is the end of
  /// the function: lanes then meet only by leaving. A loop without an exit counts as left from its
  /// last block, so that lanes which diverge inside it still meet.
  std::uint32_t immediate_post_dominator = no_index;
  bool exits = false;  ///< a lane may leave the function from here (ret, exit, the end)
};

struct ControlFlow {
  std::vector<BasicBlock> blocks;       ///< in the order of the text; block 0 is the entry
  std::vector<std::uint32_t> block_of;  ///< instruction -> block

  /// The instruction where lanes that diverge at `instruction` meet again, or no_index.
  std::uint32_t reconvergence(std::uint32_t instruction) const {
    const std::uint32_t block = blocks[block_of[instruction]].immediate_post_dominator;
    return block == no_index ? no_index : blocks[block].begin;
  }
};

}  // namespace tilescope::ptx

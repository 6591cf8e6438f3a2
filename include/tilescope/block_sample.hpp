// A part of a launch's blocks, from whose counts explain() estimates those of all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope {

/// The blocks to count. Blocks at the borders of a grid often differ from those inside it, so a
/// sample has some of every border.
struct BlockSample {
  std::uint64_t blocks = 0;  ///< how many, drawn at random; 0: by `percent`, or the range
  double percent = 0;        ///< share of the blocks, drawn at random; 0: the range
  std::uint64_t first = 0, last = UINT64_MAX;  ///< the range of linear block numbers
  std::uint64_t seed = 1;                      ///< of what is drawn

  bool is_random() const { return blocks != 0 || percent != 0; }
};

/// "64" or "5%" are drawn at random, "64:7" with seed 7; "0-63" is a range. Throws Error(usage) for
/// anything else.
BlockSample parse_block_sample(std::string_view text);

}  // namespace tilescope

// The tile that tensor_tiles.cu and panel_tiles.cu are compiled for, and its text.
#pragma once

#include <string>

namespace tilescope::operations {

/// What kernels/gemm/tensor_tiles.cu or panel_tiles.cu is compiled for.
struct TensorTile {
  int m = 128, n = 256;  ///< elements of C per block
  int consumers = 2;     ///< warpgroups that multiply
  int stages = 4;        ///< pairs of tiles on their way
  int cluster = 1;       ///< blocks that share a tile of B (of the kernel)
  bool across = false;   ///< they share a tile of A instead
  int splits = 1;        ///< parts that k is cut into
  int group = 8;         ///< rows of tiles that are computed together
  bool in_turn = false;  ///< consumers take tiles in turn instead of sharing each
  int boxes = 4;         ///< of 64 rows by 128 bytes of C that a consumer stores at once
  /// The kernel computes C^T = B^T A^T: `m` are columns of C, `n` rows.
  bool turned = false;
  int panel = 0;  ///< tiles of k of B that stay in shared memory, all of k: panel_tiles.cu
  /// Operands copied to rows that begin with cache lines, also where the copy engine takes them.
  bool copies_a = false, copies_b = false;
  bool persistent = true;  ///< blocks stay for tile after tile, as many as run at once

  /// Blocks of a cluster that have tiles one below the other.
  int down() const { return across ? 1 : cluster; }

  friend bool operator==(const TensorTile&, const TensorTile&) = default;
};

/// The tile as "128x256x4 cluster 2 split 3".
std::string text_of(const TensorTile& tile);

/// The tile that "M,N,consumers,stages,cluster,splits,group,in_turn,boxes" names; a tenth number is
/// `panel`, an eleventh the sum of 1 for `across`, 2 for `copies_a`, 4 for `copies_b`, 8 for
/// `turned`. Throws Error(usage) for a text of other form.
TensorTile parse_tensor_tile(const std::string& text);

}  // namespace tilescope::operations

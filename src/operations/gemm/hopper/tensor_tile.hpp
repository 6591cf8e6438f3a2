// The tile of tensor_tiles.cu and panel_tiles.cu, and its text.
#pragma once

#include <string>

namespace tilescope::operations {

/// The constants that kernels/gemm/tensor_tiles.cu or panel_tiles.cu is compiled for.
struct TensorTile {
  int m = 128, n = 256;  ///< elements of C per block
  int consumers = 2;     ///< warpgroups that multiply
  int stages = 4;        ///< pairs of tiles in flight
  int cluster = 1;       ///< blocks that share tiles of A and B (as the kernel sees them)
  int across = 1;  ///< of these side by side, which share A's; those below each other share B's
  int layers = 1;  ///< parts of the cluster, one behind the other, each with a part of k
  int splits = 1;  ///< parts that k is cut into, whose sums another kernel adds up
  int group = 8;   ///< rows of tiles that are computed together
  bool in_turn = false;  ///< consumers take tiles in turn instead of sharing each
  int boxes = 4;         ///< boxes of 64 rows by 128 bytes of C that a consumer stores at once
  /// The kernel computes C^T = B^T A^T: `m` are columns of C, `n` rows.
  bool transposed = false;
  int panel = 0;  ///< tiles of k of B that stay in shared memory, all of k: panel_tiles.cu
  /// Operands copied to rows that begin with cache lines, even where the copy engine takes them in
  /// place.
  bool copies_a = false, copies_b = false;
  bool persistent = true;  ///< blocks take tile after tile, as many as run at once

  /// Blocks of a layer of a cluster.
  int in_layer() const { return cluster / layers; }
  /// Blocks of a layer one below the other.
  int down() const { return in_layer() / across; }
  /// Two blocks side by side, which in an odd last column are one below the other and share
  /// nothing.
  bool is_pair_across() const { return cluster == 2 && across == 2; }

  friend bool operator==(const TensorTile&, const TensorTile&) = default;
};

/// The tile as "128x256x4 cluster 2 split 3".
std::string text_of(const TensorTile& tile);

/// The tile with the text "M,N,consumers,stages,cluster,splits,group,in_turn,boxes"; a tenth number
/// is `panel`, an eleventh the sum of 2 for `copies_a`, 4 for `copies_b`, 8 for `transposed`, a
/// twelfth `across`, a thirteenth `layers`. Throws Error(usage) for a text of another form.
TensorTile parse_tensor_tile(const std::string& text);

}  // namespace tilescope::operations

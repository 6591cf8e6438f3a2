// Products on tensor cores by persistent blocks that the copy engine feeds (wgmma, sm_90a).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operations/gemm/problem.hpp"

namespace tilescope::operations {

/// What kernels/gemm/tensor_tiles.cu is compiled for.
struct TensorTile {
  int m = 128, n = 256;    ///< elements of C per block
  int consumers = 2;       ///< warpgroups that multiply
  int stages = 4;          ///< pairs of tiles on their way
  int cluster = 1;         ///< blocks that share a tile of B
  int splits = 1;          ///< parts that k is cut into
  int group = 8;           ///< rows of tiles that are computed together
  bool in_turn = false;    ///< consumers take tiles in turn instead of sharing each
  int boxes = 4;           ///< of 64 rows by 128 bytes of C that a consumer stores at once
  bool persistent = true;  ///< blocks stay for tile after tile, as many as run at once

  friend bool operator==(const TensorTile&, const TensorTile&) = default;
};

/// The tile as "128x256x4 cluster 2 split 3".
std::string text_of(const TensorTile& tile);

/// The tile that "M,N,consumers,stages,cluster,splits,group,in_turn,boxes" names. Throws
/// Error(usage) for a text of other form.
TensorTile parse_tensor_tile(const std::string& text);

/// Tiles that can compute the problem, the best by the model first.
std::vector<TensorTile> tensor_tile_candidates(const GemmProblem& problem,
                                               const DeviceProperties& device);

std::optional<std::string> tensor_tiles_refusal(const GemmProblem& problem,
                                                const DeviceProperties& device);
std::unique_ptr<GemmRun> prepare_tensor_tiles(Device& device, const GemmProblem& problem);
/// The same with a tile of the caller's choice.
std::unique_ptr<GemmRun> prepare_tensor_tiles(Device& device, const GemmProblem& problem,
                                              const TensorTile& tile);

}  // namespace tilescope::operations

#include "operations/gemm/hopper/tensor_tile.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "base/errors.hpp"

namespace tilescope::operations {

std::string text_of(const TensorTile& tile) {
  std::string text = fmt::format("{}x{}x{}", tile.m, tile.n, tile.stages);
  if (tile.in_layer() > 1) {
    text += tile.across > 1 ? fmt::format(" cluster {}x{}", tile.down(), tile.across)
                            : fmt::format(" cluster {}", tile.down());
  }
  if (tile.layers > 1) text += fmt::format(" layers {}", tile.layers);
  if (tile.splits > 1) text += fmt::format(" split {}", tile.splits);
  if (tile.panel > 0) text += fmt::format(" panel {}", tile.panel);
  if (tile.in_turn) text += " in turn";
  if (tile.transposed) text += " transposed";
  text += fmt::format(" boxes {}", tile.boxes);
  return text;
}

TensorTile parse_tensor_tile(const std::string& text) {
  TensorTile t;
  int in_turn = 0, flags = 0;
  std::array<int, 5> ends{};
  const int read = std::sscanf(text.c_str(), "%d,%d,%d,%d,%d,%d,%d,%d,%d%n,%d%n,%d%n,%d%n,%d%n",
                               &t.m, &t.n, &t.consumers, &t.stages, &t.cluster, &t.splits, &t.group,
                               &in_turn, &t.boxes, &ends[0], &t.panel, &ends[1], &flags, &ends[2],
                               &t.across, &ends[3], &t.layers, &ends[4]);
  t.in_turn = in_turn != 0;
  t.copies_a = flags / 2 % 2 != 0;
  t.copies_b = flags / 4 % 2 != 0;
  t.transposed = flags / 8 != 0;
  if (read < 9 ||
      static_cast<std::size_t>(ends.at(static_cast<std::size_t>(read - 9))) != text.size() ||
      flags % 2 != 0 || t.across < 1 || t.layers < 1 || t.cluster > 8 ||
      t.cluster % (t.across * t.layers) != 0) {
    throw usage_error(
        "tile \"{}\" is not of the form "
        "M,N,CONSUMERS,STAGES,CLUSTER,SPLITS,GROUP,IN_TURN,BOXES[,PANEL[,FLAGS[,ACROSS[,LAYERS]]]]",
        text);
  }
  return t;
}

}  // namespace tilescope::operations

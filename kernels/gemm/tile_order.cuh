// Which tile of C a block computes next, when blocks stay for several.
#pragma once

// One piece of work: a tile of C over a part of k, in one matrix of the batch.
struct WorkUnit {
  int tile_m, tile_n;  // in tiles
  int split;           // which part of k
  int batch;
};

// The rows of tiles in a group, where no model chooses another number.
constexpr int usual_group = 8;

// Tiles in groups of `group` rows, down the rows first: blocks that run together then share their
// tiles of A and B in the L2 cache.
__device__ inline WorkUnit work_unit(int number, int tiles_m, int tiles_n, int splits, int group) {
  // A division takes longer than the comparisons that often spare it.
  const int tiles = tiles_m * tiles_n, in_group = group * tiles_n;
  WorkUnit unit{};
  int tile = number;
  if (number >= tiles) {
    const int slice = number / tiles;
    tile = number - slice * tiles;
    unit.split = slice % splits;
    unit.batch = slice / splits;
  }
  int first = 0;
  if (tile >= in_group) {
    first = tile / in_group * group;
    tile %= in_group;
  }
  const int rows = tiles_m - first;
  if (rows >= group) {
    unit.tile_m = first + tile % group;
    unit.tile_n = tile / group;
  } else {
    unit.tile_m = first + tile % rows;
    unit.tile_n = tile / rows;
  }
  return unit;
}

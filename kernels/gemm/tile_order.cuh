// Which tile of C a block computes next, when blocks stay for several.
#pragma once

// One piece of work: a tile of C over a part of k, in one matrix of the batch.
struct WorkUnit {
  int tile_m, tile_n;  // in tiles
  int split;           // which part of k
  int batch;
};

// Tiles in groups of `group` rows, down the rows first: blocks that run together then share their
// tiles of A and B in the L2 cache.
__device__ inline WorkUnit work_unit(int number, int tiles_m, int tiles_n, int splits, int group) {
  const int tiles = tiles_m * tiles_n;
  WorkUnit unit;
  const int slice = number / tiles;
  unit.split = slice % splits;
  unit.batch = slice / splits;
  const int tile = number % tiles;
  const int in_group = group * tiles_n;
  const int first = tile / in_group * group;
  const int rows = min(group, tiles_m - first);
  unit.tile_m = first + tile % in_group % rows;
  unit.tile_n = tile % in_group / rows;
  return unit;
}

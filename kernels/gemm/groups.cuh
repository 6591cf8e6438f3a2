// Products of different shapes in one launch: which of them a block computes, and which tile of it.
#pragma once

// One product: A is m x k, B k x n, C m x n and row-major.
struct Group {
  const void* a;
  const void* b;
  void* c;
  long long a_leading, b_leading, c_leading;
  int m, n, k;
  int form;  // how the operands lie: the kernel says which numbers there are
};

// The last of `groups` groups whose first tile is not behind `tile`, by a whole warp. Each group
// has a tile. 32 first tiles are compared at a time: three loads after one another find one of
// 32,768 groups.
__device__ inline int group_of_tile(const int* first_tiles, int groups, int tile) {
  int low = 0, size = groups;
  while (size > 1) {
    const int step = (size + 31) / 32, ahead = threadIdx.x % 32 * step;
    const bool begins_before = ahead < size && first_tiles[low + ahead] <= tile;
    const int skipped = (__popc(__ballot_sync(~0U, begins_before)) - 1) * step;
    low += skipped;
    size = min(step, size - skipped);
  }
  return low;
}

// Rows of blocks over a plane. A grid has at most 65,535 blocks in y, which a tall plane exceeds:
// further rows continue in z.
#pragma once

/// Which row of blocks this block belongs to; the last few may lie beyond the plane.
__device__ inline int block_row() {
  return static_cast<int>(blockIdx.z * gridDim.y + blockIdx.y);
}

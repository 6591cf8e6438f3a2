// A 32 x 32 tile from global to shared memory and, transposed, back. Where element (row, column) of
// the tile lies in shared memory is what the kernels differ in.
#pragma once

/// Block (32, 8), one tile a block. `place(row, column)` is a reference to shared memory.
template <typename Place>
__device__ inline void transpose_tile(const ELEMENT* in, ELEMENT* out, long long rows,
                                      long long columns, const Place& place) {
  const long long tiles_across = (columns + 31) / 32;
  const long long first_column = blockIdx.x % tiles_across * 32;
  const long long first_row = blockIdx.x / tiles_across * 32;
  const int x = threadIdx.x;
#pragma unroll
  for (int r = threadIdx.y; r < 32; r += 8) {
    if (first_row + r < rows && first_column + x < columns) {
      place(r, x) = in[(first_row + r) * columns + first_column + x];
    }
  }
  __syncthreads();
  // Now x runs along the rows of the input, which are the columns of the output.
#pragma unroll
  for (int c = threadIdx.y; c < 32; c += 8) {
    if (first_column + c < columns && first_row + x < rows) {
      out[(first_column + c) * rows + first_row + x] = place(x, c);
    }
  }
}

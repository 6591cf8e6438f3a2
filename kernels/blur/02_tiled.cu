// A tile and its halo in shared memory.
//
// Idea:    the block loads the samples of all its boxes once; zeros stand for what lies outside.
// Changes: global loads per output fall from (2 RADIUS + 1)^2 to ((32 + 2 RADIUS) / 32)^2; the
//          additions stay as many.
// Counter: global load requests; shared load wavefronts take their place.
//
// in, out: height rows of width pixels of CHANNELS samples. Launch: block (32, 8) for 32 x 32
// pixels, (32 + 2 RADIUS)^2 * CHANNELS bytes of dynamic shared memory.
#include "common/rows.cuh"
#include "window.cuh"

constexpr int tile = 32, side = tile + 2 * RADIUS;

extern "C" __global__ void blur(const unsigned char* in, unsigned char* out, int width,
                                int height) {
  extern __shared__ unsigned char samples[];  // [side][side * CHANNELS]
  const int first_row = block_row() * tile, first_column = blockIdx.x * tile;
  for (int r = threadIdx.y; r < side; r += 8) {
    const int row = first_row + r - RADIUS;
    for (int s = threadIdx.x; s < side * CHANNELS; s += 32) {
      const int column = first_column + s / CHANNELS - RADIUS;
      const bool inside = row >= 0 && row < height && column >= 0 && column < width;
      samples[r * side * CHANNELS + s] =
          inside
              ? in[(row * static_cast<long long>(width) + column) * CHANNELS + s % CHANNELS]
              : 0;
    }
  }
  __syncthreads();
  for (int r = threadIdx.y; r < tile; r += 8) {
    for (int s = threadIdx.x; s < tile * CHANNELS; s += 32) {
      const int row = first_row + r, column = first_column + s / CHANNELS;
      if (row >= height || column >= width) continue;
      unsigned sum = 0;
      for (int dy = 0; dy < diameter; ++dy) {
        for (int dx = 0; dx < diameter; ++dx) {
          sum += samples[(r + dy) * side * CHANNELS + s + dx * CHANNELS];
        }
      }
      out[(row * static_cast<long long>(width) + column) * CHANNELS + s % CHANNELS] =
          box_mean(sum, row, column, width, height);
    }
  }
}

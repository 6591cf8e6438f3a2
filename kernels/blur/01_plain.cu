// The lecture's blur: every thread reads all samples of its box.
//
// Idea:    one thread per sample; the samples of the box that lie in the picture are added up and
//          counted.
// Changes: nothing to compare with yet.
// Counter: (2 RADIUS + 1)^2 load requests per output, nearly all served by L1.
//
// in, out: height rows of width pixels of CHANNELS samples. Launch: block (32, 8), grid over the
// samples of a row and the rows.
#include "common/rows.cuh"

extern "C" __global__ void blur(const unsigned char* in, unsigned char* out, int width,
                                int height) {
  const int sample = blockIdx.x * blockDim.x + threadIdx.x;  // of the row
  const int row = block_row() * blockDim.y + threadIdx.y;
  if (sample >= width * CHANNELS || row >= height) return;
  const int column = sample / CHANNELS, channel = sample % CHANNELS;
  unsigned sum = 0, count = 0;
  for (int r = row - RADIUS; r <= row + RADIUS; ++r) {
    for (int c = column - RADIUS; c <= column + RADIUS; ++c) {
      if (r >= 0 && r < height && c >= 0 && c < width) {
        sum += in[(r * static_cast<long long>(width) + c) * CHANNELS + channel];
        ++count;
      }
    }
  }
  out[row * static_cast<long long>(width) * CHANNELS + sample] = sum / count;
}

// Rows first, then columns.
//
// Idea:    the sum over a box is a sum over columns of sums over rows. Two launches with the row
//          sums, of 16 bits, between them in global memory.
// Changes: 2 (2 RADIUS + 1) additions per output instead of the square; the row sums cost a round
//          trip through memory.
// Counter: instructions per output; DRAM bytes rise by four per sample.
//
// in, out: height rows of width pixels of CHANNELS samples. Launch: block (32, 8), grid over the
// samples of a row and the rows.
#include "common/rows.cuh"
#include "window.cuh"

extern "C" __global__ void blur_rows(const unsigned char* in, unsigned short* sums, int width,
                                     int height) {
  const int sample = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = block_row() * blockDim.y + threadIdx.y;
  if (sample >= width * CHANNELS || row >= height) return;
  const unsigned char* line = in + row * static_cast<long long>(width) * CHANNELS;
  const int end = min(sample + RADIUS * CHANNELS, width * CHANNELS - 1);
  int s = sample - RADIUS * CHANNELS;
  if (s < 0) s = sample % CHANNELS;
  unsigned sum = 0;
  for (; s <= end; s += CHANNELS) sum += line[s];
  sums[row * static_cast<long long>(width) * CHANNELS + sample] = sum;
}

extern "C" __global__ void blur_columns(const unsigned short* sums, unsigned char* out, int width,
                                        int height) {
  const int sample = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = block_row() * blockDim.y + threadIdx.y;
  if (sample >= width * CHANNELS || row >= height) return;
  const long long pitch = static_cast<long long>(width) * CHANNELS;
  unsigned sum = 0;
  for (int r = max(row - RADIUS, 0); r <= min(row + RADIUS, height - 1); ++r) {
    sum += sums[r * pitch + sample];
  }
  out[row * pitch + sample] = box_mean(sum, row, sample / CHANNELS, width, height);
}

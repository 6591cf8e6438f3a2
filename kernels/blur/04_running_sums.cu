// Running sums: the cost does not depend on the radius.
//
// Idea:    a warp owns a strip of columns and marches down it. It keeps the sum of every column's
//          2 RADIUS + 1 samples: one row enters, one leaves. Prefix sums along the row, by shuffles,
//          then give any window as a difference of two.
// Changes: a handful of additions per sample, whatever the radius; no barrier.
// Counter: instructions per output do not grow with the radius.
//
// in, out: height rows of width pixels of CHANNELS samples. PIXELS: of a lane. ALIGNED is 1 if a
// row has a multiple of 4 bytes. Launch: blocks of 32, one per strip of 32 PIXELS - 2 HALO columns
// (x) and ROWS rows (y).
#include "common/rows.cuh"
#include "window.cuh"

constexpr int HALO = (RADIUS + 3) / 4 * 4;          // pixels; strips begin at multiples of 4
constexpr int samples = PIXELS * CHANNELS;          // of a lane
constexpr int span = 32 * samples;                  // of the strip with its halo
constexpr int outputs = 32 * PIXELS - 2 * HALO;     // pixels the strip gives
static_assert(samples % 4 == 0 && outputs > 0, "lanes load whole words");

struct Row {
  unsigned char at[samples];
};

// This lane's samples of a row, zeros where the row or they lie outside the picture.
__device__ inline Row load_row(const unsigned char* in, int row, int first, int pitch, int height) {
  Row loaded;
  const bool row_inside = row >= 0 && row < height;
  const unsigned char* line = in + row * static_cast<long long>(pitch);
#pragma unroll
  for (int s = 0; s < samples; s += 4) {
#if ALIGNED
    unsigned word = 0;
    if (row_inside && first + s >= 0 && first + s < pitch) {
      word = *reinterpret_cast<const unsigned*>(line + first + s);
    }
#pragma unroll
    for (int b = 0; b < 4; ++b) loaded.at[s + b] = word >> 8 * b;
#else
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      const int at = first + s + b;
      loaded.at[s + b] = row_inside && at >= 0 && at < pitch ? line[at] : 0;
    }
#endif
  }
  return loaded;
}

extern "C" __global__ void __launch_bounds__(32)
    blur(const unsigned char* in, unsigned char* out, int width, int height) {
  // prefix[CHANNELS + s] is the sum up to sample s of the span, over samples of its channel.
  __shared__ unsigned prefix[CHANNELS + span];
  const int lane = threadIdx.x;
  const int pitch = width * CHANNELS;
  const int first_pixel = blockIdx.x * outputs - HALO;
  const int first = first_pixel * CHANNELS + lane * samples;
  const int first_row = block_row() * ROWS, end_row = min(first_row + ROWS, height);
  if (lane < CHANNELS) prefix[lane] = 0;

  unsigned column_sum[samples] = {};
  for (int r = first_row - RADIUS; r <= first_row + RADIUS; ++r) {
    const Row row = load_row(in, r, first, pitch, height);
#pragma unroll
    for (int s = 0; s < samples; ++s) column_sum[s] += row.at[s];
  }

  for (int row = first_row; row < end_row; ++row) {
    const Row entering = load_row(in, row + RADIUS + 1, first, pitch, height);
    const Row leaving = load_row(in, row - RADIUS, first, pitch, height);

    unsigned sum[samples];  // within the lane
#pragma unroll
    for (int s = 0; s < samples; ++s) {
      sum[s] = column_sum[s] + (s >= CHANNELS ? sum[s - CHANNELS] : 0);
    }
#pragma unroll
    for (int c = 0; c < CHANNELS; ++c) {  // of the lanes before
      const unsigned mine = sum[samples - CHANNELS + c];
      unsigned upto = mine;
#pragma unroll
      for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned before = __shfl_up_sync(0xffffffffu, upto, distance);
        if (lane >= distance) upto += before;
      }
#pragma unroll
      for (int s = c; s < samples; s += CHANNELS) sum[s] += upto - mine;
    }
    __syncwarp();  // the row before has been read
#pragma unroll
    for (int s = 0; s < samples; ++s) prefix[CHANNELS + lane * samples + s] = sum[s];
    __syncwarp();

    unsigned char* const to = out + row * static_cast<long long>(pitch);
    for (int o = lane; o < outputs * CHANNELS; o += 32) {
      const int at = o + HALO * CHANNELS;  // in the span
      const int column = first_pixel + at / CHANNELS;
      if (column >= width) break;
      const unsigned box = prefix[CHANNELS + at + RADIUS * CHANNELS] -
                           prefix[at - RADIUS * CHANNELS];
      to[first_pixel * CHANNELS + at] = box_mean(box, row, column, width, height);
    }
#pragma unroll
    for (int s = 0; s < samples; ++s) column_sum[s] += entering.at[s] - leaving.at[s];
  }
}

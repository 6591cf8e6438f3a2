// Every sample is loaded once: the rows of the box stay in registers.
//
// Idea:    as 05, but a thread keeps the last 2 RADIUS + 2 rows of its 16 columns, so that the row
//          which leaves the box need not be read again, and asks for rows AHEAD of the one it adds.
//          The columns beside its own come from the lanes beside it; the outermost lanes of a warp
//          only lend theirs.
// Changes: one load of 16 bytes per 16 samples, AHEAD of them under way; half of the instructions.
// Counter: load requests per output; long-scoreboard stalls; DRAM throughput.
//
// in, out: height rows of `pitch` = width * CHANNELS samples. RADIUS <= 7, RADIUS * CHANNELS <= 8.
// ALIGNMENT: 16, 4 or 1, of which pitch is a multiple. Launch: blocks of THREADS: END_BLOCKS for
// the ends of the rows, and the others for 480 samples of THREADS / 32 * ROWS rows, ROWS a warp: what
// two warps of a block both read, L1 reads once.
#include "packed.cuh"
#include "window.cuh"

constexpr int reach = RADIUS * CHANNELS;  // samples
constexpr int halo = (reach + 1) / 2;     // pairs of a lane beside
constexpr int ring_rows = 2 * RADIUS + 2 + AHEAD;
constexpr int end_lanes = 64;  // at most 16 samples at the left end, 16 + 15 + 8 at the right
constexpr int end_rows = 16;

// `row` rows on; not negative, so that the address is one multiply-add.
template <typename Byte>
__device__ inline Byte* at_row(Byte* column, int row, int pitch) {
  return column + static_cast<unsigned long long>(static_cast<unsigned>(row)) *
                      static_cast<unsigned>(pitch);
}

// The 16 samples of a lane in a row: `column` is its first sample's place in row 0. Zeros above and
// below the picture; `inside`, the lane lies between its left and right.
__device__ inline uint4 load_samples(const unsigned char* column, int row, bool inside, int left,
                                     int pitch, int height) {
  uint4 words = {};
  if (!inside || static_cast<unsigned>(row) >= static_cast<unsigned>(height)) return words;
  const unsigned char* const from = at_row(column, row, pitch);
#if ALIGNMENT == 16
  words = *reinterpret_cast<const uint4*>(from);
#else
  unsigned word[4] = {};
#if ALIGNMENT == 4
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if (4 * w < left) word[w] = reinterpret_cast<const unsigned*>(from)[w];
  }
#else
#pragma unroll
  for (int s = 0; s < lane_samples; ++s) {
    if (s < left) word[s / 4] |= unsigned{from[s]} << s % 4 * 8;
  }
#endif
  words = make_uint4(word[0], word[1], word[2], word[3]);
#endif
  return words;
}

// The sums of the boxes around 16 samples, from the sums of the columns, all in pairs.
__device__ inline void sum_boxes(const unsigned (&own)[lane_pairs], unsigned (&box)[lane_pairs]) {
  unsigned columns[lane_pairs + 2 * halo];
#pragma unroll
  for (int j = 0; j < lane_pairs; ++j) columns[halo + j] = own[j];
#pragma unroll
  for (int j = 0; j < halo; ++j) {
    columns[j] = __shfl_up_sync(0xffffffffu, own[lane_pairs - halo + j], 1);
    columns[halo + lane_pairs + j] = __shfl_down_sync(0xffffffffu, own[j], 1);
  }
  // Columns s and s + 1, for odd s too; and the sum of two boxes' columns that are neighbours.
  const auto pair = [&](int s) {
    return s % 2 == 0 ? columns[s / 2] : __byte_perm(columns[s / 2], columns[s / 2 + 1], 0x5432);
  };
  const auto two = [&](int s) { return pair(s) + pair(s + CHANNELS); };
#pragma unroll
  for (int j = 0; j < lane_pairs; ++j) {
    const int s = 2 * halo + 2 * j;
    if (j < CHANNELS) {
      box[j] = pair(s + reach);
#pragma unroll
      for (int k = -RADIUS; k < RADIUS; k += 2) box[j] += two(s + k * CHANNELS);
    } else {
      // The box that lies two pixels to the left has been summed up.
      box[j] = box[j - CHANNELS] + two(s + reach - CHANNELS) - two(s - reach - 2 * CHANNELS);
    }
  }
}

// The samples at the left and the right end of the rows, by sixteens of which some have boxes that
// the border cuts: a thread for border_rows of each, which keeps the sum of its box.
__device__ inline void blur_ends(const unsigned char* in, unsigned char* out, int width,
                                 int height) {
  const int pitch = width * CHANNELS;
  const int left = min(reach > 0 ? lane_samples : 0, pitch);
  const int right = max(left, (pitch - reach) / lane_samples * lane_samples);
  const int i = threadIdx.x % end_lanes;
  if (i >= left + pitch - right) return;
  const int sample = i < left ? i : i + right - left;
  const int first_row = (blockIdx.x * (THREADS / end_lanes) + threadIdx.x / end_lanes) * end_rows;
  const int column = sample / CHANNELS;
  unsigned sum = 0;
  for (int row = first_row - RADIUS; row < first_row + RADIUS; ++row) {
    sum += row_sum(in, row, sample, width, height);
  }
  for (int row = first_row; row < min(first_row + end_rows, height); ++row) {
    sum += row_sum(in, row + RADIUS, sample, width, height);
    out[row * static_cast<long long>(pitch) + sample] =
        box_mean(sum, row, column, width, height);
    sum -= row_sum(in, row - RADIUS, sample, width, height);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    blur(const unsigned char* __restrict__ in, unsigned char* __restrict__ out, int width,
         int height) {
  if (blockIdx.x < END_BLOCKS) return blur_ends(in, out, width, height);
  const int pitch = width * CHANNELS;
  const int lane = threadIdx.x % 32;
  const int across = (pitch + warp_samples - 1) / warp_samples;
  const int block = blockIdx.x - END_BLOCKS;
  const int first = block % across * warp_samples + (lane - 1) * lane_samples;
  const int first_row = (block / across * (THREADS / 32) + threadIdx.x / 32) * ROWS;
  if (first_row >= height) return;  // the whole warp
  const bool inside = first >= 0 && first < pitch;
  const bool stores =
      lane > 0 && lane < 31 && first >= reach && first + lane_samples + reach <= pitch;

  // Row r of the picture lies in ring[(r - first_row + RADIUS + 1) % ring_rows]. At first the ring
  // holds what is above the first box's last row; the row before its first is none, and zero.
  const auto load = [&, column = in + first](int row) {
    return load_samples(column, row, inside, pitch - first, pitch, height);
  };
  uint4 ring[ring_rows];
  ring[0] = {};
  unsigned column_sums[lane_pairs] = {};
#pragma unroll
  for (int i = 1; i < ring_rows - 1; ++i) {
    ring[i] = load(first_row - RADIUS - 1 + i);
    if (i < 2 * RADIUS + 1) add_row(column_sums, ring[i]);
  }
  static_assert(ROWS % ring_rows == 0, "a strip is a number of rounds");
  for (int start = first_row; start < first_row + ROWS; start += ring_rows) {
#pragma unroll
    for (int step = 0; step < ring_rows; ++step) {
      const int row = start + step;
      ring[(step + ring_rows - 1) % ring_rows] = load(row + RADIUS + AHEAD);
      move_down(column_sums, ring[(step + 2 * RADIUS + 1) % ring_rows], ring[step]);
      unsigned box[lane_pairs];
      sum_boxes(column_sums, box);
      unsigned reciprocal = reciprocal_of(diameter * diameter);
      if (row < RADIUS || row >= height - RADIUS) {
        reciprocal = reciprocal_of(max(window_length(row, height), 1) * diameter);
      }
      if (stores && row < height) {
        store_samples(at_row(out + first, row, pitch), means(box, reciprocal));
      }
    }
  }
}

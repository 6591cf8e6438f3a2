// Two sums in one register, no exchange between threads.
//
// Idea:    for small radii all sums fit in 16 bits. A thread marches down 16 columns and the few
//          beside them, and keeps the column sums of two samples in one register: one addition
//          serves both. Windows slide along the row; the division by the box's area is a
//          multiplication whose top byte is the mean.
// Changes: some ten instructions a sample; loads of 16 bytes; neither shared memory nor shuffles.
// Counter: instructions per output; DRAM throughput.
//
// in, out: height rows of `pitch` = width * CHANNELS samples. RADIUS <= 7, RADIUS * CHANNELS <= 8.
// ALIGNMENT: 16, 4 or 1, of which pitch is a multiple. Launch: blocks of THREADS over the 16-sample
// columns (x) and the strips of ROWS rows (y).
#include "common/rows.cuh"
#include "window.cuh"

constexpr int outputs = 16;                                 // samples a thread writes in a row
constexpr int reach = RADIUS * CHANNELS;                    // samples
constexpr int halo = (reach + 3) / 4 * 4;                   // loaded on either side
constexpr int words = (outputs + 2 * halo) / 4;
constexpr int pairs = 2 * words;
static_assert(RADIUS <= 7 && halo <= 8, "sums of 16 bits, and a halo of 8 samples");
constexpr unsigned area = diameter * diameter;
// sum * reciprocal / 2^24, rounded down, is sum / area: exact for area <= 256, with no overflow.
constexpr unsigned reciprocal = ((1u << 24) + area - 1) / area;

struct Row {
  unsigned word[words];
};

template <typename Words>
__device__ inline Words load_words(const unsigned char* line, int at, int pitch) {
  if (at < 0 || at >= pitch) return Words{};
  return *reinterpret_cast<const Words*>(line + at);
}

__device__ inline Row load_row(const unsigned char* in, int row, int first, int pitch, int height) {
  Row loaded = {};
  if (row < 0 || row >= height) return loaded;
  const unsigned char* const line = in + row * static_cast<long long>(pitch);
#if ALIGNMENT == 16
  const uint4 middle = load_words<uint4>(line, first, pitch);
  loaded.word[halo / 4] = middle.x;
  loaded.word[halo / 4 + 1] = middle.y;
  loaded.word[halo / 4 + 2] = middle.z;
  loaded.word[halo / 4 + 3] = middle.w;
#pragma unroll
  for (int w = 0; w < halo / 4; ++w) {
    loaded.word[w] = load_words<unsigned>(line, first - halo + 4 * w, pitch);
    loaded.word[halo / 4 + 4 + w] = load_words<unsigned>(line, first + outputs + 4 * w, pitch);
  }
#elif ALIGNMENT == 4
#pragma unroll
  for (int w = 0; w < words; ++w) {
    loaded.word[w] = load_words<unsigned>(line, first - halo + 4 * w, pitch);
  }
#else
#pragma unroll
  for (int s = 0; s < 4 * words; ++s) {
    const int at = first - halo + s;
    if (at >= 0 && at < pitch) loaded.word[s / 4] |= unsigned{line[at]} << s % 4 * 8;
  }
#endif
  return loaded;
}

// Samples 2 j and 2 j + 1 of a row, 16 bits each.
__device__ inline unsigned pair_of(const Row& row, int j) {
  return __byte_perm(row.word[j / 2], 0, j % 2 ? 0x4342 : 0x4140);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    blur(const unsigned char* __restrict__ in, unsigned char* __restrict__ out, int width,
         int height) {
  const int pitch = width * CHANNELS;
  const int first = (blockIdx.x * THREADS + threadIdx.x) * outputs;
  if (first >= pitch) return;
  const int first_row = block_row() * ROWS, end_row = min(first_row + ROWS, height);

  unsigned column_sums[pairs] = {};
#pragma unroll 4
  for (int r = first_row - RADIUS; r <= first_row + RADIUS; ++r) {
    const Row row = load_row(in, r, first, pitch, height);
#pragma unroll
    for (int j = 0; j < pairs; ++j) column_sums[j] += pair_of(row, j);
  }
  const bool whole_columns =
      first - reach >= 0 && first + outputs - 1 + reach < pitch;

  for (int row = first_row; row < end_row; ++row) {
    const Row entering = load_row(in, row + RADIUS + 1, first, pitch, height);
    const Row leaving = load_row(in, row - RADIUS, first, pitch, height);

    // Pair (s, s + 1) of the columns, for odd s too.
    const auto columns = [&](int s) {
      return s % 2 == 0 ? column_sums[s / 2]
                        : __byte_perm(column_sums[s / 2], column_sums[s / 2 + 1], 0x5432);
    };
    unsigned box[outputs / 2];  // pairs of window sums
#pragma unroll
    for (int j = 0; j < outputs / 2; ++j) {
      const int s = halo + 2 * j;
      if (j < CHANNELS) {
        box[j] = 0;
#pragma unroll
        for (int k = -RADIUS; k <= RADIUS; ++k) box[j] += columns(s + k * CHANNELS);
      } else {
        // The window that lies two pixels to the left has been summed up.
        const int before = s - 2 * CHANNELS;
        box[j] = box[j - CHANNELS] + columns(before + (RADIUS + 1) * CHANNELS) +
                 columns(before + (RADIUS + 2) * CHANNELS) - columns(before - RADIUS * CHANNELS) -
                 columns(before - (RADIUS - 1) * CHANNELS);
      }
    }

    unsigned result[outputs / 4];
    if (whole_columns && row >= RADIUS && row + RADIUS < height) {
#pragma unroll
      for (int w = 0; w < outputs / 4; ++w) {
        const unsigned a = (box[2 * w] & 0xffffu) * reciprocal;
        const unsigned b = (box[2 * w] >> 16) * reciprocal;
        const unsigned c = (box[2 * w + 1] & 0xffffu) * reciprocal;
        const unsigned d = (box[2 * w + 1] >> 16) * reciprocal;
        result[w] = __byte_perm(__byte_perm(a, b, 0x0073), __byte_perm(c, d, 0x0073), 0x5410);
      }
    } else {
#pragma unroll
      for (int w = 0; w < outputs / 4; ++w) {
        result[w] = 0;
#pragma unroll
        for (int b = 0; b < 4; ++b) {
          const int s = first + 4 * w + b;
          if (s >= pitch) continue;
          const unsigned sum = box[2 * w + b / 2] >> b % 2 * 16 & 0xffffu;
          result[w] |= unsigned{box_mean(sum, row, s / CHANNELS, width, height)} << 8 * b;
        }
      }
    }
    unsigned char* const to = out + row * static_cast<long long>(pitch) + first;
#if ALIGNMENT == 16
    *reinterpret_cast<uint4*>(to) = make_uint4(result[0], result[1], result[2], result[3]);
#elif ALIGNMENT == 4
#pragma unroll
    for (int w = 0; w < outputs / 4; ++w) {
      if (first + 4 * w < pitch) *reinterpret_cast<unsigned*>(to + 4 * w) = result[w];
    }
#else
#pragma unroll
    for (int s = 0; s < outputs; ++s) {
      if (first + s < pitch) to[s] = result[s / 4] >> s % 4 * 8;
    }
#endif
#pragma unroll
    for (int j = 0; j < pairs; ++j) column_sums[j] += pair_of(entering, j) - pair_of(leaving, j);
  }
}

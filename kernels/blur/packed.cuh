// 16 samples of a row as a lane holds them: four words as loaded, or eight pairs of 16-bit sums.
#pragma once

#include "window.cuh"

constexpr int lane_samples = 16;
constexpr int lane_pairs = lane_samples / 2;
constexpr int warp_samples = 30 * lane_samples;  // that a warp stores: all lanes but the outermost
static_assert(RADIUS <= 7, "a box's sum has 16 bits");

// Samples 2 j and 2 j + 1, 16 bits each.
__device__ inline unsigned pair_of(const uint4& row, int j) {
  const unsigned word = j < 2 ? row.x : j < 4 ? row.y : j < 6 ? row.z : row.w;
  return __byte_perm(word, 0, j % 2 ? 0x4342 : 0x4140);
}

__device__ inline void add_row(unsigned (&sums)[lane_pairs], const uint4& row) {
#pragma unroll
  for (int j = 0; j < lane_pairs; ++j) sums[j] += pair_of(row, j);
}

__device__ inline void move_down(unsigned (&sums)[lane_pairs], const uint4& entering,
                                 const uint4& leaving) {
#pragma unroll
  for (int j = 0; j < lane_pairs; ++j) sums[j] += pair_of(entering, j) - pair_of(leaving, j);
}

/// The factor that makes the mean of a box of `area` samples the top byte of sum * factor: exact for
/// area < 256. The product has 32 bits, but 33 for an area of 1: that factor serves no sum of 255.
__device__ constexpr unsigned reciprocal_of(unsigned area) {
  return ((1u << 24) + area - 1) / area;
}

/// The means of 16 boxes of one area, of which `reciprocal` is the reciprocal.
__device__ inline uint4 means(const unsigned (&box)[lane_pairs], unsigned reciprocal) {
  unsigned word[4];
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if constexpr (RADIUS == 0) {
      word[w] = __byte_perm(box[2 * w], box[2 * w + 1], 0x6420);  // each sum is the mean
    } else {
      const unsigned a = (box[2 * w] & 0xffffu) * reciprocal;
      const unsigned b = (box[2 * w] >> 16) * reciprocal;
      const unsigned c = (box[2 * w + 1] & 0xffffu) * reciprocal;
      const unsigned d = (box[2 * w + 1] >> 16) * reciprocal;
      word[w] = __byte_perm(__byte_perm(a, b, 0x0073), __byte_perm(c, d, 0x0073), 0x5410);
    }
  }
  return make_uint4(word[0], word[1], word[2], word[3]);
}

/// Stores 16 samples.
__device__ inline void store_samples(unsigned char* to, const uint4& words) {
#if ALIGNMENT == 16
  __stcs(reinterpret_cast<uint4*>(to), words);
#else
  const unsigned word[4] = {words.x, words.y, words.z, words.w};
#if ALIGNMENT == 4
#pragma unroll
  for (int w = 0; w < 4; ++w) reinterpret_cast<unsigned*>(to)[w] = word[w];
#else
#pragma unroll
  for (int s = 0; s < lane_samples; ++s) to[s] = word[s / 4] >> s % 4 * 8;
#endif
#endif
}

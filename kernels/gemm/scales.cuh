// Factors of the elements of operands in 8-bit floats: of a whole matrix, of a row (or column), or of
// 128 steps of k of a row or of 128 columns.
#pragma once

constexpr int steps_of_scale = 128;

// Matches ScaleLayout and its address on the host. No address: every factor is 1.
struct Scales {
  const float* values;
  int shift;  // 2^shift neighbours along m or n share a factor
  int pitch, step_pitch;

  // The factor of element x along m or n, in block `block` of the steps of k.
  __device__ float at(int x, int block) const {
    return values == nullptr ? 1.0F : values[(x >> shift) * pitch + block * step_pitch];
  }
};

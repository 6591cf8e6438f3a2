// The box around a sample, as far as it lies within the picture.
#pragma once

constexpr int diameter = 2 * RADIUS + 1;

/// How many of the positions at - RADIUS ... at + RADIUS lie in [0, extent).
__device__ inline int window_length(int at, int extent) {
  return min(at + RADIUS, extent - 1) - max(at - RADIUS, 0) + 1;
}

/// The mean, rounded down, of a box with this sum around row, column.
__device__ inline unsigned char box_mean(unsigned sum, int row, int column, int width, int height) {
  const int rows = window_length(row, height), columns = window_length(column, width);
  // Most boxes are whole, and division by a constant is a multiplication.
  if (rows == diameter && columns == diameter) return sum / (diameter * diameter);
  return sum / static_cast<unsigned>(rows * columns);
}

/// The sum of one row of the box around sample `sample`; 0 for a row outside the picture.
__device__ inline unsigned row_sum(const unsigned char* in, int row, int sample, int width,
                                   int height) {
  if (row < 0 || row >= height) return 0;
  const int column = sample / CHANNELS;
  const unsigned char* const line = in + row * static_cast<long long>(width * CHANNELS) + sample;
  unsigned sum = 0;
#pragma unroll
  for (int k = -RADIUS; k <= RADIUS; ++k) {
    if (column + k >= 0 && column + k < width) sum += line[k * CHANNELS];
  }
  return sum;
}

// float32 matrices as two float16 ones each: x = 2^-e (high + 2^-11 low), with one exponent e for each row
// of A and each column of B.
//
// Idea:    11 significant bits twice are the 24 of a float, nearly: with both parts rounded to
//          nearest, what is lost is below 2^-24 of the element. float16 has few exponents, so each
//          row (column) is first scaled by a power of two, which is exact, until its largest element
//          lies in [2^14, 2^15).
// Changes: float32 products become three products of the tensor cores' fastest type.
// Counter: DRAM throughput: 4 bytes are read twice, 4 are written.
//
// An element keeps all its bits down to 2^-28 of the largest in its row. Below that it is off by at
// most 2^-51 of the largest; `flag` becomes 1 where an element is below 2^-34 of it, or is not
// finite: such matrices are for other kernels.
//
// Both kernels take A and B in one launch: grid x over the blocks of A, then those of B, z over the
// batch. A_BY_COLUMNS, B_BY_COLUMNS: the exponents belong to columns of memory. All offsets are
// 64-bit.

struct Operand {
  const float* from;
  unsigned* largest;  // magnitude of each row (column), as bits; begins as zeros
  int* exponents;
  unsigned short *high, *low;
  long long rows, columns, from_pitch, to_pitch, from_stride, to_stride, vectors;
  unsigned blocks_across, blocks_down;

  __device__ unsigned blocks() const { return blocks_across * blocks_down; }
};
struct Operands {
  Operand a, b;
};

__device__ inline unsigned magnitude_bits(float x) { return __float_as_uint(x) & 0x7FFFFFFFU; }

template <bool by_columns>
__device__ void find_largest(const Operand& p, unsigned block) {
  const float* const plane = p.from + blockIdx.z * p.from_stride;
  unsigned* const largest = p.largest + blockIdx.z * p.vectors;
  unsigned most = 0;
  if constexpr (by_columns) {
    __shared__ unsigned shared[8][33];
    const unsigned across = block % p.blocks_across, down = block / p.blocks_across;
    const long long column = static_cast<long long>(across) * 32 + threadIdx.x;
    if (column < p.columns) {
#pragma unroll 4
      for (long long row = down * 8 + threadIdx.y; row < p.rows; row += 8LL * p.blocks_down) {
        most = max(most, magnitude_bits(plane[row * p.from_pitch + column]));
      }
    }
    shared[threadIdx.y][threadIdx.x] = most;
    __syncthreads();
    if (threadIdx.y == 0 && column < p.columns) {
      for (int r = 1; r < 8; ++r) most = max(most, shared[r][threadIdx.x]);
      // A maximum does not depend on the order in which it is taken.
      atomicMax(&largest[column], most);
    }
  } else {
    const long long row = static_cast<long long>(block) * 8 + threadIdx.y;
    if (row >= p.rows) return;
#pragma unroll 8
    for (long long column = threadIdx.x; column < p.columns; column += 32) {
      most = max(most, magnitude_bits(plane[row * p.from_pitch + column]));
    }
    most = __reduce_max_sync(0xFFFFFFFFU, most);
    if (threadIdx.x == 0) largest[row] = most;
  }
}

// Launch: 32 x 8 threads; blocks of 8 rows, or of 32 columns and a strip of the rows.
extern "C" __global__ void largest_of(const __grid_constant__ Operands p) {
  const unsigned of_a = p.a.blocks();
  if (blockIdx.x < of_a) {
    find_largest<A_BY_COLUMNS>(p.a, blockIdx.x);
  } else {
    find_largest<B_BY_COLUMNS>(p.b, blockIdx.x - of_a);
  }
}

// The exponent that brings a magnitude into [2^14, 2^15); 0 for a row of zeros.
__device__ inline int exponent_for(unsigned largest) {
  if (largest == 0) return 0;
  int exponent = 0;
  frexpf(__uint_as_float(largest), &exponent);  // largest = f 2^exponent, f in [1/2, 1)
  return 15 - exponent;
}

__device__ inline unsigned short half_bits(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
__device__ inline float widened(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}

// Whether an element is too small beside its row's largest one, or none is finite.
template <bool by_columns>
__device__ bool split_pairs(const Operand& p, unsigned block) {
  const unsigned across = block % p.blocks_across, down = block / p.blocks_across;
  const long long column = 2 * (static_cast<long long>(across) * blockDim.x + threadIdx.x);
  if (column >= p.columns) return false;
  constexpr float low_scale = 2048.0F;
  bool beyond = false;
  for (long long row = down; row < p.rows; row += p.blocks_down) {
    unsigned high_pair = 0, low_pair = 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (column + i >= p.columns) continue;
      const long long vector = blockIdx.z * p.vectors + (by_columns ? column + i : row);
      const unsigned most = p.largest[vector];
      const int exponent = exponent_for(most);
      const float x = p.from[blockIdx.z * p.from_stride + row * p.from_pitch + column + i];
      const float scaled = scalbnf(x, exponent);
      const unsigned short h = half_bits(scaled);
      const unsigned short l = half_bits((scaled - widened(h)) * low_scale);
      high_pair |= static_cast<unsigned>(h) << 16 * i;
      low_pair |= static_cast<unsigned>(l) << 16 * i;
      // 2^15 2^-34; a scaled value of 0 has lost all of x.
      beyond |= most >= 0x7F800000U || (x != 0.0F && fabsf(scaled) < 0x1p-19F);
      if ((by_columns ? row : column + i) == 0) p.exponents[vector] = exponent;
    }
    const long long at = (blockIdx.z * p.to_stride + row * p.to_pitch + column) / 2;
    reinterpret_cast<unsigned*>(p.high)[at] = high_pair;
    reinterpret_cast<unsigned*>(p.low)[at] = low_pair;
  }
  return beyond;
}

// Launch: 256 threads; blocks of 512 columns of a row, and of the rows `blocks_down` further on.
// `to_pitch` is even.
extern "C" __global__ void split(const __grid_constant__ Operands p, unsigned* flag) {
  const unsigned of_a = p.a.blocks();
  const bool beyond = blockIdx.x < of_a
                          ? split_pairs<A_BY_COLUMNS>(p.a, blockIdx.x)
                          : split_pairs<B_BY_COLUMNS>(p.b, blockIdx.x - of_a);
  if (beyond) *flag = 1;
}

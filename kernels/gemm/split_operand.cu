// A float32 matrix as two float16 ones: x = 2^-e (high + 2^-11 low), with one exponent e for each row
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
// BY_COLUMNS: the exponents belong to columns. All offsets are 64-bit.

__device__ inline unsigned magnitude_bits(float x) { return __float_as_uint(x) & 0x7FFFFFFFU; }

// The largest magnitude of each row (column), as bits; `largest` begins as zeros. Launch: 32 x 8
// threads; by rows: grid x over 8 rows each. By columns: grid x over 32 columns, y over strips.
extern "C" __global__ void largest_of(const float* from, unsigned* largest, long long rows,
                                      long long columns, long long pitch, long long from_stride,
                                      long long vectors) {
  const float* const plane = from + blockIdx.z * from_stride;
  unsigned most = 0;
#if BY_COLUMNS
  __shared__ unsigned shared[8][33];
  const long long column = static_cast<long long>(blockIdx.x) * 32 + threadIdx.x;
  if (column < columns) {
#pragma unroll 4
    for (long long row = blockIdx.y * 8 + threadIdx.y; row < rows; row += 8LL * gridDim.y) {
      most = max(most, magnitude_bits(plane[row * pitch + column]));
    }
  }
  shared[threadIdx.y][threadIdx.x] = most;
  __syncthreads();
  if (threadIdx.y == 0 && column < columns) {
    for (int r = 1; r < 8; ++r) most = max(most, shared[r][threadIdx.x]);
    // A maximum does not depend on the order in which it is taken.
    atomicMax(&largest[blockIdx.z * vectors + column], most);
  }
#else
  const long long row = static_cast<long long>(blockIdx.x) * 8 + threadIdx.y;
  if (row >= rows) return;
#pragma unroll 8
  for (long long column = threadIdx.x; column < columns; column += 32) {
    most = max(most, magnitude_bits(plane[row * pitch + column]));
  }
  most = __reduce_max_sync(0xFFFFFFFFU, most);
  if (threadIdx.x == 0) largest[blockIdx.z * vectors + row] = most;
#endif
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

// Launch: 256 threads, grid x over pairs of columns, y over rows (in strides), z over the batch.
// `to_pitch` is even.
extern "C" __global__ void split(const float* from, const unsigned* largest, int* exponents,
                                 unsigned short* high, unsigned short* low, unsigned* flag,
                                 long long rows, long long columns, long long from_pitch,
                                 long long to_pitch, long long from_stride, long long to_stride,
                                 long long vectors) {
  const long long column = 2 * (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x);
  if (column >= columns) return;
  constexpr float low_scale = 2048.0F;
  bool beyond = false;
  for (long long row = blockIdx.y; row < rows; row += gridDim.y) {
    unsigned high_pair = 0, low_pair = 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (column + i >= columns) continue;
      const long long vector = blockIdx.z * vectors + (BY_COLUMNS ? column + i : row);
      const unsigned most = largest[vector];
      const int exponent = exponent_for(most);
      const float x = from[blockIdx.z * from_stride + row * from_pitch + column + i];
      const float scaled = scalbnf(x, exponent);
      const unsigned short h = half_bits(scaled);
      const unsigned short l = half_bits((scaled - widened(h)) * low_scale);
      high_pair |= static_cast<unsigned>(h) << 16 * i;
      low_pair |= static_cast<unsigned>(l) << 16 * i;
      // 2^15 2^-34; a scaled value of 0 has lost all of x.
      beyond |= most >= 0x7F800000U || (x != 0.0F && fabsf(scaled) < 0x1p-19F);
      if ((BY_COLUMNS ? row : column + i) == 0) exponents[vector] = exponent;
    }
    const long long at = (blockIdx.z * to_stride + row * to_pitch + column) / 2;
    reinterpret_cast<unsigned*>(high)[at] = high_pair;
    reinterpret_cast<unsigned*>(low)[at] = low_pair;
  }
  if (beyond) *flag = 1;
}

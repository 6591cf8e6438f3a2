// The columns of a matrix of 16-bit elements in the order in which unaligned_rows.cu multiplies
// them, in rows that begin with cache lines.
//
// Idea:    neighbouring lanes of that kernel read rows of B that are 16 apart. A product may take
//          its k in any order if both operands have it: B's rows are read by number anyway, and
//          A, the smaller operand, is copied so.
// Changes: no lane waits for another's bank, and no element of B is moved.
// Counter: the time beside the product, which begins while this kernel runs.
//
// In 64 columns, pair 8 t + g (two neighbours) becomes pair 4 g + t; columns that the matrix does
// not have are zeros. Launch: 128 threads, grid x over the rows, y over the 16-byte chunks of a row
// of to_pitch elements, z over the batch.
#include "grid_order.cuh"

using Word = unsigned short;

extern "C" __global__ void __launch_bounds__(128)
    sort_columns(const Word* from, Word* to, int columns, int to_pitch, long long from_pitch,
                 long long from_stride) {
  // The product may begin: its blocks fit beside these, and it waits for this kernel's end itself.
  let_next_grid_begin();
  const unsigned chunk = blockIdx.y * blockDim.x + threadIdx.x;
  if (chunk >= to_pitch / 8) return;
  const Word* const source = from + blockIdx.z * from_stride + blockIdx.x * from_pitch;
  const unsigned first = chunk / 8 * 64 + chunk % 8 * 2;
  const auto word_at = [&](unsigned column) -> unsigned {
    return column < columns ? source[column] : 0U;
  };
  uint4 sorted;
  unsigned* const pairs = &sorted.x;
#pragma unroll
  for (unsigned t = 0; t < 4; ++t) {
    pairs[t] = word_at(first + 16 * t) | word_at(first + 16 * t + 1) << 16;
  }
  const long long to_row = static_cast<long long>(blockIdx.z) * gridDim.x + blockIdx.x;
  *reinterpret_cast<uint4*>(to + to_row * to_pitch + 8 * chunk) = sorted;
}

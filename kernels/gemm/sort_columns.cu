// The columns of a matrix of 16-bit elements in the order in which unaligned_rows.cu multiplies
// them, in rows that begin with cache lines.
//
// Idea:    neighbouring lanes of that kernel read rows of B that are 16 apart. A product may take
//          its k in any order if both operands have it: B's rows are read by number anyway, and
//          A, the smaller operand, is copied so; a column-major A is transposed on the way.
// Changes: no lane waits for another's bank, and no element of B is moved.
// Counter: the time beside the product, which begins while this kernel runs.
//
// In 64 columns, pair 8 t + g (two neighbours) becomes pair 4 g + t; columns that the matrix does
// not have are zeros. All offsets are 64-bit.
#include "grid_order.cuh"
#include "whole_store.cuh"

using Word = unsigned short;

// Pairs g, g + 8, g + 16 and g + 24 of 64 columns as a chunk of 16 bytes; `word_at(c)` is column c,
// counted from the first of pair g. All are read before one is used.
template <typename WordAt>
__device__ inline uint4 sorted_chunk(const WordAt& word_at) {
  unsigned words[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) words[i] = word_at(i / 2 * 16 + i % 2);
  return make_uint4(words[0] | words[1] << 16, words[2] | words[3] << 16,
                    words[4] | words[5] << 16, words[6] | words[7] << 16);
}

// Sorts a row-major matrix. Launch: 128 threads, grid x over the rows, y over the 16-byte chunks of a
// row of to_pitch elements, z over the batch.
extern "C" __global__ void __launch_bounds__(128)
    sort_columns(const Word* from, Word* to, unsigned rows, int columns, int to_pitch,
                 long long from_pitch, long long from_stride) {
  // The product may begin: its blocks fit beside these, and it waits for this kernel's end itself.
  let_next_grid_begin();
  const unsigned chunk = blockIdx.y * blockDim.x + threadIdx.x;
  if (chunk >= to_pitch / 8) return;
  const Word* const source = from + blockIdx.z * from_stride + blockIdx.x * from_pitch;
  const unsigned first = chunk / 8 * 64 + chunk % 8 * 2;
  const uint4 sorted = sorted_chunk([&](unsigned c) -> unsigned {
    return first + c < columns ? source[first + c] : 0U;
  });
  const long long to_row = static_cast<long long>(blockIdx.z) * rows + blockIdx.x;
  store_whole(reinterpret_cast<uint4*>(to + to_row * to_pitch + 8 * chunk), sorted);
}

// Sorts a column-major matrix, whose columns are from_pitch elements apart. A block takes 64 columns
// of 32 rows. A warp reads eight columns and makes a chunk of each row; chunks cross shared memory,
// so that the eight of a row leave as one line. Launch: 256 threads, grid x over 64 columns each,
// y over 32 rows each (in strides), z over the batch.
extern "C" __global__ void __launch_bounds__(256)
    sort_transposed(const Word* from, Word* to, unsigned rows, int columns, int to_pitch,
                    long long from_pitch, long long from_stride) {
  let_next_grid_begin();
  constexpr unsigned rows_of_block = 32, chunks = 8;  // a warp for each chunk of a row
  __shared__ uint4 tile[rows_of_block][chunks];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned row_to_store = threadIdx.x / chunks, chunk_to_store = threadIdx.x % chunks;
  const unsigned first = blockIdx.x * 64 + warp * 2;
  const Word* const source = from + blockIdx.z * from_stride + first * from_pitch;
  Word* const target = to + static_cast<long long>(blockIdx.z) * rows * to_pitch +
                       blockIdx.x * 64 + chunk_to_store * 8;
  for (unsigned first_row = blockIdx.y * rows_of_block; first_row < rows;
       first_row += gridDim.y * rows_of_block) {
    const unsigned row = first_row + lane, to_row = first_row + row_to_store;
    const int left = row < rows ? columns - static_cast<int>(first) : 0;
    const Word* const piece = source + row;
    // Lanes store chunks of rows a line apart; the exchange sends them to other banks.
    tile[lane][warp ^ lane % chunks] = sorted_chunk([&](int c) -> unsigned {
      // Outside of the condition, where the compiler would compute each address from its beginning.
      const Word* const at = piece + c * from_pitch;
      return c < left ? *at : 0U;
    });
    __syncthreads();
    if (to_row < rows) {
      store_whole(reinterpret_cast<uint4*>(target + static_cast<long long>(to_row) * to_pitch),
                  tile[row_to_store][chunk_to_store ^ row_to_store % chunks]);
    }
    __syncthreads();
  }
}

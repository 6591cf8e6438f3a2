// Copies of a matrix in a layout that the copy engine and the tensor cores can take.
//
// Idea:    rows whose pitch is no multiple of 16 bytes are copied to rows whose pitch is, those of
//          both operands in one launch; a matrix that must be read along its other index is
//          transposed through shared memory.
// Changes: what is read once and written once here would be read with 2-byte loads, many times.
// Counter: DRAM throughput.
//
// WORD is an unsigned integer of an element's size. All offsets are 64-bit.
#include "grid_order.cuh"
#include "row_copy.cuh"

using Word = WORD;

// One matrix of a launch.
struct Part {
  RowCopy<Word> copy;
  long long from_stride, to_stride;  // of the batch, elements
};

struct Parts {
  Part at[2];
  unsigned blocks_of_first;
  int follows_turning;
};

// Both operands of a product, or one, to rows that begin with whole chunks. Launch: 256 threads, in
// grid x the blocks of the first matrix and those of the second, each for 256 chunks of a band of
// rows; y over the bands, z over the batch. After the kernel that turns the product's other operand it
// copies beside it: that one has waited for what came before, and this one ends after it, so that the
// product waits for both.
extern "C" __global__ void __launch_bounds__(256) copy_rows(const __grid_constant__ Parts parts) {
  // The product may prepare itself; it waits for this kernel's end before it reads.
  let_next_grid_begin();
  const bool is_second = blockIdx.x >= parts.blocks_of_first;
  const Part& part = parts.at[is_second];
  const unsigned block = blockIdx.x - (is_second ? parts.blocks_of_first : 0);
  RowCopy<Word> copy = part.copy;
  copy.from += blockIdx.z * part.from_stride;
  copy.to += blockIdx.z * part.to_stride;
  if (!parts.follows_turning) await_previous_grid();
  copy.copy(static_cast<long long>(blockIdx.y) * copy.band, block * 256 + threadIdx.x);
  if (parts.follows_turning) await_previous_grid();
}

// Four neighbouring elements.
struct alignas(4 * sizeof(Word)) Pack {
  Word at[4];
};

// to[column][row] = from[row][column], in tiles of 64 x 64: a thread reads four packs, one below the
// other, and turns these 4 x 4 elements in registers; packs of the result cross shared memory, so
// that rows of it are written as packs too. Between the last row and to_pitch anything is written.
// 16 bytes divide to_pitch and `to`. Launch: 256 threads, grid x over 64 rows each, y over 64
// columns each (in strides), z over the batch.
extern "C" __global__ void __launch_bounds__(256)
    transpose_rows(const Word* from, Word* to, long long rows, long long columns,
                   long long from_pitch, long long to_pitch, long long from_stride,
                   long long to_stride) {
  let_next_grid_begin();
  constexpr int side = 64;
  __shared__ Pack tile[side][side / 4];  // [column][four rows, exchanged]
  const Word* const source = from + blockIdx.z * from_stride;
  Word* const target = to + blockIdx.z * to_stride;
  const bool reads_packs =
      reinterpret_cast<unsigned long long>(source) % sizeof(Pack) == 0 && from_pitch % 4 == 0;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  const long long first_row = static_cast<long long>(blockIdx.x) * side;
  for (long long first = static_cast<long long>(blockIdx.y) * side; first < columns;
       first += static_cast<long long>(gridDim.y) * side) {
    const long long row = first_row + y * 4, column = first + x * 4;
    Pack read[4] = {};
    if (reads_packs && row + 4 <= rows && column + 4 <= columns) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        read[r] = *reinterpret_cast<const Pack*>(source + (row + r) * from_pitch + column);
      }
    } else {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          if (row + r < rows && column + c < columns) {
            read[r].at[c] = source[(row + r) * from_pitch + column + c];
          }
        }
      }
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      // Lanes with neighbouring x store four rows apart; the exchange sends them to other banks.
      tile[x * 4 + c][y ^ x] = {read[0].at[c], read[1].at[c], read[2].at[c], read[3].at[c]};
    }
    __syncthreads();
#pragma unroll
    for (int c = y; c < side; c += 16) {
      const long long to_row = first + c, to_column = first_row + x * 4;
      if (to_row < columns && to_column < to_pitch) {
        *reinterpret_cast<Pack*>(target + to_row * to_pitch + to_column) = tile[c][x ^ c / 4];
      }
    }
    __syncthreads();
  }
}

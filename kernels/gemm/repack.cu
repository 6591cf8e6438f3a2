// Copies of a matrix in a layout that the copy engine and the tensor cores can take.
//
// Idea:    rows whose pitch is no multiple of 16 bytes are copied to rows whose pitch is; a matrix
//          that must be read along its other index is transposed through shared memory.
// Changes: what is read once and written once here would be read with 2-byte loads, many times.
// Counter: DRAM throughput.
//
// WORD is an unsigned integer of an element's size. All offsets are 64-bit.
using Word = WORD;

// `rows` rows of `columns` elements, `from_pitch` apart, to rows `to_pitch` apart (elements; 16 bytes
// divide to_pitch and `to`), `chunks` chunks of 16 bytes each. Launch: 256 threads, grid x over the
// chunks of a matrix, z over the batch.
extern "C" __global__ void copy_rows(const Word* from, Word* to, long long rows, long long columns,
                                     long long from_pitch, long long to_pitch,
                                     long long from_stride, long long to_stride,
                                     unsigned chunks) {
  constexpr int elements = 16 / sizeof(Word);
  const unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x +
                               threadIdx.x;
  // Nearly all matrices have fewer than 2^32 chunks, and a 64-bit division takes far longer.
  const unsigned long long row = i >> 32 ? i / chunks : static_cast<unsigned>(i) / chunks;
  const long long column = static_cast<long long>(i - row * chunks) * elements;
  if (row < rows) {
    const Word* const plane = from + blockIdx.z * from_stride;
    const Word* const end = plane + (rows - 1) * from_pitch + columns;
    const Word* const source = plane + row * from_pitch + column;
    const auto address = reinterpret_cast<unsigned long long>(source);
    const auto* const aligned = reinterpret_cast<const uint4*>(address & ~15ULL);
    uint4 result;
    if (reinterpret_cast<const Word*>(aligned) >= plane &&
        reinterpret_cast<const Word*>(aligned + 2) <= end) {
      // Two aligned chunks hold the 16 bytes; the second is the neighbour's first.
      const uint4 low = __ldg(aligned), high = __ldg(aligned + 1);
      const unsigned words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
      const unsigned skipped = address % 16 / 4, bits = address % 4 * 8;
      unsigned out[4];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        unsigned first = words[w], second = words[w + 1];
#pragma unroll
        for (unsigned s = 1; s < 4; ++s) {
          if (skipped == s) {
            first = words[w + s];
            second = words[min(w + s + 1, 7u)];
          }
        }
        out[w] = __funnelshift_r(first, second, bits);
      }
      result = make_uint4(out[0], out[1], out[2], out[3]);
    } else {
      alignas(16) Word values[elements];
#pragma unroll
      for (int e = 0; e < elements; ++e) values[e] = column + e < columns ? source[e] : Word(0);
      result = *reinterpret_cast<const uint4*>(values);
    }
    *reinterpret_cast<uint4*>(to + blockIdx.z * to_stride + row * to_pitch + column) = result;
  }
  asm volatile("griddepcontrol.launch_dependents;");
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
  asm volatile("griddepcontrol.launch_dependents;");
}

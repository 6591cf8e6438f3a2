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

// to[column][row] = from[row][column]. Launch: 32 x 8 threads, grid x over 32 rows each, y over 32
// columns each (in strides), z over the batch.
extern "C" __global__ void transpose_rows(const Word* from, Word* to, long long rows,
                                          long long columns, long long from_pitch,
                                          long long to_pitch, long long from_stride,
                                          long long to_stride) {
  __shared__ Word tile[32][33];
  const Word* const source = from + blockIdx.z * from_stride;
  Word* const target = to + blockIdx.z * to_stride;
  const long long first_row = static_cast<long long>(blockIdx.x) * 32;
  for (long long first = static_cast<long long>(blockIdx.y) * 32; first < columns;
       first += static_cast<long long>(gridDim.y) * 32) {
    for (int r = threadIdx.y; r < 32; r += 8) {
      const long long row = first_row + r, column = first + threadIdx.x;
      if (row < rows && column < columns) tile[r][threadIdx.x] = source[row * from_pitch + column];
    }
    __syncthreads();
    for (int c = threadIdx.y; c < 32; c += 8) {
      const long long row = first_row + threadIdx.x, column = first + c;
      if (row < rows && column < columns) target[column * to_pitch + row] = tile[threadIdx.x][c];
    }
    __syncthreads();
  }
  asm volatile("griddepcontrol.launch_dependents;");
}

// Sums of two 8 x 8 matrices that a warp writes to a box of C in shared memory, or reads from one.
#pragma once

#include "tensor_addend.cuh"

// Two sums as neighbours of 16 bits, rounded as narrow() rounds.
__device__ inline unsigned pair_of(float low, float high, bfloat16) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ inline unsigned pair_of(float low, float high, float16) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// Four 8 x 8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
__device__ inline void store_matrices(unsigned char* row, unsigned a, unsigned b, unsigned c,
                                      unsigned d) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
      "r"(a), "r"(b), "r"(c), "r"(d)
      : "memory");
}

// Chunk `chunk` of row `row` of a box, or of a narrow one. Rows that leave at once begin at the same
// place in both: a warp that stores by itself knows when its own rows have left, not when others' have.
__device__ inline unsigned char* chunk_of_box(unsigned char* box, int row, int chunk, bool is_narrow) {
  const int first = row / c_box_rows * c_box_rows;
  return box + (is_narrow ? first * row_bytes + (row - first) * tail_row_bytes + 16 * chunk
                          : row * row_bytes + 16 * (chunk ^ row % 8));
}

// This lane's address for ldmatrix and stmatrix of two matrices of 16 rows by 8 columns: chunks
// `chunk` and the next of the warp's 16 rows in a box.
__device__ inline unsigned char* chunk_of_lane(unsigned char* box, int chunk, bool is_narrow) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  const int row = 16 * warp + lane % 8 + 8 * (lane / 8 % 2);
  return chunk_of_box(box, row, chunk + lane / 16, is_narrow);
}
// Two neighbours of 32 bits.
template <typename Word>
struct alignas(2 * sizeof(Word)) Pair {
  Word x, y;
};
// This thread's part `i` of the same where they are words of 32 bits: a matrix is two chunks.
template <typename Word>
__device__ inline Pair<Word>* part_of_thread(unsigned char* box, int chunk, bool is_narrow, int i) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  const int row = 16 * warp + lane / 4 + 8 * (i % 2);
  const int at = 2 * (chunk + i / 2) + lane % 4 / 2;
  return reinterpret_cast<Pair<Word>*>(chunk_of_box(box, row, at, is_narrow) + lane % 2 * 8);
}

template <typename Short>
__device__ inline void write_chunks(unsigned char* box, int chunk, const float (&v)[8],
                                    bool is_narrow, Short type) {
  store_matrices(chunk_of_lane(box, chunk, is_narrow), pair_of(v[0], v[1], type),
                 pair_of(v[2], v[3], type), pair_of(v[4], v[5], type), pair_of(v[6], v[7], type));
}
template <typename Word>
__device__ inline void write_words(unsigned char* box, int chunk, const Word (&v)[8],
                                   bool is_narrow) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    *part_of_thread<Word>(box, chunk, is_narrow, i) = {v[2 * i], v[2 * i + 1]};
  }
}
__device__ inline void write_chunks(unsigned char* box, int chunk, const float (&v)[8],
                                    bool is_narrow, float) {
  write_words(box, chunk, v, is_narrow);
}
__device__ inline void write_chunks(unsigned char* box, int chunk, const int (&v)[8],
                                    bool is_narrow, int) {
  write_words(box, chunk, v, is_narrow);
}

template <typename Short>
__device__ inline void read_chunks(float (&v)[8], unsigned char* box, int chunk, bool is_narrow,
                                   Short type) {
  unsigned pairs[4];
  load_matrices(pairs, chunk_of_lane(box, chunk, is_narrow));
#pragma unroll
  for (int i = 0; i < 4; ++i) widen_pair(v[2 * i], v[2 * i + 1], pairs[i], type);
}
__device__ inline void read_chunks(float (&v)[8], unsigned char* box, int chunk, bool is_narrow,
                                   float) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Pair<float> part = *part_of_thread<float>(box, chunk, is_narrow, i);
    v[2 * i] = part.x;
    v[2 * i + 1] = part.y;
  }
}
__device__ inline void read_chunks(int (&)[8], unsigned char*, int, bool, int) {}  // none is added

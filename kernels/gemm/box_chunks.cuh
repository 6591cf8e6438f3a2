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

// This lane's address for ldmatrix and stmatrix of two matrices of 16 rows by 8 columns: chunks
// `chunk` and the next of the warp's 16 rows in a box.
__device__ inline unsigned char* chunk_of_lane(unsigned char* box, int chunk) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  const int row = 16 * warp + lane % 8 + 8 * (lane / 8 % 2);
  return box + row * row_bytes + 16 * ((chunk + lane / 16) ^ row % 8);
}
// Two neighbours of 32 bits.
template <typename Word>
struct alignas(2 * sizeof(Word)) Pair {
  Word x, y;
};
// This thread's part `i` of the same where they are words of 32 bits: a matrix is two chunks.
template <typename Word>
__device__ inline Pair<Word>* part_of_thread(unsigned char* box, int chunk, int i) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  const int row = 16 * warp + lane / 4 + 8 * (i % 2);
  const int at = 2 * (chunk + i / 2) + lane % 4 / 2;
  return reinterpret_cast<Pair<Word>*>(box + row * row_bytes + 16 * (at ^ row % 8) + lane % 2 * 8);
}

template <typename Short>
__device__ inline void write_chunks(unsigned char* box, int chunk, const float (&v)[8],
                                    Short type) {
  store_matrices(chunk_of_lane(box, chunk), pair_of(v[0], v[1], type), pair_of(v[2], v[3], type),
                 pair_of(v[4], v[5], type), pair_of(v[6], v[7], type));
}
template <typename Word>
__device__ inline void write_words(unsigned char* box, int chunk, const Word (&v)[8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) *part_of_thread<Word>(box, chunk, i) = {v[2 * i], v[2 * i + 1]};
}
__device__ inline void write_chunks(unsigned char* box, int chunk, const float (&v)[8], float) {
  write_words(box, chunk, v);
}
__device__ inline void write_chunks(unsigned char* box, int chunk, const int (&v)[8], int) {
  write_words(box, chunk, v);
}

template <typename Short>
__device__ inline void read_chunks(float (&v)[8], unsigned char* box, int chunk, Short type) {
  unsigned pairs[4];
  load_matrices(pairs, chunk_of_lane(box, chunk));
#pragma unroll
  for (int i = 0; i < 4; ++i) widen_pair(v[2 * i], v[2 * i + 1], pairs[i], type);
}
__device__ inline void read_chunks(float (&v)[8], unsigned char* box, int chunk, float) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Pair<float> part = *part_of_thread<float>(box, chunk, i);
    v[2 * i] = part.x;
    v[2 * i + 1] = part.y;
  }
}
__device__ inline void read_chunks(int (&)[8], unsigned char*, int, int) {}  // none is added

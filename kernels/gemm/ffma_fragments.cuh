// The tiles of A and B in shared memory as kernels/gemm/ffma_tiles.cu has them, and what a thread
// reads of them.
#pragma once

#include "barrier.cuh"
#include "shared_words.cuh"

constexpr int BK = 32;                                       // 128 bytes of a row of A
constexpr int lanes_across = 32 / LANES_DOWN;                // the warp as a rectangle of threads
constexpr int WM = LANES_DOWN * RM, WN = lanes_across * RN;  // what a warp computes
constexpr int warps_across = BN / WN;
constexpr int warps_of_slice = BM / WM * warps_across;
constexpr int warps = warps_of_slice * SLICES;
// A warpgroup that does nothing but copy, and hands its registers to the others.
constexpr int copying_warps = 4;
constexpr int threads = 32 * (warps + copying_warps);
constexpr int quads = BK / 4 / SLICES;  // of a buffer, in a slice: four steps each
static_assert(BM % WM == 0 && BN % WN == 0 && WM % 8 == 0 && RN % 4 == 0, "tiles divide evenly");

// Where an operand's tiles come from (ffma_copies.cuh): boxes of a map; words of rows that lie in
// memory as in the buffer; words of rows that lie the other way; or, of B, boxes of two maps.
enum Source { boxes = 0, words = 1, transposed_words = 2, paired_boxes = 3 };

// Words between the steps of a tile that is transposed on its way.
__host__ __device__ constexpr int pitch_of_transposed(int extent) { return extent + 4; }
constexpr int A_PITCH = A_SOURCE == transposed_words ? pitch_of_transposed(BM) : BM;
// Rows of B that are a multiple of eight bytes apart, but not of 16: every second one makes a
// matrix that a map describes, and boxes of odd steps begin half a chunk before the tile.
constexpr bool has_pairs = B_SOURCE == paired_boxes;
constexpr int maps_of_b = has_pairs ? 2 : 1;
constexpr int half_chunk = 2;  // words
constexpr int B_PITCH = B_SOURCE == transposed_words ? pitch_of_transposed(BN)
                        : has_pairs              ? BN + 2 * half_chunk
                                                 : BN;

struct alignas(A_BY_STEPS ? 128 : 1024) Stage {
  float a[A_PITCH * BK];  // step after step if A_BY_STEPS; else rows of 128 bytes, chunks exchanged
  float b[BK * B_PITCH];  // step after step; of pairs the even ones, then the odd ones
};

struct Place {
  int row, column;
};

// Four lanes side by side have four rows and, where there are that many, four columns: a load of 16
// bytes that lanes of one such four share takes twice as long, whatever the other lanes read.
__device__ inline Place place_of_lane(int lane) {
  static_assert(LANES_DOWN == 2 || LANES_DOWN == 4 || LANES_DOWN == 8, "a warp's shapes");
  const int in_four = lane % 4, four = lane / 4;
  const int other = (in_four ^ four % 4) + four / 4 * 4;
  if (LANES_DOWN == 4) return {in_four, other};
  if (LANES_DOWN == 8) return {other, in_four};
  return {lane / 4 % 2, in_four + lane / 8 * 4};
}

// The factors of B of a thread for step `step` of a quad: fours of neighbours, those of the warp's
// lanes side by side.
constexpr int bytes_of_b_quad = 4 / maps_of_b * B_PITCH * 4;
__device__ inline void load_step_of_b(float (&to)[RN], unsigned quad, int step) {
  const int row = has_pairs ? step % 2 * (BK / 2) + step / 2 : step;
  const bool is_behind = has_pairs && step % 2;
#pragma unroll
  for (int j = 0; j < RN; j += 4) {
    const unsigned from = quad + (row * B_PITCH + j * lanes_across) * 4;
    if (is_behind) {
      load_words<2>(&to[j], from + half_chunk * 4);
      load_words<2>(&to[j + 2], from + half_chunk * 8);
    } else {
      load_words<4>(&to[j], from);
    }
  }
}

#if A_BY_STEPS
// This thread's rows of A, two steps of them: fours of neighbours.
struct RowsOfA {
  float of[2][RM];

  __device__ static constexpr int row(int i) { return i / 4 * 4 * LANES_DOWN + i % 4; }
  __device__ static unsigned start(Stage& stage, int warp_row, int lane_row, int quad) {
    return of_quad(shared_address(stage.a) + (warp_row + lane_row * 4) * 4, quad);
  }
  __device__ static unsigned of_quad(unsigned stage, int quad) {
    return stage + quad * 4 * A_PITCH * 4;
  }
  __device__ void load_step(unsigned quad, int step) {
#pragma unroll
    for (int i = 0; i < RM; i += 4) {
      load_words<4>(&of[step % 2][i], quad + (step % 4 * A_PITCH + i * LANES_DOWN) * 4);
    }
  }
  __device__ void load_first(unsigned quad) { load_step(quad, 0); }
  // Before a step is multiplied: the one after it, which lies in `quad`.
  __device__ void load_before(int next, unsigned quad) { load_step(quad, next); }
  __device__ void load_after(int, int, unsigned) {}
  __device__ float value(int i, int step) const { return of[step % 2][i]; }
};
#else
// This thread's rows of A, four steps of each: one quad. Chunk c of row r lies at c xor r % 8.
// Stages start at multiples of 1,024, so that the bits of the chunk stand alone in an address, and
// the address of another quad differs by an exclusive or.
struct RowsOfA {
  float4 of[RM];

  __device__ static constexpr int row(int i) { return i * LANES_DOWN; }
  __device__ static unsigned start(Stage& stage, int warp_row, int lane_row, int quad) {
    const int first = warp_row + lane_row;
    return shared_address(stage.a) + first * BK * 4 + ((first % 8) ^ quad) * 16;
  }
  __device__ static unsigned of_quad(unsigned stage, int quad) { return stage ^ quad * 16; }
  __device__ void load_row(int i, unsigned quad) {
    const unsigned at = (quad ^ (i * LANES_DOWN % 8 * 16)) + i * LANES_DOWN * BK * 4;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(of[i].x), "=f"(of[i].y), "=f"(of[i].z), "=f"(of[i].w)
                 : "r"(at));
  }
  __device__ void load_first(unsigned quad) {
#pragma unroll
    for (int i = 0; i < RM; ++i) load_row(i, quad);
  }
  __device__ void load_before(int, unsigned) {}
  // A row's last use in a quad: its registers take the next four steps.
  __device__ void load_after(int i, int step, unsigned next) {
    if (step % 4 == 3) load_row(i, next);
  }
  __device__ float value(int i, int step) const {
    return step % 4 == 0   ? of[i].x
           : step % 4 == 1 ? of[i].y
           : step % 4 == 2 ? of[i].z
                           : of[i].w;
  }
};
#endif

// The tiles of A and B in shared memory as kernels/gemm/ffma_tiles.cu has them, and what a thread
// reads of them.
#pragma once

#include "barrier.cuh"

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
// memory as in the buffer; or words of rows that lie the other way.
enum Source { boxes = 0, words = 1, turned_words = 2 };

// Words between the steps of a tile that is turned on its way.
__host__ __device__ constexpr int pitch_of_turned(int extent) { return extent + 4; }
constexpr int A_PITCH = A_SOURCE == turned_words ? pitch_of_turned(BM) : BM;
constexpr int B_PITCH = B_SOURCE == turned_words ? pitch_of_turned(BN) : BN;

struct alignas(A_BY_STEPS ? 128 : 1024) Stage {
  float a[A_PITCH * BK];  // step after step if A_BY_STEPS; else rows of 128 bytes, chunks exchanged
  float b[BK * B_PITCH];  // step after step
};

struct Place {
  int row, column;
};

// Half-warps are as square as can be: none reads more than 128 different bytes of A or B at once.
__device__ inline Place place_of_lane(int lane) {
  constexpr int half_down = LANES_DOWN <= 2 ? LANES_DOWN : LANES_DOWN / 2;
  if (half_down == LANES_DOWN) return {lane % half_down, lane / half_down};
  return {lane / 16 * half_down + lane % half_down, lane % 16 / half_down};
}

// What a thread multiplies in step `step` of a quad, from a tile that lies step after step: fours
// of neighbours, those of `lanes` lanes side by side.
template <int pitch, int lanes, int count>
__device__ inline void load_step(float (&to)[count], const float* quad, int step) {
#pragma unroll
  for (int j = 0; j < count; j += 4) {
    *reinterpret_cast<float4*>(&to[j]) =
        *reinterpret_cast<const float4*>(quad + step * pitch + j * lanes);
  }
}

#if A_BY_STEPS
// This thread's rows of A, two steps of them: fours of neighbours. Those of one step then lie in
// registers of both banks in turn, and the assembler finds sums in the other bank for each. Values
// of a step out of quads, below, have every fourth register: one bank.
struct RowsOfA {
  using Address = const float*;
  float of[2][RM];

  __device__ static constexpr int row(int i) { return i / 4 * 4 * LANES_DOWN + i % 4; }
  __device__ static Address start(Stage& stage, int warp_row, int lane_row, int quad) {
    return stage.a + quad * 4 * A_PITCH + warp_row + lane_row * 4;
  }
  __device__ static Address in_stage(Address start, int stage) {
    return start + stage * (sizeof(Stage) / sizeof(float));
  }
  __device__ static Address of_quad(Address stage, int quad) {
    return stage + quad * 4 * A_PITCH;
  }
  __device__ void load_first(Address quad) {
    load_step<A_PITCH, LANES_DOWN>(of[0], quad, 0);
  }
  // Before a step is multiplied: the one after it.
  __device__ void load_before(int step, Address now, Address next) {
    load_step<A_PITCH, LANES_DOWN>(of[(step + 1) % 2], step < 3 ? now : next, (step + 1) % 4);
  }
  __device__ void load_after(int, int, Address) {}
  __device__ float value(int i, int step) const { return of[step % 2][i]; }
};
#else
// This thread's rows of A, four steps of each: one quad. Chunk c of row r lies at c xor r % 8.
// Stages start at multiples of 1,024, so that the bits of the chunk stand alone in an address, and
// the address of another quad differs by an exclusive or.
struct RowsOfA {
  using Address = unsigned;
  float4 of[RM];

  __device__ static constexpr int row(int i) { return i * LANES_DOWN; }
  __device__ static Address start(Stage& stage, int warp_row, int lane_row, int quad) {
    const int first = warp_row + lane_row;
    return shared_address(stage.a) + first * BK * 4 + ((first % 8) ^ quad) * 16;
  }
  __device__ static Address in_stage(Address start, int stage) {
    return start + stage * sizeof(Stage);
  }
  __device__ static Address of_quad(Address stage, int quad) { return stage ^ quad * 16; }
  __device__ void load_row(int i, Address quad) {
    const unsigned at = (quad ^ (i * LANES_DOWN % 8 * 16)) + i * LANES_DOWN * BK * 4;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(of[i].x), "=f"(of[i].y), "=f"(of[i].z), "=f"(of[i].w)
                 : "r"(at));
  }
  __device__ void load_first(Address quad) {
#pragma unroll
    for (int i = 0; i < RM; ++i) load_row(i, quad);
  }
  __device__ void load_before(int, Address, Address) {}
  // A row's last use in a quad: its registers take the next four steps.
  __device__ void load_after(int i, int step, Address next) {
    if (step == 3) load_row(i, next);
  }
  __device__ float value(int i, int step) const {
    return step == 0 ? of[i].x : step == 1 ? of[i].y : step == 2 ? of[i].z : of[i].w;
  }
};
#endif

// How the buffers of kernels/gemm/ffma_tiles.cu are filled: by the copy engine where rows of an
// operand are whole 16-byte chunks that lie as the buffer wants them; else word by word, by a
// warpgroup that does nothing else, from rows that begin anywhere, transposed on the way if need be.
#pragma once

#include "bulk_copy.cuh"
#include "ffma_fragments.cuh"

struct Maps {
  TensorMap a, b[maps_of_b];
};

struct Arguments {
  int m, n, k, phases_of_split;
  long long c_leading, c_stride, partial_pitch;
  float* c;
  const float* bias;
  float* partial;     // batch x splits x m rows of n elements
  const float *a, *b;  // of operands that no map describes
  long long a_stride, b_stride;
  int a_pitch, b_pitch;  // in bytes
  float alpha, beta;
  const unsigned* flag;
};

// Each counts once for the barrier of a full buffer: the thread that starts copies of boxes, and
// every thread that copies words.
constexpr bool b_is_boxes = B_SOURCE == boxes || B_SOURCE == paired_boxes;
constexpr bool has_boxes = A_SOURCE == boxes || b_is_boxes;
constexpr bool has_words = A_SOURCE != boxes || !b_is_boxes;
constexpr int copying_threads = has_words ? 32 * copying_warps : 1;
constexpr int arrivals_of_copiers = (has_words ? copying_threads : 0) + (has_boxes ? 1 : 0);
// Arrivals of a buffer's readers: one a warp. Before words are written to it, every thread for
// itself: racecheck follows a thread's own arrival, but not that of another for its warp.
constexpr int arrivals_of_readers = has_words ? 32 * warps : warps;
constexpr int copies_at_once = 2;  // rows or groups of rows whose instructions are written out
constexpr int bytes_of_boxes =
    (A_SOURCE == boxes ? BM * BK * 4 : 0) + (b_is_boxes ? BK * B_PITCH * 4 : 0);

// One word to shared memory.
__device__ inline void copy_word(unsigned to, const char* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

// The same, or a zero if the word lies outside.
__device__ inline void copy_word_if(unsigned to, const char* from, bool is_inside) {
  asm volatile(
      "{\n"
      ".reg .pred outside;\n"
      "setp.eq.u32 outside, %2, 0;\n"
      "cp.async.ca.shared.global [%0], [%1], 4, outside;\n"
      "}" ::"r"(to),
      "l"(from), "r"(static_cast<unsigned>(is_inside))
      : "memory");
}

// Arrives at the barrier as soon as all of this thread's words have come.
__device__ inline void arrive_when_copied(Barrier& barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(
                   shared_address(&barrier))
               : "memory");
}

__device__ inline void wait_for_words() { asm volatile("cp.async.wait_all;" ::: "memory"); }

__device__ inline const char* row_at(const char* first, int row, int pitch) {
  return first + static_cast<unsigned long long>(static_cast<unsigned>(row)) *
                     static_cast<unsigned>(pitch);
}

// The words of an operand's tiles that one thread copies: a buffer's, phase after phase. Pitches are
// in bytes. What lies outside along k arrives as zeros; rows and columns that do not exist meet no
// element of C, and others stand for them. Few instructions: the warps that multiply leave few
// cycles to issue them in.

// 32 rows of memory, one a step, `extent` columns of each: a tile that lies step after step. `from`
// is the tile's first element; `columns` of it exist.
template <int extent>
struct StepsCopy {
  const char* from;
  int pitch;
  bool exists[extent / 32];  // this thread's columns
  int warp, lane;

  __device__ StepsCopy(const float* from, int pitch, int columns, int warp, int lane)
      : from(reinterpret_cast<const char*>(from + lane)), pitch(pitch), warp(warp), lane(lane) {
#pragma unroll
    for (int x = 0; x < extent / 32; ++x) exists[x] = x * 32 + lane < columns;
  }

  // `step`: of k; `steps` are left.
  __device__ void copy(float* to, int step, int steps) const {
    const unsigned mine = shared_address(to) + lane * 4;
    if (steps >= BK) {
#pragma unroll copies_at_once
      for (int i = 0; i < BK / copying_warps; ++i) {
        const int s = i * copying_warps + warp;
        const char* row = row_at(from, step + s, pitch);
#pragma unroll
        for (int x = 0; x < extent / 32; ++x) {
          copy_word_if(mine + (s * extent + x * 32) * 4, row + x * 128, exists[x]);
        }
      }
    } else {
#pragma unroll 1
      for (int i = 0; i < BK / copying_warps; ++i) {
        const int s = i * copying_warps + warp;
        const char* row = row_at(from, step + s, pitch);
#pragma unroll
        for (int x = 0; x < extent / 32; ++x) {
          copy_word_if(mine + (s * extent + x * 32) * 4, row + x * 128, exists[x] && s < steps);
        }
      }
    }
  }
};

// `extent` rows of memory, 32 steps of each, transposed: pieces of 8 steps, a sector each, of four
// rows at a time. Words of different steps lie in different banks: the tile's pitch is four words
// more than a multiple of 32.
template <int extent>
struct TransposedCopy {
  const char* from;
  int pitch;
  int last;  // row that exists
  int warp, step_of_lane, row_of_lane;

  __device__ TransposedCopy(const float* from, int pitch, int rows, int warp, int lane)
      : from(reinterpret_cast<const char*>(from + lane % 8)),
        pitch(pitch),
        last(rows - 1),
        warp(warp),
        step_of_lane(lane % 8),
        row_of_lane(lane / 8) {}

  __device__ void copy(float* to, int step, int steps) const {
    const unsigned mine =
        shared_address(to) + (step_of_lane * pitch_of_transposed(extent) + row_of_lane) * 4;
    const char* start = from + static_cast<long long>(step) * 4;
    if (steps >= BK) {
#pragma unroll copies_at_once
      for (int i = 0; i < extent / (4 * copying_warps); ++i) {
        const int first = (i * copying_warps + warp) * 4;
        const char* row = row_at(start, min(first + row_of_lane, last), pitch);
#pragma unroll
        for (int s = 0; s < BK; s += 8) {
          copy_word(mine + (s * pitch_of_transposed(extent) + first) * 4, row + s * 4);
        }
      }
    } else {
#pragma unroll 1
      for (int i = 0; i < extent / (4 * copying_warps); ++i) {
        const int first = (i * copying_warps + warp) * 4;
        const char* row = row_at(start, min(first + row_of_lane, last), pitch);
#pragma unroll
        for (int s = 0; s < BK; s += 8) {
          copy_word_if(mine + (s * pitch_of_transposed(extent) + first) * 4, row + s * 4,
                       s + step_of_lane < steps);
        }
      }
    }
  }
};

// `extent` rows of memory, 32 steps of each, in the order of RowsOfA's quads.
template <int extent>
struct QuadsCopy {
  const char* from;
  int pitch;
  int last;  // row that exists
  int warp, lane;

  __device__ QuadsCopy(const float* from, int pitch, int rows, int warp, int lane)
      : from(reinterpret_cast<const char*>(from + lane)),
        pitch(pitch),
        last(rows - 1),
        warp(warp),
        lane(lane) {}

  __device__ void copy(float* to, int step, int steps) const {
    const bool is_inside = lane < steps;
    const char* start = from + static_cast<long long>(step) * 4;
#pragma unroll 2
    for (int i = 0; i < extent / copying_warps; ++i) {
      const int row = i * copying_warps + warp;
      const unsigned place = (row * BK + ((lane / 4) ^ row % 8) * 4 + lane % 4) * 4;
      copy_word_if(shared_address(to) + place,
                   row_at(start, min(row, last), pitch), is_inside);
    }
  }
};

template <bool condition, typename Yes, typename No>
struct Either {
  using Type = Yes;
};
template <typename Yes, typename No>
struct Either<false, Yes, No> {
  using Type = No;
};
using WordsOfA = Either<A_SOURCE == transposed_words, TransposedCopy<BM>,
                        Either<A_BY_STEPS, StepsCopy<BM>, QuadsCopy<BM>>::Type>::Type;
using WordsOfB = Either<B_SOURCE == transposed_words, TransposedCopy<BN>, StepsCopy<BN>>::Type;
constexpr bool a_rows_are_steps = A_SOURCE == words && A_BY_STEPS;
constexpr bool b_rows_are_steps = B_SOURCE == words;

struct Copier {
  Stage* stages;
  Barrier *full, *empty;
  const Maps& maps;
  const Arguments& p;
  int row, column, first_phase, phases, matrix;

  // All phases, one buffer after the other, each once the warps have left it.
  __device__ void fill_all(int thread) const {
    const int warp = thread / 32, lane = thread % 32;
    const float* const plane_a = p.a + matrix * p.a_stride;
    const float* const plane_b = p.b + matrix * p.b_stride;
    const WordsOfA words_of_a(
        plane_a + (a_rows_are_steps ? row : static_cast<long long>(row) * (p.a_pitch / 4)),
        p.a_pitch, p.m - row, warp, lane);
    const WordsOfB words_of_b(
        plane_b + (b_rows_are_steps ? column : static_cast<long long>(column) * (p.b_pitch / 4)),
        p.b_pitch, p.n - column, warp, lane);
    RingPosition<STAGES> at;
#pragma unroll 1
    for (int phase = 0; phase < phases; ++phase, at.advance()) {
      if (phase >= STAGES) wait(empty[at.index], at.parity ^ 1);
      Stage& stage = stages[at.index];
      Barrier& barrier = full[at.index];
      const int step = (first_phase + phase) * BK;
      if (has_boxes && thread == 0) {
        arrive_expecting(barrier, bytes_of_boxes);
        if (A_SOURCE == boxes) {
          load_box(stage.a, maps.a, barrier, A_BY_STEPS ? row : step, A_BY_STEPS ? step : row,
                   matrix);
        }
        if (b_is_boxes) {
          constexpr int rows = BK / maps_of_b;
#pragma unroll
          for (int i = 0; i < maps_of_b; ++i) {
            load_box(stage.b + i * rows * B_PITCH, maps.b[i], barrier, column, step / maps_of_b,
                     matrix);
          }
        }
      }
      if (A_SOURCE != boxes) words_of_a.copy(stage.a, step, p.k - step);
      if (!b_is_boxes) words_of_b.copy(stage.b, step, p.k - step);
      if (has_words) arrive_when_copied(barrier);
    }
    if (has_words) wait_for_words();
  }
};

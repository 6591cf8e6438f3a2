// How an operand's elements of a stage of short_k.cu come to shared memory, as floats, step after
// step of k: words by cp.async; elements of 16 bits, which that does not copy, through registers.
//
// Constants: ELEMENT, DEPTH.
#pragma once

#include "async_copy.cuh"
#include "element.cuh"

// `width` elements along m or n, by `threads`. `along_k`: whether k is the index that runs fastest in
// global memory; `quads`: whether rows there begin and end at multiples of 16 bytes.
template <int width, bool along_k, bool quads, int threads>
struct Panel {
  static constexpr bool is_async = sizeof(ELEMENT) == 4;
  // Lanes of a warp copy to different banks: eight steps of k beside each other are a pitch of four
  // banks apart.
  static constexpr int steps_beside = 8;
  static constexpr int pitch = along_k ? width + 4 : width;
  static constexpr int at_once = is_async && quads && !along_k ? 4 : 1;
  // Copies in a row: along the memory order, or of `steps_beside` steps of every element.
  static constexpr int in_row = along_k ? steps_beside * width : width / at_once;
  static constexpr int copies = width * DEPTH / at_once;
  static constexpr int of_thread = (copies + threads - 1) / threads;
  static constexpr bool has_idle_threads = copies < threads;
  static_assert(has_idle_threads || copies % threads == 0, "threads share copies evenly");
  static_assert(threads % in_row == 0 || in_row % threads == 0, "and rows");
  static constexpr int bytes = 4 * pitch * DEPTH;

  // From this thread's first copy to copy i: along m or n, and in steps of k. Both are known to the
  // compiler, so that a copy takes three instructions: its address, whether it exists, itself.
  __device__ static constexpr int place(int i) {
    return in_row > threads ? i * threads % in_row : 0;
  }
  __device__ static constexpr int row(int i) {
    return in_row > threads ? i * threads / in_row : i * (threads / in_row);
  }
  __device__ static constexpr int along(int i) {
    return along_k ? place(i) / steps_beside : place(i) * at_once;
  }
  __device__ static constexpr int steps_to(int i) {
    return along_k ? row(i) * steps_beside : row(i);
  }

  const ELEMENT* from;  // this thread's first copy of the next stage
  int leading;          // elements between rows of memory
  int inside;           // elements of the operand along m or n from the first copy on
  unsigned to;          // where it goes in stage 0
  ELEMENT held[is_async ? 1 : of_thread];

  // `start`: the tile's first element along m or n, of `count`.
  __device__ Panel(const ELEMENT* matrix, long long leading, int start, int count, unsigned panel)
      : leading(static_cast<int>(leading)) {
    const int place = threadIdx.x % in_row, k = first_step();
    const int x = along_k ? place / steps_beside : place * at_once;
    from = matrix + (along_k ? (start + x) * leading + k : k * leading + start + x);
    inside = count - start - x;
    to = panel + 4 * (k * pitch + x);
  }

  // The first copy's step in its stage. Computed again, it takes no register.
  __device__ static int first_step() {
    const int thread = threadIdx.x, row = thread / in_row;
    return along_k ? row * steps_beside + thread % steps_beside : row;
  }

  // Calls visit(i, where it lies, whether it exists) for the copies `first` to `end` of this thread,
  // of the next DEPTH steps, of which `steps` exist.
  template <typename Visit>
  __device__ void each(int steps, int first, int end, const Visit& visit) {
    if (has_idle_threads && threadIdx.x >= copies) return;
    int apart = leading, left = steps - first_step();
    asm volatile("" : "+r"(apart));  // else the compiler keeps each copy's offset
#pragma unroll
    for (int i = first; i < end; ++i) {
      const long long x = along(i), k = steps_to(i);
      const int there = along(i) < inside ? left : 0;
      visit(i, from + (along_k ? x * apart + k : k * apart + x), steps_to(i) < there);
    }
  }
  __device__ unsigned place_of(int i, unsigned stage_at) const {
    return stage_at + 4 * (steps_to(i) * pitch + along(i));
  }

  // Starts to copy them to the stage that is `stage_at` bytes behind the first; zeros where none
  // exist.
  __device__ void copy(unsigned stage_at, int steps, int first, int end) {
    each(steps, first, end, [&](int i, const ELEMENT* at, bool exists) {
      copy_async<4 * at_once>(place_of(i, to + stage_at), at, exists);
    });
  }

  // The same of all, to registers, and from there to shared memory.
  __device__ void load(int steps) {
    each(steps, 0, of_thread, [&](int i, const ELEMENT* at, bool exists) {
      held[i] = exists ? *at : ELEMENT{};
    });
  }
  __device__ void store(unsigned stage_at) const {
    if (has_idle_threads && threadIdx.x >= copies) return;
#pragma unroll
    for (int i = 0; i < of_thread; ++i) {
      asm volatile("st.shared.f32 [%0], %1;" ::"r"(place_of(i, to + stage_at)), "f"(widen(held[i]))
                   : "memory");
    }
  }

  // Goes on to the next stage.
  __device__ void advance() {
    from += along_k ? DEPTH : static_cast<long long>(leading) * DEPTH;
  }
};

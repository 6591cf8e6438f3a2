// Tiles of float64 operands in shared memory: how copies fill them, and how the lanes of a warp take
// their elements from them, without bank conflicts and into the registers that mma.sync wants.
//
// A tile lies in panels of rows of 128 bytes, 16 elements along the order of the operand; the
// 16-byte chunk c of row r lies at place c ^ 2 * (r % 4). If the operand lies along k, a panel has
// 16 steps of k, and a row for each m or n. Else it has 16 m or n, and a row for each step.
//
// Lane 4g + t takes the elements of row (or column) g and step t of every eight rows and four steps.
// Shared memory serves 16 lanes at once that load 8 bytes each: four rows, of which each has four
// elements that fill a quarter of the banks. Rows of A that lie along m are loaded by 16 bytes: the
// two elements are rows g and g + 8 of the product, which are therefore rows 2g and 2g + 1 of C.
#pragma once

#include "async_copy.cuh"

constexpr int inner_steps = 8;   // of k for which a lane takes a fragment
constexpr int row_bytes = 128;   // of a panel
constexpr int per_row = 16;      // elements
constexpr int chunk_bytes = 16;  // what one copy moves
constexpr int per_chunk = 2;

template <int width>
constexpr int tile_bytes = width * DEPTH * static_cast<int>(sizeof(double));

// The share of a thread in copying the tiles of an operand, one stage after the other: the same
// chunk of every `rows_at_once`-th row. `by_chunks`: rows begin and end at multiples of a chunk;
// else they are copied element by element.
template <int width, bool along_k, bool by_chunks, int threads>
class Copier {
  static constexpr int rows = along_k ? width : DEPTH;  // of a panel
  static constexpr int panels_across = (along_k ? DEPTH : width) / per_row;
  static constexpr int chunks = panels_across * row_bytes / chunk_bytes;  // of a row in memory
  static constexpr int rows_at_once = threads / chunks;

 public:
  static constexpr int copies = rows / rows_at_once;  // of a stage
  static_assert(rows_at_once * chunks == threads && copies > 0, "threads share rows evenly");

  // `start`: the tile's first element along m or n, of `count`.
  __device__ Copier(const double* matrix, long long leading, int start, int count)
      : row_(threadIdx.x / chunks), first_(threadIdx.x % chunks * per_chunk) {
    const long long x = start + (along_k ? row_ : first_);
    from_ = reinterpret_cast<const char*>(matrix +
                                          (along_k ? x * leading + first_ : row_ * leading + x));
    apart_ = rows_at_once * leading * static_cast<long long>(sizeof(double));
    inside_ = static_cast<int>(count - x);
    const int chunk = first_ % per_row / per_chunk ^ row_ % 4 * 2;
    to_ = (first_ / per_row * rows + row_) * row_bytes + chunk * chunk_bytes;
  }

  // Starts copy `i` of this stage to the tile at `tile`; `steps`: of k that are left.
  __device__ void copy(unsigned tile, int i, int steps) const {
    const int elements = along_k ? steps - first_ : inside_;  // from the first of the chunk
    const int rows_left = along_k ? inside_ : steps - row_;
    const int beyond = i * rows_at_once;
    const unsigned to = ((tile + to_) ^ beyond % 4 * 2 * chunk_bytes) + beyond * row_bytes;
    const char* const from = from_ + i * apart_;
    const bool exists = beyond < rows_left && elements > 0;
    if (by_chunks) {
      copy_async<16>(to, from, exists);
    } else {
      copy_async<8>(to, from, exists);
      copy_async<8>(to + 8, from + 8, exists && elements > 1);
    }
  }
  // Goes on to the next stage.
  __device__ void advance() {
    from_ += along_k ? DEPTH * static_cast<long long>(sizeof(double)) : copies * apart_;
  }

 private:
  const char* from_;
  long long apart_;  // bytes between the rows of two copies
  int row_, first_;  // in memory: the row, and its element, of the first copy
  int inside_;       // along m or n, from the first of these
  unsigned to_;      // the first chunk's place
};

// A lane's elements of 16 m or n by 8 steps of k: [step / 4][half of the 16].
struct Fragment {
  double at[2][2];
};

__device__ inline double load_one(unsigned address) {
  double value;
  asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(address) : "memory");
  return value;
}
__device__ inline double2 load_pair(unsigned address) {
  double2 pair;
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];"
               : "=d"(pair.x), "=d"(pair.y)
               : "r"(address)
               : "memory");
  return pair;
}

// Where a lane finds its elements in the tiles of an operand. `by_pairs`: whether neighbours along m
// are the two halves.
template <int width, bool along_k, bool by_pairs>
class Fragments {
  static_assert(!along_k || !by_pairs, "steps are no halves");

 public:
  // `start`: the warp's first element along m or n; `inner`: its first eighth of a stage's steps.
  __device__ Fragments(int start, int inner) {
    const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4;
    const int row = along_k ? start + group : start / per_row * DEPTH + t;
    const int element = along_k ? t : by_pairs ? per_chunk * group : group;
    const int first_row = row + inner * (along_k ? width / 2 : inner_steps);
    place_ = first_row * row_bytes + (element / per_chunk ^ row % 4 * 2) * chunk_bytes +
             element % per_chunk * static_cast<int>(sizeof(double));
  }

  // Those of the 16 elements from 16 * `index` on, steps 8 * `inner` to 8 * `inner` + 7.
  __device__ Fragment load(unsigned tile, int inner, int index) const {
    constexpr int half_row = row_bytes / 2, quarter = row_bytes / 4;
    const unsigned place = tile + place_;
    Fragment fragment;
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      const int row = index * DEPTH + inner * inner_steps + step * inner_steps / 2;
      if (by_pairs) {
        const double2 pair = load_pair(place + row * row_bytes);
        fragment.at[step][0] = pair.x;
        fragment.at[step][1] = pair.y;
      } else {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          // Other elements of a row are a change of bits away, whatever the place of its chunks.
          const unsigned at =
              along_k ? (place ^ (inner % 2 * half_row + step * quarter)) +
                            (inner / 2 * width + index * 16 + half * 8) * row_bytes
                      : (place ^ half * half_row) + row * row_bytes;
          fragment.at[step][half] = load_one(at);
        }
      }
    }
    return fragment;
  }

 private:
  unsigned place_;
};

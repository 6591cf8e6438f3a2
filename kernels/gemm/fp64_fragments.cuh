// Tiles of float64 operands in shared memory: how copies fill them, and how the lanes of a warp take
// their elements from them, 16 bytes at a time and without bank conflicts.
//
// A tile lies in rows of 128 bytes, 16 elements along the order of the operand; the 16-byte chunk c
// of row r lies at place c ^ r % 8. A tile of an operand along k has one such row for each m or n.
// Any other tile has panels of 16 m or n, with one row for each of the 16 steps of k.
//
// mma.sync wants step t (and t + 4) of lane t of every four. Since the order of a sum's steps is
// free, as long as A and B have the same, lane t takes two neighbours in memory instead: those of
// chunk t ^ 4 * (t & 1) for the first eight products and of chunk t ^ 4 * (~t & 1) for the others.
// Then the eight lanes that shared memory serves at once take eight different places in a row,
// along k (two rows, chunks that differ by more than the last bit) and across (four pairs of rows).
// For the same reason an operand that lies along m or n has neighbours of 16 there where mma.sync
// would have two that are 8 apart; fp64_tiles.cu stores the sums accordingly.
#pragma once

#include "async_copy.cuh"

constexpr int depth = 16;        // steps of k in a stage
constexpr int inner_steps = 8;   // of them for which a lane takes a fragment
constexpr int row_bytes = 128;   // of a tile
constexpr int chunk_bytes = 16;  // what one copy moves and one lane loads
constexpr int per_chunk = 2;     // elements

template <int width>
constexpr int tile_bytes = width * depth * static_cast<int>(sizeof(double));

// The share of a thread in copying the tiles of an operand, one stage after the other: the same
// chunk of every `rows_at_once`-th row.
template <int width, bool along_k, int threads>
class Copier {
  static constexpr int chunks = (along_k ? depth : width) / per_chunk;  // of a row in memory
  static constexpr int rows_at_once = threads / chunks;
  static constexpr int copies = (along_k ? width : depth) / rows_at_once;
  static_assert(rows_at_once * chunks == threads && copies > 0, "threads share rows evenly");

 public:
  // `start`: the tile's first element along m or n, of `count`.
  __device__ Copier(const double* matrix, long long leading, int start, int count)
      : row_(threadIdx.x / chunks), first_(threadIdx.x % chunks * per_chunk) {
    const long long x = start + (along_k ? row_ : first_);
    from_ = reinterpret_cast<const char*>(matrix +
                                          (along_k ? x * leading + first_ : row_ * leading + x));
    apart_ = rows_at_once * leading * static_cast<long long>(sizeof(double));
    const int inside = static_cast<int>(count - x);
    inside_ = along_k ? inside : max(0, min(inside, per_chunk));
    to_ = (along_k ? 0 : first_ / 16 * depth * row_bytes) + row_ * row_bytes +
          ((first_ % 16 / per_chunk ^ row_ % 8) * chunk_bytes);
    // Tiles begin at multiples of a chunk, so it is the rows that matter.
    is_aligned_ = reinterpret_cast<unsigned long long>(matrix) % chunk_bytes == 0 &&
                  leading % per_chunk == 0;
  }

  // Starts the copies of the next stage to the tile at `tile`; `steps`: of k that are left.
  __device__ void next(unsigned tile, int steps) {
#pragma unroll
    for (int i = 0; i < copies; ++i) {
      const int beyond = i * rows_at_once;
      int elements = 0;
      if (along_k) {
        if (beyond < inside_) elements = max(0, min(steps - first_, per_chunk));
      } else if (row_ + beyond < steps) {
        elements = inside_;
      }
      const unsigned to = ((tile + to_) ^ beyond % 8 * chunk_bytes) + beyond * row_bytes;
      const char* const from = from_ + i * apart_;
      if (is_aligned_) {
        copy_async<16>(to, from, elements * 8);
      } else {
        copy_async<8>(to, from, elements > 0 ? 8 : 0);
        copy_async<8>(to + 8, from + 8, elements > 1 ? 8 : 0);
      }
    }
    from_ += along_k ? depth * static_cast<long long>(sizeof(double)) : copies * apart_;
  }

 private:
  const char* from_;
  long long apart_;  // bytes between the rows of two copies
  int row_, first_;  // in the tile as in memory: the row, and its element, of the first copy
  int inside_;       // along m or n: elements of a chunk, or rows from the thread's first
  unsigned to_;      // the first chunk's place
  bool is_aligned_;
};

// The elements of a lane of 16 m or n by 8 steps: [step][half], where `half` is the upper eight m or
// n, or every other of the 16 if the operand lies along them.
struct Fragment {
  double at[2][2];
};

__device__ inline double2 load_pair(unsigned address) {
  double2 pair;
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];"
               : "=d"(pair.x), "=d"(pair.y)
               : "r"(address)
               : "memory");
  return pair;
}

// Where a lane finds its elements in the tiles of an operand.
template <int width, bool along_k>
class Fragments {
 public:
  // `start`: the warp's first element along m or n.
  __device__ explicit Fragments(int start) {
    const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4;
    const int chunk = t ^ 4 * (t & 1);
    place_ = along_k ? (start + group) * row_bytes + (chunk ^ group) * chunk_bytes
                     : start / 16 * depth * row_bytes + per_chunk * chunk * row_bytes +
                           (group ^ per_chunk * t) * chunk_bytes;
  }

  // Those of the 16 elements from 16 * `index` on, steps 8 * `inner` to 8 * `inner` + 7. The other
  // chunk and the other step are a change of bits away, since tiles begin at multiples of 2 KiB.
  __device__ Fragment load(unsigned tile, int inner, int index) const {
    const unsigned place = tile + place_;
    if (along_k) {
      const unsigned at = (place ^ inner * 4 * chunk_bytes) + index * 16 * row_bytes;
      const double2 lower = load_pair(at), upper = load_pair(at + 8 * row_bytes);
      return {{{lower.x, upper.x}, {lower.y, upper.y}}};
    }
    const unsigned first = place ^ inner * 8 * row_bytes;
    const unsigned second = first ^ (row_bytes | chunk_bytes);
    const int panel = index * depth * row_bytes;
    const double2 low = load_pair(first + panel), high = load_pair(second + panel);
    return {{{low.x, low.y}, {high.x, high.y}}};
  }

 private:
  unsigned place_;
};

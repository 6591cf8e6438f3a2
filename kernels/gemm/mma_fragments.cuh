// Tiles of operands of 16 or 32 bits in shared memory: how copies fill them, and how a warp takes
// the fragments of mma.sync from them, without bank conflicts.
//
// A tile lies as in global memory, in rows along the order of the operand. The 16-byte chunks of a
// row are exchanged: chunk c of row r lies at place c ^ x(r), where x makes rows that are read
// together lie in different banks:
//
//   - ldmatrix reads eight rows of one chunk, along k, and transposed of 16 bits along m or n: x =
//     r % 8; in rows of 64 bytes, of which two fill the banks, x = r / 2 % 4; in rows of 32 bytes
//     x = r / 4 % 2.
//   - along m or n, 32 bits: ldmatrix exchanges no 4-byte elements, so lanes load single words,
//     eight (two chunks) of four rows: x = r % 4 * 2; in rows of 64 bytes x = r / 2 % 2 * 2.
#pragma once

#include "async_copy.cuh"
#include "chunk_shift.cuh"
#include "element.cuh"

constexpr int chunk_bytes = 16;  // what one copy moves
constexpr int per_chunk = chunk_bytes / static_cast<int>(sizeof(ELEMENT));
constexpr int inner_steps = 2 * per_chunk;  // of k in a fragment, 32 bytes
constexpr int banks_bytes = 128;

// A tile of an operand: `width` along m or n, DEPTH along k. `along_k`: whether k is the index that
// runs fastest in memory, so that a row of the tile is one m or n.
template <int width, bool along_k>
struct Tile {
  static constexpr int rows = along_k ? width : DEPTH;
  static constexpr int row_bytes = (along_k ? DEPTH : width) * static_cast<int>(sizeof(ELEMENT));
  static constexpr int chunks = row_bytes / chunk_bytes;  // of a row
  static constexpr int bytes = rows * row_bytes;
  static constexpr int ends = chunks > 32 ? chunks / 32 : 1;  // of a row, a warp's each
  static constexpr bool by_words = !along_k && sizeof(ELEMENT) == 4;
  static_assert(banks_bytes % row_bytes == 0 || row_bytes % banks_bytes == 0, "rows fill banks");
  static_assert(chunks >= (by_words ? 4 : 2), "chunks have others to change places with");

  __device__ static constexpr int exchange(int row) {
    if (by_words) return chunks >= 8 ? row % 4 * 2 : row / 2 % 2 * 2;
    return chunks >= 8 ? row % 8 : chunks == 4 ? row / 2 % 4 : row / 4 % 2;
  }
  __device__ static int place(int row, int chunk) {
    return row * row_bytes + (chunk ^ exchange(row)) * chunk_bytes;
  }
};

// How rows of an operand lie in global memory: they begin anywhere; they begin at multiples of a
// chunk; they also end there. by_words: they begin anywhere, and their elements of 32 bits are copied
// one by one. The values of the constants are the host's.
enum RowsBy { by_elements = 0, by_partial_chunks = 1, by_chunks = 2, by_words = 3 };

__device__ inline uint4 load_chunk(unsigned address) {
  uint4 chunk;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(chunk.x), "=r"(chunk.y), "=r"(chunk.z), "=r"(chunk.w)
               : "r"(address)
               : "memory");
  return chunk;
}
__device__ inline void store_chunk(unsigned address, const uint4& chunk) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(chunk.x),
               "r"(chunk.y), "r"(chunk.z), "r"(chunk.w)
               : "memory");
}

// The bytes of a chunk from `first` to `end` - 1, read element by element; the others zero.
__device__ inline uint4 load_between(const ELEMENT* from, int first, int end) {
  union {
    uint4 whole;
    ELEMENT each[per_chunk];
  } chunk;
  chunk.whole = make_uint4(0, 0, 0, 0);
#pragma unroll
  for (int e = 0; e < per_chunk; ++e) {
    const int byte = e * static_cast<int>(sizeof(ELEMENT));
    if (byte >= first && byte < end) chunk.each[e] = from[e];
  }
  return chunk.whole;
}

// The share of a thread in copying the tiles of an operand, one stage after the other: the same
// chunk of every `rows_at_once`-th row. cp.async copies chunks past the registers, if the GPU has
// it, otherwise they pass through registers.
//
// Where rows begin anywhere, cp.async brings the aligned chunks that hold what a warp copies of the
// tile's row, one more than the tile has. When they are there, settle() moves the elements to where
// they belong, each warp its own.
//
// A copy of a part of a chunk reads no more than that part, but memcheck takes it for a read of all.
//
// Products wait while their warp does anything else, so a copy takes three instructions: a
// comparison, an address and the copy.
template <int width, bool along_k, int rows_by, int threads>
class Copier {
  using Tiles = Tile<width, along_k>;
  static constexpr int rows_at_once = threads / Tiles::chunks;
  static constexpr bool some_idle = rows_at_once > Tiles::rows;  // threads without a chunk
  static constexpr int of_warp = Tiles::chunks / Tiles::ends;  // chunks of a row
  static constexpr int element_bytes = sizeof(ELEMENT);
  // Whether a thread's chunks are equally far from aligned ones.
  static constexpr bool shifts_equally = rows_at_once * element_bytes % chunk_bytes == 0;
#if __CUDA_ARCH__ >= 800
  static constexpr bool asynchronous = rows_by != by_elements || shifts_equally;
#else
  static constexpr bool asynchronous = false;
#endif
  static constexpr bool shifts = asynchronous && rows_by == by_elements;

 public:
  static constexpr int copies = some_idle ? 1 : Tiles::rows / rows_at_once;  // of a stage
  static_assert(rows_at_once * Tiles::chunks == threads &&
                    (some_idle || copies * rows_at_once == Tiles::rows),
                "threads share rows evenly");
  static_assert(rows_by != by_words || element_bytes == 4, "words are elements");
  static_assert(rows_at_once % (Tiles::by_words ? 4 : 8) == 0, "rows exchange chunks equally");
  static_assert(32 % Tiles::chunks == 0 || Tiles::chunks % 32 == 0, "warps share rows evenly");

  // `start`: the tile's first element along m or n, of `count`. Rows are less than 2^31 bytes apart,
  // `rows_at_once` times over. `ends`: where the additional chunks of rows lie, seen from the tile.
  __device__ Copier(const ELEMENT* matrix, long long leading, int start, int count, unsigned ends) {
    const int row = threadIdx.x / Tiles::chunks, chunk = threadIdx.x % Tiles::chunks;
    const int element = chunk * per_chunk;
    const long long x = start + (along_k ? row : element);
    const long long first = along_k ? x * leading + element : row * leading + x;
    from_ = matrix + first;
    apart_ = static_cast<int>(rows_at_once * leading);
    step_ = along_k ? element : row;
    inside_ = static_cast<int>(count - x);
    to_ = Tiles::place(row, chunk);
    is_last_ = (chunk + 1) % of_warp == 0;
    next_ = is_last_ ? ends + (row * Tiles::ends + chunk / of_warp) * chunk_bytes
                     : Tiles::place(row, chunk + 1);
    behind_first_ = first < per_chunk ? static_cast<int>(first) * element_bytes : chunk_bytes;
    align();
    // Else the compiler forms them again from 64-bit values for each copy.
    asm volatile("" : "+r"(apart_), "+r"(inside_));
  }

  // Begins a stage, of which `steps` along k exist.
  __device__ void begin(int steps) {
    const int left = steps - step_;
    elements_ = along_k ? left : inside_;
    const int rows = along_k ? inside_ : left;
    bytes_ = static_cast<int>(skipped()) + min(elements_, 2 * per_chunk) * element_bytes;
    const bool exist = shifts ? bytes_ > 0 : elements_ > 0;
    rows_ = exist ? rows : 0;
  }
  // Starts copy `i` of the stage to the tile at `tile`.
  __device__ void copy(unsigned tile, int i) {
    if (is_idle()) return;
    const int beyond = i * rows_at_once;
    const unsigned to = tile + place(i);
    const ELEMENT* const from = from_ + static_cast<long long>(apart_) * i;
    const bool exists = beyond < rows_;
    if (!asynchronous) {
      held_[asynchronous ? 0 : i] = load(from, exists ? elements_ : 0);
    } else if (rows_by == by_chunks) {
      copy_async<chunk_bytes>(to, from, exists);
    } else if (rows_by == by_words) {
#pragma unroll
      for (int e = 0; e < per_chunk; ++e) {
        copy_async<4>(to + 4 * e, from + e, exists && e < elements_);
      }
    } else {
      if (shifts && i == 0 && before() > 0) {
        store_chunk(to, load_between(from, before(), exists ? bytes_ : 0));
      } else {
        copy_async_partly(to, from, exists ? min(bytes_, chunk_bytes) : 0);
      }
      if (shifts && is_last_) {
        const int behind = min(max(bytes_ - chunk_bytes, 0), chunk_bytes);
        copy_async_partly(tile + next_place(i), from + per_chunk, exists ? behind : 0);
      }
    }
  }
  // Stores what passes through registers to the same tile.
  __device__ void end(unsigned tile) {
    if (is_idle()) return;
#pragma unroll
    for (int i = 0; i < (asynchronous ? 0 : copies); ++i) store_chunk(tile + place(i), held_[i]);
  }
  // Goes on to the next stage.
  __device__ void advance() {
    const int apart = some_idle ? apart_ / (rows_at_once / Tiles::rows) : apart_;
    from_ += along_k ? DEPTH : static_cast<long long>(apart) * copies;
    skips_ = skipped();
  }
  // Goes on to a stage of the next matrix that begins so many elements further.
  __device__ void jump(long long elements) {
    from_ += elements + static_cast<int>(skipped()) / element_bytes;
    align();
  }

  // The bytes between the aligned chunk from which this thread copies now and its first element: as
  // many in all stages of a matrix.
  __device__ unsigned skipped() const { return skips_ % chunk_bytes; }

  // Moves the elements of rows to their places in the tile, after this thread's copies to it have
  // arrived, of which each began with `skipped` bytes. All of the warp call it.
  __device__ void settle(unsigned tile, unsigned skipped) const {
    if (!shifts) return;
    __syncwarp();  // the others' have arrived
#pragma unroll
    for (int i = 0; i < copies; ++i) {
      uint4 low, high;
      if (!is_idle()) {
        low = load_chunk(tile + place(i));
        high = load_chunk(tile + next_place(i));
      }
      __syncwarp();  // all have read
      if (!is_idle()) store_chunk(tile + place(i), shifted<element_bytes>(low, high, skipped));
    }
  }

 private:
  __device__ static bool is_idle() {
    return some_idle && threadIdx.x / Tiles::chunks >= Tiles::rows;
  }
  // Where copy `i` lies in the tile, and the chunk behind it.
  __device__ unsigned place(int i) const { return to_ + i * rows_at_once * Tiles::row_bytes; }
  __device__ unsigned next_place(int i) const {
    return next_ + i * rows_at_once * (is_last_ ? Tiles::ends * chunk_bytes : Tiles::row_bytes);
  }
  // Begins with the aligned chunk in which the thread's first element lies.
  __device__ void align() {
    const int skipped = shifts ? reinterpret_cast<unsigned long long>(from_) % chunk_bytes : 0;
    from_ -= skipped / element_bytes;
    skips_ = skipped + max(skipped - behind_first_, 0) * chunk_bytes;
  }
  // The bytes of the aligned chunk that lie before the matrix.
  __device__ int before() const { return static_cast<int>(skips_) / chunk_bytes; }
  __device__ static uint4 load(const ELEMENT* from, int elements) {
    constexpr bool is_aligned = rows_by == by_chunks || rows_by == by_partial_chunks;
    if (is_aligned && elements >= per_chunk) {
      return __ldg(reinterpret_cast<const uint4*>(from));
    }
    return load_between(from, 0, elements * element_bytes);
  }

  const ELEMENT* from_;
  int apart_;            // elements between the rows of two copies
  int step_;             // along k: of the first copy
  int inside_;           // along m or n: elements of the operand from the first copy's on
  int rows_, elements_;  // of this stage that copy() reads: rows from the first on, elements of a row
  unsigned to_;          // the first chunk's place
  uint4 held_[asynchronous ? 1 : copies];
  // Where rows begin anywhere:
  unsigned skips_;     // skipped() + chunk_bytes * before(): one register
  int bytes_;          // of this stage that exist from the first aligned chunk on, or some more than two
  int behind_first_;   // bytes from the matrix's begin to the thread's first element, at most a chunk
  unsigned next_;      // the place of the chunk behind the first
  bool is_last_;       // whether this thread's chunk is the warp's last of a row
};

// A stage: the tiles of A and B, then the additional chunks of their rows.
template <bool a_along_k, bool b_along_k, int a_rows_by, int b_rows_by>
struct Stage {
  using TileA = Tile<BM, a_along_k>;
  using TileB = Tile<BN, b_along_k>;
  // Bytes of the additional chunks.
  static constexpr int a_ends = a_rows_by == by_elements ? TileA::rows * TileA::ends * chunk_bytes : 0;
  static constexpr int b_ends = b_rows_by == by_elements ? TileB::rows * TileB::ends * chunk_bytes : 0;
  static constexpr int first_a_end = TileA::bytes + TileB::bytes;  // from the tile of A
  static constexpr int first_b_end = TileB::bytes + a_ends;        // from the tile of B
  static constexpr int bytes = first_a_end + a_ends + b_ends;
};

// Four matrices of 8 rows of 16 bytes; lane l names row l % 8 of matrix l / 8. Register i of a lane
// is its 4 bytes of matrix i: those at (lane / 4, lane % 4), or of 2-byte elements transposed.
template <bool transposed>
__device__ inline void load_matrices(unsigned (&to)[4], unsigned row) {
  if (transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
  }
}

__device__ inline unsigned load_word(unsigned address) {
  unsigned word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}

// Where a lane finds its part of the fragments of a warp, which begins at `start` along m or n. A
// fragment has 16 elements along m or n (x) and two chunks along k: the four 8 x 16-byte quarters
// (x, k), (x + 8, k), (x, k'), (x + 8, k'), where k' is the second chunk; with `k_first` in the
// order (x, k), (x, k'), (x + 8, k), (x + 8, k').
template <int width, bool along_k, bool k_first>
class Fragments {
  using Tiles = Tile<width, along_k>;

 public:
  __device__ explicit Fragments(int start) {
    const int lane = threadIdx.x % 32, quarter = lane / 8;
    const int second_x = k_first ? quarter / 2 : quarter % 2;
    const int second_k = k_first ? quarter % 2 : quarter / 2;
    if (Tiles::by_words) {
      const int x = start + lane / 4;
      place_ = Tiles::place(lane % 4, x / per_chunk) + x % per_chunk * 4;
    } else if (along_k) {
      place_ = Tiles::place(start + 8 * second_x + lane % 8, second_k);
    } else {
      place_ = Tiles::place(8 * second_k + lane % 8, start / per_chunk + second_x);
    }
  }

  // The fragment from 16 * `index` along m or n on, at the `inner`-th 32 bytes along k.
  __device__ void load(unsigned (&to)[4], unsigned tile, int inner, int index) const {
    const unsigned place = tile + place_;
    if (Tiles::by_words) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int second_x = k_first ? i / 2 : i % 2, second_k = k_first ? i % 2 : i / 2;
        to[i] = load_word(along_row(place, 2 * index + second_x) +
                          (inner * inner_steps + second_k * per_chunk) * Tiles::row_bytes);
      }
    } else if (along_k) {
      load_matrices<false>(to, along_row(place, inner) + index * 16 * Tiles::row_bytes);
    } else {
      load_matrices<true>(to, along_row(place, index) + inner * inner_steps * Tiles::row_bytes);
    }
  }

 private:
  // Two chunks further, `times` times: a change of bits, as the exchange of chunks is.
  __device__ static unsigned along_row(unsigned place, int times) {
    const int bytes = times * 2 * chunk_bytes;
    return (place ^ bytes % banks_bytes) + bytes / banks_bytes * banks_bytes;
  }

  unsigned place_;
};

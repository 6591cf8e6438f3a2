// Copies of a tile of an operand whose rows begin anywhere, for kernels that copy once or twice: there
// the instructions before the first copy, and those between the last copy and the first product, are
// most of the time.
#pragma once

#include "mma_fragments.cuh"

// The share of a thread in copying the tiles of an operand: the same chunk of every `rows_at_once`-th
// row, all of which lie equally far behind an aligned chunk. cp.async brings the aligned chunks that
// hold the tile's, one more for what a warp copies of a row. When they are there, settle() moves the
// elements to where they belong, each warp its own.
//
// Chunks come whole: the last of a row may end with elements of the next one, so that fragments of the
// last steps of k are cleared (WarpSums). Rows and chunks outside of the operand are zeros. No byte
// behind the matrix is read: the chunk in which it ends passes through registers.
//
// `rows_by`: by_elements; or by_partial_chunks or by_chunks where rows begin with chunks.
template <int width, bool along_k, int rows_by, int threads>
class LeanCopier {
  using Tiles = Tile<width, along_k>;
  static constexpr int rows_at_once = threads / Tiles::chunks;
  static constexpr bool some_idle = rows_at_once > Tiles::rows;  // threads without a chunk
  static constexpr int copies = some_idle ? 1 : Tiles::rows / rows_at_once;  // of a stage
  static constexpr int of_warp = Tiles::chunks / Tiles::ends;                // chunks of a row
  static constexpr int element_bytes = sizeof(ELEMENT);
  static constexpr bool shifts = rows_by == by_elements, ends_with_chunk = rows_by == by_chunks;
  static_assert(rows_at_once * Tiles::chunks == threads &&
                    (some_idle || copies * rows_at_once == Tiles::rows),
                "threads share rows evenly");
  static_assert(rows_at_once * element_bytes % chunk_bytes == 0, "rows of a thread lie alike");
  static_assert(rows_at_once % (Tiles::by_words ? 4 : 8) == 0, "rows exchange chunks equally");
  static_assert(32 % Tiles::chunks == 0 || Tiles::chunks % 32 == 0, "warps share rows evenly");

 public:
  // `start`: the tile's first element along m or n, of `count`. Rows are less than 2^31 bytes apart.
  // `ends`: where the additional chunks of rows lie, seen from the tile.
  __device__ LeanCopier(const ELEMENT* matrix, long long leading, int start, int count,
                        unsigned ends) {
    const int row = threadIdx.x / Tiles::chunks, chunk = threadIdx.x % Tiles::chunks;
    pitch_ = static_cast<int>(leading) * element_bytes;
    from_ = reinterpret_cast<const unsigned char*>(matrix) +
            static_cast<long long>(along_k ? start + row : row) * pitch_ +
            (chunk * chunk_bytes + (along_k ? 0 : start * element_bytes));
    skipped_ = shifts ? static_cast<unsigned>(reinterpret_cast<unsigned long long>(from_)) %
                            chunk_bytes
                      : 0;
    from_ -= skipped_;
    const int left = count - start;
    inside_ = along_k ? left - row : left * element_bytes - chunk * chunk_bytes;
    step_ = along_k ? chunk * chunk_bytes : row;
    to_ = Tiles::place(row, chunk);
    is_last_ = shifts && (chunk + 1) % of_warp == 0;
    next_ = is_last_ ? ends + (row * Tiles::ends + chunk / of_warp) * chunk_bytes
                     : Tiles::place(row, chunk + 1);
  }

  // Starts the copies of a stage, of which `steps` along k exist, to the tile at `tile`.
  __device__ void begin(unsigned tile, int steps) {
    if (is_idle()) return;
    // Bytes of a row from this thread's chunk on, and rows from its first on, that exist.
    const int bytes =
        (along_k ? steps * element_bytes - step_ : inside_) + static_cast<int>(skipped_);
    const int rows = along_k ? inside_ : steps - step_, more = bytes - chunk_bytes;
    int whole = bytes > 0 ? rows : 0, whole_ends = more > 0 ? rows : 0;
    if (!ends_with_chunk && bytes > 0 && bytes < (is_last_ ? 2 : 1) * chunk_bytes) {
      end_with(tile, rows, bytes, whole, whole_ends);
    }
    const unsigned to = tile + to_;
#pragma unroll
    for (int i = 0; i < copies; ++i) {
      copy_async<chunk_bytes>(to + i * step_bytes, row_of(i), i * rows_at_once < whole);
    }
    if (!is_last_) return;
#pragma unroll
    for (int i = 0; i < copies; ++i) {
      copy_async<chunk_bytes>(tile + next_place(i), row_of(i) + chunk_bytes,
                              i * rows_at_once < whole_ends);
    }
  }

  // Goes on to the next stage.
  __device__ void advance() {
    from_ += along_k ? DEPTH * element_bytes : static_cast<long long>(pitch_) * DEPTH;
  }

  // Moves the elements of rows to their places in the tile, after this thread's copies to it have
  // arrived. All of the warp call it.
  __device__ void settle(unsigned tile) {
    if (!ends_with_chunk && held_to_ != nowhere) store_chunk(held_to_, held_);
    if (!shifts) return;
    __syncwarp();  // the others' have arrived
    constexpr int at_once = copies < 2 ? copies : 2;  // more would spill registers
#pragma unroll
    for (int first = 0; first < copies; first += at_once) {
      uint4 low[at_once], high[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (is_idle()) break;
        low[i] = load_chunk(tile + to_ + (first + i) * step_bytes);
        high[i] = load_chunk(tile + next_place(first + i));
      }
      __syncwarp();  // all have read
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (is_idle()) break;
        store_chunk(tile + to_ + (first + i) * step_bytes,
                    shifted<element_bytes>(low[i], high[i], skipped_));
      }
    }
  }

 private:
  static constexpr unsigned nowhere = ~0U;
  static constexpr int step_bytes = rows_at_once * Tiles::row_bytes;  // from copy to copy in the tile

  __device__ static bool is_idle() {
    return some_idle && threadIdx.x / Tiles::chunks >= Tiles::rows;
  }
  __device__ const unsigned char* row_of(int i) const {
    return from_ + static_cast<long long>(pitch_) * (rows_at_once * i);
  }
  // The place of the chunk behind that of copy `i`.
  __device__ unsigned next_place(int i) const {
    return next_ + i * rows_at_once * (is_last_ ? Tiles::ends * chunk_bytes : Tiles::row_bytes);
  }
  // Where the matrix ends in a chunk of this thread's last row, loads that to registers and takes it
  // from those that are copied whole.
  __device__ void end_with(unsigned tile, int rows, int bytes, int& whole, int& whole_ends) {
    const int last = (rows - 1) / rows_at_once;
    // Bytes of the matrix from there on.
    const long long left =
        bytes + static_cast<long long>(rows - 1 - last * rows_at_once) * pitch_;
    if (rows <= 0 || last >= copies || left >= (bytes > chunk_bytes ? 2 : 1) * chunk_bytes) return;
    const bool is_end = bytes > chunk_bytes;
    (is_end ? whole_ends : whole) = last * rows_at_once;
    held_to_ = tile + (is_end ? next_place(last) : to_ + last * step_bytes);
    const auto* const from =
        reinterpret_cast<const ELEMENT*>(row_of(last) + (is_end ? chunk_bytes : 0));
    held_ = load_between(from, 0, static_cast<int>(left) - (is_end ? chunk_bytes : 0));
  }

  const unsigned char* from_;  // the aligned chunk of the next stage's first copy
  int pitch_;                  // bytes between rows
  int inside_;  // of the operand from this thread's first on: rows, or bytes of a row
  int step_;    // of a stage before this thread's first: bytes of a row, or rows
  unsigned to_, next_;  // places of the first chunk and of the one behind it
  unsigned skipped_;    // bytes between the aligned chunk and the first element
  bool is_last_;        // whether this thread's chunk is the warp's last of a row
  unsigned held_to_ = nowhere;  // where the chunk in which the matrix ends belongs, if this thread has it
  uint4 held_;
};

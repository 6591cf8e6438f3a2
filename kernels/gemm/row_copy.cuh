// Copies of rows that begin anywhere to rows that begin at multiples of 16 bytes.
#pragma once

#include "chunk_shift.cuh"
#include "whole_store.cuh"

// `rows` x `columns` elements of WORD; 16 bytes divide to_pitch and `to`. Behind the last element of
// a row zeros are written, up to a whole chunk of 16 bytes; nothing outside the matrix is read.
template <typename Word>
struct RowCopy {
  const Word* from;
  Word* to;
  long long from_pitch, to_pitch;  // elements
  int rows, columns;

  static constexpr int elements = 16 / sizeof(Word);  // of a chunk

  __device__ unsigned long long begin() const { return reinterpret_cast<unsigned long long>(from); }
  __device__ unsigned long long end() const {
    return begin() + ((rows - 1) * from_pitch + columns) * sizeof(Word);
  }
  __device__ bool holds(unsigned long long chunk) const {
    return chunk >= begin() && chunk + 16 <= end();
  }

  // Writes the chunk at `column` of `row`, given the two aligned chunks that its bytes lie in, as
  // far as the matrix holds these.
  __device__ void write(int row, int column, const uint4& low, const uint4& high) const {
    const Word* const source = from + row * from_pitch + column;
    const auto address = reinterpret_cast<unsigned long long>(source);
    const unsigned skipped = address % 16;
    uint4 result = shifted<sizeof(Word)>(low, high, skipped);
    const bool has_both = holds(address - skipped) && holds(address - skipped + 16);
    const int left = columns - column;
    if (left < elements || !has_both) {
      alignas(16) Word values[elements];
      *reinterpret_cast<uint4*>(values) = result;
#pragma unroll
      for (int e = 0; e < elements; ++e) {
        if (e >= left) {
          values[e] = 0;
        } else if (!has_both) {
          values[e] = source[e];
        }
      }
      result = *reinterpret_cast<const uint4*>(values);
    }
    store_whole(reinterpret_cast<uint4*>(to + row * to_pitch + column), result);
  }

  // By a warp: 32 chunks of each of COUNT rows from `row` on. All reads are under way before the
  // first write; each lane reads one aligned chunk of its row and gets the next from its neighbour.
  template <int COUNT>
  __device__ void copy_pieces(int row, int piece) const {
    const int lane = threadIdx.x % 32, first = piece * 32 * elements;
    const int column = first + lane * elements, left = columns - column;
    const auto chunk_at = [&](int of_row, int of_column) {
      return reinterpret_cast<unsigned long long>(from + of_row * from_pitch + of_column) & ~15ULL;
    };
    uint4 low[COUNT], behind = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      low[i] = make_uint4(0, 0, 0, 0);
      const auto chunk = chunk_at(row + i, column);
      // The lane behind the row's last one reads for that one.
      if (row + i < rows && left > -elements && holds(chunk)) {
        low[i] = __ldg(reinterpret_cast<const uint4*>(chunk));
      }
    }
    // Lane i reads what lies behind row i's piece.
    if (lane < COUNT && row + lane < rows) {
      const auto chunk = chunk_at(row + lane, first + 32 * elements);
      if (holds(chunk)) behind = __ldg(reinterpret_cast<const uint4*>(chunk));
    }
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const auto after = [&](unsigned own, unsigned behind_row) {
        const unsigned next = __shfl_down_sync(~0U, own, 1);
        const unsigned last = __shfl_sync(~0U, behind_row, i);
        return lane == 31 ? last : next;
      };
      const uint4 high = make_uint4(after(low[i].x, behind.x), after(low[i].y, behind.y),
                                    after(low[i].z, behind.z), after(low[i].w, behind.w));
      if (row + i < rows && left > 0) write(row + i, column, low[i], high);
    }
  }

  // By a thread: the chunk at `column` of `row`.
  __device__ void copy_chunk(int row, int column) const {
    const auto chunk =
        reinterpret_cast<unsigned long long>(from + row * from_pitch + column) & ~15ULL;
    uint4 low = make_uint4(0, 0, 0, 0), high = low;
    if (holds(chunk)) low = __ldg(reinterpret_cast<const uint4*>(chunk));
    if (holds(chunk + 16)) high = __ldg(reinterpret_cast<const uint4*>(chunk + 16));
    write(row, column, low, high);
  }
};

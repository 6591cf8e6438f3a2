// Copies of rows that begin anywhere to rows that begin at multiples of 16 bytes.
//
// A thread makes one chunk of 16 bytes of the two aligned ones that hold its bytes: two loads, of which
// the other lanes' find the second in the cache, and few instructions. A product waits for the whole
// copy, and a block that runs for the first time waits for its instructions.
#pragma once

#include "chunk_shift.cuh"
#include "common/divisor.cuh"
#include "whole_store.cuh"

// `rows` x `columns` elements of WORD; 16 bytes divide to_pitch and `to`. Behind the last element of
// a row zeros are written, up to a whole chunk of 16 bytes; nothing outside the matrix is read.
template <typename Word>
struct RowCopy {
  const Word* from;
  Word* to;
  long long from_pitch, to_pitch;  // elements
  int rows, columns;
  int band;                 // rows whose chunks 30 bits number
  unsigned chunks;          // of a row
  Divisor by_chunks;

  // Chunk `i` of the rows from `first` on.
  __device__ void copy(long long first, unsigned i) const {
    constexpr int elements = 16 / sizeof(Word);  // of a chunk
    const unsigned in_band = by_chunks.quotient(i);
    const int column = static_cast<int>(i - in_band * chunks) * elements, left = columns - column;
    const long long row = first + in_band;
    if (in_band >= band || row >= rows) return;
    const Word* const source = from + row * from_pitch + column;
    const auto begin = reinterpret_cast<unsigned long long>(from);
    const unsigned long long end = begin + ((rows - 1) * from_pitch + columns) * sizeof(Word);
    const auto at = reinterpret_cast<unsigned long long>(source);
    const auto* const chunk = reinterpret_cast<const uint4*>(at - at % 16);
    uint4 result;
    if (reinterpret_cast<unsigned long long>(chunk) >= begin &&
        reinterpret_cast<unsigned long long>(chunk + 2) <= end) {
      result = shifted<sizeof(Word)>(__ldg(chunk), __ldg(chunk + 1), at % 16);
      if (left < elements) {
        const int bytes = left * static_cast<int>(sizeof(Word));
        result = make_uint4(first_bytes(result.x, bytes), first_bytes(result.y, bytes - 4),
                            first_bytes(result.z, bytes - 8), first_bytes(result.w, bytes - 12));
      }
    } else {  // the matrix begins or ends in one of them
      alignas(16) Word values[elements];
#pragma unroll
      for (int e = 0; e < elements; ++e) values[e] = e < left ? source[e] : Word(0);
      result = *reinterpret_cast<const uint4*>(values);
    }
    store_whole(reinterpret_cast<uint4*>(to + row * to_pitch + column), result);
  }

 private:
  // The first `count` bytes of a word; zeros behind them.
  __device__ static unsigned first_bytes(unsigned word, int count) {
    return count >= 4 ? word : count <= 0 ? 0U : word & ((1U << 8 * count) - 1U);
  }
};

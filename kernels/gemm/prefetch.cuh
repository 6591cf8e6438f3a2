// Prefetches what C holds into the L2 cache while a tile is multiplied, so that it is added at the
// end without waiting for memory.
#pragma once

// Prefetches this thread's share, of `threads`, of the `rows` rows of `row_bytes` bytes from `first`
// on, `pitch` bytes apart, as far as there are `rows_left` and `bytes_left`.
template <int rows, int row_bytes, int threads>
__device__ inline void prefetch_rows(const void* first, long long pitch, int rows_left,
                                     int bytes_left, int thread) {
  constexpr int line = 128, lines = (row_bytes + line - 1) / line + 1;  // rows may begin within a line
  const int last_byte = (bytes_left < row_bytes ? bytes_left : row_bytes) - 1;
  for (int i = thread; i < rows * lines; i += threads) {
    const int row = i / lines, byte = i % lines * line;
    if (row >= rows_left || byte - line >= last_byte) continue;
    const char* const at = static_cast<const char*>(first) + row * pitch;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at + (byte < last_byte ? byte : last_byte)));
  }
}

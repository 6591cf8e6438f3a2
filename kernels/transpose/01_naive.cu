// One thread per element: rows are read, columns are written.
//
// Idea:    out[column][row] = in[row][column].
// Changes: nothing to compare with yet. Loads are coalesced; the stores of a warp go to 32 rows.
// Counter: 32 sectors per store request.
//
// in: rows x columns, row-major. Launch: block (32, 8), grid of the 32 x 32 tiles in one dimension.
extern "C" __global__ void transpose(const ELEMENT* in, ELEMENT* out, long long rows,
                                     long long columns) {
  const long long tiles_across = (columns + 31) / 32;
  const long long column = blockIdx.x % tiles_across * 32 + threadIdx.x;
  const long long first_row = blockIdx.x / tiles_across * 32;
  for (int r = threadIdx.y; r < 32; r += 8) {
    const long long row = first_row + r;
    if (row < rows && column < columns) out[column * rows + row] = in[row * columns + column];
  }
}

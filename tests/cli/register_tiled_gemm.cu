// C = alpha A B + beta C with tiles of registers, as people write it for production: two buffers of
// shared memory, vector loads where rows allow them, guards at the edges. A test writes its page.

namespace {

constexpr int kTileRows = 64;
constexpr int kTileColumns = 64;
constexpr int kTileDepth = 16;
constexpr int kThreadRows = 4;
constexpr int kThreadColumns = 4;
constexpr int kThreads = (kTileRows / kThreadRows) * (kTileColumns / kThreadColumns);
constexpr int kPadding = 4;

struct Tiles {
  float a[2][kTileDepth][kTileRows + kPadding];
  float b[2][kTileDepth][kTileColumns];
};

struct Problem {
  int m, n, k;
  float alpha, beta;
};

// Reads up to four neighbours of a row; those behind its end are zero.
__device__ float4 load_guarded(const float* row, int first, int end) {
  float4 values = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if (first < end) {
    values.x = row[first];
  }
  if (first + 1 < end) {
    values.y = row[first + 1];
  }
  if (first + 2 < end) {
    values.z = row[first + 2];
  }
  if (first + 3 < end) {
    values.w = row[first + 3];
  }
  return values;
}

__device__ float4 load_row(const float* matrix, int row, int rows, int first, int columns) {
  if (row >= rows) {
    return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  const float* start = matrix + static_cast<size_t>(row) * columns;
  const bool whole = first + 3 < columns && columns % 4 == 0;
  if (whole) {
    return *reinterpret_cast<const float4*>(start + first);
  }
  return load_guarded(start, first, columns);
}

// A thread's part of the next tiles, on its way from global to shared memory.
struct Fragment {
  float4 a;
  float4 b;
};

__device__ Fragment load_tiles(const float* a, const float* b, const Problem& problem, int from) {
  const int thread = threadIdx.x;
  const int a_row = blockIdx.y * kTileRows + thread / (kTileDepth / 4);
  const int a_column = from + thread % (kTileDepth / 4) * 4;
  const int b_row = from + thread / (kTileColumns / 4);
  const int b_column = blockIdx.x * kTileColumns + thread % (kTileColumns / 4) * 4;
  Fragment fragment;
  fragment.a = load_row(a, a_row, problem.m, a_column, problem.k);
  fragment.b = load_row(b, b_row, problem.k, b_column, problem.n);
  return fragment;
}

// A lies transposed in shared memory, so that a column of the tile is read in one piece.
__device__ void store_tiles(Tiles& tiles, int buffer, const Fragment& fragment) {
  const int thread = threadIdx.x;
  const int row = thread / (kTileDepth / 4);
  const int column = thread % (kTileDepth / 4) * 4;
  tiles.a[buffer][column + 0][row] = fragment.a.x;
  tiles.a[buffer][column + 1][row] = fragment.a.y;
  tiles.a[buffer][column + 2][row] = fragment.a.z;
  tiles.a[buffer][column + 3][row] = fragment.a.w;
  const int b_row = thread / (kTileColumns / 4);
  const int b_column = thread % (kTileColumns / 4) * 4;
  *reinterpret_cast<float4*>(&tiles.b[buffer][b_row][b_column]) = fragment.b;
}

__device__ void read_column(const Tiles& tiles, int buffer, int k, int row, float (&a)[4]) {
  a[0] = tiles.a[buffer][k][row + 0];
  a[1] = tiles.a[buffer][k][row + 1];
  a[2] = tiles.a[buffer][k][row + 2];
  a[3] = tiles.a[buffer][k][row + 3];
}

__device__ void read_row(const Tiles& tiles, int buffer, int k, int column, float (&b)[4]) {
  b[0] = tiles.b[buffer][k][column + 0];
  b[1] = tiles.b[buffer][k][column + 1];
  b[2] = tiles.b[buffer][k][column + 2];
  b[3] = tiles.b[buffer][k][column + 3];
}

__device__ void multiply_tiles(const Tiles& tiles, int buffer, int row, int column,
                               float (&sums)[kThreadRows][kThreadColumns]) {
#pragma unroll
  for (int k = 0; k < kTileDepth; ++k) {
    float a[kThreadRows];
    float b[kThreadColumns];
    read_column(tiles, buffer, k, row, a);
    read_row(tiles, buffer, k, column, b);
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
#pragma unroll
      for (int j = 0; j < kThreadColumns; ++j) {
        sums[i][j] += a[i] * b[j];
      }
    }
  }
}

__device__ float blend(const Problem& problem, float sum, float before) {
  const float scaled = problem.alpha * sum;
  if (problem.beta == 0.0f) {
    return scaled;
  }
  return scaled + problem.beta * before;
}

__device__ void store_whole(float* row, int column, const Problem& problem,
                            const float (&sums)[kThreadColumns]) {
  float4* target = reinterpret_cast<float4*>(row + column);
  const float4 before = problem.beta == 0.0f ? make_float4(0, 0, 0, 0) : *target;
  float4 after;
  after.x = blend(problem, sums[0], before.x);
  after.y = blend(problem, sums[1], before.y);
  after.z = blend(problem, sums[2], before.z);
  after.w = blend(problem, sums[3], before.w);
  *target = after;
}

__device__ void store_guarded(float* row, int column, const Problem& problem,
                              const float (&sums)[kThreadColumns]) {
  for (int j = 0; j < kThreadColumns; ++j) {
    if (column + j >= problem.n) {
      return;
    }
    const float before = problem.beta == 0.0f ? 0.0f : row[column + j];
    row[column + j] = blend(problem, sums[j], before);
  }
}

__device__ void store_results(float* c, int row, int column, const Problem& problem,
                              const float (&sums)[kThreadRows][kThreadColumns]) {
  const bool whole = column + kThreadColumns <= problem.n && problem.n % 4 == 0;
  for (int i = 0; i < kThreadRows; ++i) {
    if (row + i >= problem.m) {
      return;
    }
    float* target = c + static_cast<size_t>(row + i) * problem.n;
    if (whole) {
      store_whole(target, column, problem, sums[i]);
    } else {
      store_guarded(target, column, problem, sums[i]);
    }
  }
}

}  // namespace

__global__ void __launch_bounds__(kThreads)
    multiply(const float* a, const float* b, float* c, int m, int n, int k, float alpha,
             float beta) {
  __shared__ Tiles tiles;
  const Problem problem{m, n, k, alpha, beta};
  const int tile_row = threadIdx.x / (kTileColumns / kThreadColumns) * kThreadRows;
  const int tile_column = threadIdx.x % (kTileColumns / kThreadColumns) * kThreadColumns;
  float sums[kThreadRows][kThreadColumns] = {};

  // The first tiles are there before the loop; each round loads the next ones while it multiplies.
  Fragment fragment = load_tiles(a, b, problem, 0);
  store_tiles(tiles, 0, fragment);
  __syncthreads();

  int buffer = 0;
  for (int from = 0; from < k; from += kTileDepth) {
    const bool is_last = from + kTileDepth >= k;
    if (!is_last) {
      fragment = load_tiles(a, b, problem, from + kTileDepth);
    }
    multiply_tiles(tiles, buffer, tile_row, tile_column, sums);
    if (!is_last) {
      store_tiles(tiles, 1 - buffer, fragment);
      __syncthreads();
      buffer = 1 - buffer;
    }
  }
  store_results(c, blockIdx.y * kTileRows + tile_row, blockIdx.x * kTileColumns + tile_column,
                problem, sums);
}

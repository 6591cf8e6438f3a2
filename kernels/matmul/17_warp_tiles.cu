// Block tile -> warp tile -> thread tile, several phases in flight, fragments loaded one step ahead.
//
// Idea:    each warp owns a compact WM x WN rectangle, and its lanes are laid out so that a
//          half-warp reads at most 128 different bytes of A and of B: every 128-bit read takes the
//          two wavefronts it must. STAGES buffers keep copies in flight across barriers, and the
//          registers for step i + 1 are loaded while step i is multiplied.
// Changes: shared memory is read with no conflict and little repetition, and neither its latency
//          nor that of global memory is seen by the FP32 units. Blocks are numbered in groups of
//          GROUP rows, so that those that run together share their tiles in L2.
// Counter: the share of cycles with an FFMA issued; L2 hit rate.
//
// A is m x k, B is k x n, C is m x n, all row-major; m, n, k multiples of BM, BN, BK. Offsets are
// 64-bit: the matrices may have more than 2^31 elements. With ACCUMULATE the sums start from C, so
// that a product cut along k adds up in the same order as one that is not.
// Launch: block 32 * (BM / WM) * (BN / WN) threads, grid (m / BM) * (n / BN) in x,
//         STAGES * sizeof(Tiles) dynamic bytes.
#include "async_copy.cuh"
#include "float4.cuh"

constexpr int threads = 32 * (BM / WM) * (BN / WN);
constexpr int lanes_down = 4, lanes_across = 8;  // the warp as a rectangle of threads
constexpr int rows = WM / lanes_down, columns = WN / lanes_across;  // of one thread
constexpr int pad = 4;  // keeps rows 16-byte aligned and spreads the transposed copies
static_assert(rows % 4 == 0 && columns % 4 == 0, "fragments are loaded as float4");
static_assert(BM * BK % threads == 0 && BK * BN % (4 * threads) == 0, "tiles divide evenly");

struct Tiles {
  float a[BK][BM + pad];  // transposed: [step][row]
  float b[BK][BN];
};

// The share of this thread in copying one phase's tiles. `a` and `b` point at the thread's first
// element of the phase.
__device__ inline void start_copies(Tiles& tiles, const float* a, const float* b, int n, int k) {
  constexpr int a_rows = threads / BK;           // rows of A one pass covers
  constexpr int b_steps = threads / (BN / 4);    // rows of B one pass covers
  const int a_row = threadIdx.x / BK, a_step = threadIdx.x % BK;
  const int b_step = threadIdx.x / (BN / 4), b_column = threadIdx.x % (BN / 4) * 4;
  // Pointers that advance cost one 64-bit addition a copy; a product r * k would cost more.
#pragma unroll
  for (int r = 0; r < BM; r += a_rows, a += static_cast<long long>(a_rows) * k) {
    copy_4_bytes(&tiles.a[a_step][a_row + r], a);
  }
#pragma unroll
  for (int s = 0; s < BK; s += b_steps, b += static_cast<long long>(b_steps) * n) {
    copy_16_bytes(&tiles.b[b_step + s][b_column], b);
  }
}

struct Fragments {
  float a[rows];
  float b[columns];
};

__device__ inline void load(Fragments& fragments, const Tiles& tiles, int step, int row,
                            int column) {
#pragma unroll
  for (int r = 0; r < rows; r += 4) {
    as_float4(fragments.a[r]) = as_float4(tiles.a[step][row + r * lanes_down]);
  }
#pragma unroll
  for (int c = 0; c < columns; c += 4) {
    as_float4(fragments.b[c]) = as_float4(tiles.b[step][column + c * lanes_across]);
  }
}

extern "C" __global__ void __launch_bounds__(threads, BLOCKS_PER_SM)
    matmul(const float* A, const float* B, float* C, int m, int n, int k) {
  extern __shared__ __align__(16) unsigned char shared[];
  Tiles* tiles = reinterpret_cast<Tiles*>(shared);

  // Block number -> tile of C: down GROUP rows of tiles, then on to the next column.
  const int tiles_down = m / BM, tiles_across = n / BN;
  const int in_group = GROUP * tiles_across;
  const int group_start = blockIdx.x / in_group * GROUP;
  const int group_rows = min(GROUP, tiles_down - group_start);
  const long long first_row = (group_start + blockIdx.x % in_group % group_rows) * BM;
  const int first_column = blockIdx.x % in_group / group_rows * BN;

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // Lanes in pairs down, then across: a half-warp is a 2 x 8 rectangle.
  const int lane_row = lane / 16 * 2 + lane % 2, lane_column = lane % 16 / 2;
  const int my_row = warp / (BN / WN) * WM + lane_row * 4;
  const int my_column = warp % (BN / WN) * WN + lane_column * 4;

  const float* a = A + (first_row + threadIdx.x / BK) * k + threadIdx.x % BK;
  const float* b = B + static_cast<long long>(threadIdx.x / (BN / 4)) * n + first_column +
                   threadIdx.x % (BN / 4) * 4;

  const int phases = k / BK;
#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) {
    if (stage < phases) {
      start_copies(tiles[stage], a, b, n, k);
      a += BK;
      b += static_cast<long long>(BK) * n;
    }
    commit_copies();
  }

  const auto c_row = [&](int r) {
    return C + (first_row + my_row + r / 4 * 4 * lanes_down + r % 4) * n + first_column + my_column;
  };
  float sum[rows][columns] = {};
  if (ACCUMULATE) {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
#pragma unroll
      for (int j = 0; j < columns; j += 4) {
        as_float4(sum[r][j]) = as_float4(c_row(r)[j * lanes_across]);
      }
    }
  }
  Fragments fragments[2];
  int reading = 0, writing = STAGES - 1;
  for (int phase = 0; phase < phases; ++phase) {
    wait_for_copies<STAGES - 2>();
    // All copies of this phase have arrived, and no thread still reads the buffer filled next.
    __syncthreads();
    load(fragments[0], tiles[reading], 0, my_row, my_column);
    if (phase + STAGES - 1 < phases) {
      start_copies(tiles[writing], a, b, n, k);
      a += BK;
      b += static_cast<long long>(BK) * n;
    }
    commit_copies();

#pragma unroll
    for (int i = 0; i < BK; ++i) {
      if (i + 1 < BK) {
        load(fragments[(i + 1) % 2], tiles[reading], i + 1, my_row, my_column);
      }
      const Fragments& now = fragments[i % 2];
#pragma unroll
      for (int r = 0; r < rows; ++r) {
#pragma unroll
        for (int c = 0; c < columns; ++c) sum[r][c] += now.a[r] * now.b[c];
      }
    }
    reading = reading + 1 == STAGES ? 0 : reading + 1;
    writing = writing + 1 == STAGES ? 0 : writing + 1;
  }

#pragma unroll
  for (int r = 0; r < rows; ++r) {
#pragma unroll
    for (int j = 0; j < columns; j += 4) {
      as_float4(c_row(r)[j * lanes_across]) = as_float4(sum[r][j]);
    }
  }
}

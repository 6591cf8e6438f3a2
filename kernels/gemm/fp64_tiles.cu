// float64 on tensor cores, warp by warp: mma.sync on tiles that cp.async brings in.
//
// Idea:    the tensor cores multiply float64 at twice the rate of DFMA, in the same arithmetic. A
//          warp has 64 x 32 sums in registers. While it multiplies 16 rows of A by its columns of
//          B, it loads the next 16 rows; and the columns of the next eight steps of k during the
//          last 16 rows, so that shared memory's latency is hidden with few registers.
// Changes: against general, products take one instruction of a warp for 1,024 DFMAs (256 before
//          Hopper), and copies run STAGES - 1 stages ahead.
// Counter: the fp64 tensor pipe's share of cycles; no bank conflicts (fp64_fragments.cuh says why).
//
// Rows of an operand may begin at any multiple of 8 bytes. Copies that reach beyond it fill up with
// zeros. Offsets are 64-bit: the matrices may have more than 2^31 elements.
//
// Constants: A_BY_COLUMNS, B_BY_COLUMNS: whether an operand is column-major; A_BY_CHUNKS,
// B_BY_CHUNKS: whether its rows begin and end at multiples of 16 bytes; C_TYPE, READS_C, BIAS,
// ACTIVATION (epilogue.cuh); BM x BN: the tile of C of a block, WM x WN of a warp; DEPTH: steps of k
// in a stage; STAGES; BLOCKS_PER_SM; SPLIT: whether blocks share k, and write sums of their parts; WIDE_PRODUCTS: whether mma.sync has 16 rows and 8 steps, as since Hopper, or 8 and 4.
// Launch: 32 * (BM / WM) * (BN / WN) threads, one block per tile of C, the matrices of the batch
//         one after the other, in x, the parts of k in y; the bytes of STAGES stages.
#include "fp64_fragments.cuh"
#include "tile_order.cuh"
#include "warp_store.cuh"

constexpr int threads = 32 * (BM / WM) * (BN / WN);
constexpr bool a_along_k = !A_BY_COLUMNS, b_along_k = B_BY_COLUMNS;
constexpr int stage_bytes = tile_bytes<BM> + tile_bytes<BN>;
constexpr int down = WM / 16, across = WN / 16;  // fragments of a warp
constexpr int inner_stages = DEPTH / inner_steps;
constexpr int refills = inner_stages * down - 1;  // pieces in which a stage is copied
static_assert(WN == 32, "a lane stores one column");
static_assert(down % 2 == 0 && inner_stages % 2 == 0, "buffers alternate");

// The sums of a warp: [row][column][e] of 16 x 8, where e / 2 is the half of A's fragment, and
// column % 2 that of B's.
using Sums = double[down][2 * across][4];

// sum (16 x 8) += a (16 x 8) * b (8 x 8), where b is one half of a fragment.
__device__ inline void multiply(double (&sum)[4], const Fragment& a, const Fragment& b, int half) {
#if WIDE_PRODUCTS
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7},"
      " {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
      : "d"(a.at[0][0]), "d"(a.at[0][1]), "d"(a.at[1][0]), "d"(a.at[1][1]), "d"(b.at[0][half]),
        "d"(b.at[1][half]));
#else
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int step = i / 2, rows = i % 2;
    asm volatile(
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(sum[2 * rows]), "+d"(sum[2 * rows + 1])
        : "d"(a.at[step][rows]), "d"(b.at[step][half]));
  }
#endif
}

// The products of a warp, stage after stage. Fragments are loaded into one of two buffers while the
// products of the other run.
struct Warp {
  Fragments<BM, a_along_k, !a_along_k> rows;
  Fragments<BN, b_along_k, false> columns;
  Fragment a[2], b[2][across];
  Sums sums = {};

  __device__ Warp(int row, int column) : rows(row), columns(column) {}

  __device__ void load_rows(unsigned stage, int inner, int index, int buffer) {
    a[buffer] = rows.load(stage, inner, index);
  }
  __device__ void load_columns(unsigned stage, int inner, int buffer) {
#pragma unroll
    for (int j = 0; j < across; ++j) {
      b[buffer][j] = columns.load(stage + tile_bytes<BM>, inner, j);
    }
  }
  // Loads the operands of a stage's first products.
  __device__ void begin(unsigned stage) {
    load_columns(stage, 0, 0);
    load_rows(stage, 0, 0, 0);
  }

  // The products of one stage. `refill` is called with 0, 1, ... after each row of them but the
  // last, and `advance`, which returns the next stage, before that: this stage has been read then.
  template <typename Refill, typename Advance>
  __device__ void multiply_stage(unsigned stage, const Refill& refill, const Advance& advance) {
#pragma unroll
    for (int inner = 0; inner < inner_stages; ++inner) {
#pragma unroll
      for (int i = 0; i < down; ++i) {
        if (i + 1 < down) {
          load_rows(stage, inner, i + 1, (i + 1) % 2);
        } else {
          if (inner + 1 == inner_stages) stage = advance();
          load_columns(stage, (inner + 1) % inner_stages, (inner + 1) % 2);
          load_rows(stage, (inner + 1) % inner_stages, 0, 0);
        }
        // There and back, so that a product shares an operand with the one before.
#pragma unroll
        for (int j = 0; j < 2 * across; ++j) {
          const int column = i % 2 == 0 ? j : 2 * across - 1 - j;
          multiply(sums[i][column], a[i % 2], b[inner % 2][column / 2], column % 2);
        }
        if (inner * down + i < refills) refill(inner * down + i);
      }
    }
  }
};

// A row of 32 doubles takes all lanes.
using Store = WarpStore<double, WN, 1, READS_C && !SPLIT>;
// The row of C, of 16, that lies in row r of the store.
__device__ inline int row_of(int r) { return a_along_k ? r : r % 8 * 2 + r / 8; }
static_assert(STAGES * stage_bytes >= threads / 32 * static_cast<int>(sizeof(Store)),
              "the sums of 16 rows of each warp find room");

extern "C" __global__ __launch_bounds__(threads, BLOCKS_PER_SM) void gemm(
    const double* A, const double* B, C_TYPE* C, const float* bias, int m, int n, int k,
    long long a_leading, long long b_leading, long long c_leading, long long a_stride,
    long long b_stride, long long c_stride, double alpha, double beta, double* partial,
    long long partial_pitch, int k_of_part) {
  extern __shared__ __align__(row_bytes) unsigned char memory[];
  const unsigned first_stage = shared_address(memory);
  const unsigned end = first_stage + STAGES * stage_bytes;
  const auto after = [&](unsigned stage) {
    return stage + stage_bytes == end ? first_stage : stage + stage_bytes;
  };

  const WorkUnit unit =
      work_unit(blockIdx.x, (m + BM - 1) / BM, (n + BN - 1) / BN, 1, usual_group);
  const int row = unit.tile_m * BM, column = unit.tile_n * BN;
  const int first_k = SPLIT ? blockIdx.y * k_of_part : 0;
  A += unit.batch * a_stride + first_k * (a_along_k ? 1 : a_leading);
  B += unit.batch * b_stride + first_k * (b_along_k ? 1 : b_leading);
  k = SPLIT ? min(k - first_k, k_of_part) : k;
  Copier<BM, a_along_k, A_BY_CHUNKS, threads> copy_a(A, a_leading, row, m);
  Copier<BN, b_along_k, B_BY_CHUNKS, threads> copy_b(B, b_leading, column, n);
  unsigned free_stage = first_stage;
  int left = k;  // of it, from the next stage to copy
  // Copies are spread over the products, so that these need not wait until all have been issued.
  // Beyond k they write zeros, which nothing reads: every stage closes a group, so that the count of
  // groups gives their age.
  const auto refill = [&](int piece) {
    constexpr int of_a = decltype(copy_a)::copies, all = of_a + decltype(copy_b)::copies;
#pragma unroll
    for (int i = 0; i < all; ++i) {
      if (i * refills / all != piece) continue;
      if (i < of_a) {
        copy_a.copy(free_stage, i, left);
      } else {
        copy_b.copy(free_stage + tile_bytes<BM>, i - of_a, left);
      }
    }
    if (piece + 1 < refills) return;
    commit_copies();
    copy_a.advance();
    copy_b.advance();
    left -= DEPTH;
    free_stage = after(free_stage);
  };
  for (int s = 0; s < STAGES - 1; ++s) {
#pragma unroll
    for (int piece = 0; piece < refills; ++piece) refill(piece);
  }

  const int warp = threadIdx.x / 32;
  const int warp_row = warp % (BM / WM) * WM, warp_column = warp / (BM / WM) * WN;
  Warp products(warp_row, warp_column);
  unsigned stage = first_stage;
  wait_for_copies<STAGES - 2>();
  __syncthreads();
  products.begin(stage);
#pragma unroll 1
  for (int step = 0; step < k; step += DEPTH) {
    products.multiply_stage(stage, refill, [&] {
      stage = after(stage);
      wait_for_copies<STAGES - 2>();
      __syncthreads();  // all see the next stage, and all have read this one
      return stage;
    });
  }

  wait_for_copies<0>();
  __syncthreads();  // all have read the stages
  Store& store = reinterpret_cast<Store*>(memory)[warp];
  const int first_column = column + warp_column;
  C += unit.batch * c_stride;
  partial += (static_cast<long long>(unit.batch) * gridDim.y + blockIdx.y) * m * partial_pitch;
#pragma unroll
  for (int i = 0; i < down; ++i) {
    const auto row_at = [&](int r) { return row + warp_row + 16 * i + row_of(r); };
    store.put(products.sums[i]);
    if (SPLIT) {
      store.to_partial(row_at, first_column, partial + first_column, partial_pitch, m, n);
    } else {
      store.to_c(row_at, first_column, C, c_leading, m, n, bias, alpha, beta);
    }
  }
}

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
// Where C has few tiles, an SM has few warps, and these wait at every barrier. Then SLICES groups of
// warps have a share of each stage's steps each, and add up their sums at the end.
//
// Constants: A_BY_COLUMNS, B_BY_COLUMNS: whether an operand is column-major; A_BY_CHUNKS,
// B_BY_CHUNKS: whether its rows begin and end at multiples of 16 bytes; C_TYPE, READS_C, BIAS,
// ACTIVATION (epilogue.cuh); C_PAIRS: whether rows of C begin and end at multiples of two elements;
// BM x BN: the tile of C of a block, WM x WN of a warp; DEPTH: steps of k
// in a stage; STAGES; SLICES (1 or 2); BLOCKS_PER_SM; SPLIT: whether blocks share k, and write sums
// of their parts; WIDE_PRODUCTS: whether mma.sync has 16 rows and 8 steps, as since Hopper, or 8 and
// 4.
// Launch: 32 * (BM / WM) * (BN / WN) * SLICES threads, one block per tile of C, the matrices of the
//         batch one after the other, in x, the parts of k in y; the bytes of STAGES stages.
#include "fp64_fragments.cuh"
#include "fragment_store.cuh"
#include "grid_order.cuh"
#include "prefetch.cuh"
#include "tile_order.cuh"
#include "warp_store.cuh"

constexpr int warps_of_slice = (BM / WM) * (BN / WN);
constexpr int threads = 32 * warps_of_slice * SLICES;
constexpr bool a_along_k = !A_BY_COLUMNS, b_along_k = B_BY_COLUMNS;
constexpr int stage_bytes = tile_bytes<BM> + tile_bytes<BN>;
constexpr int down = WM / 16, across = WN / 16;  // fragments of a warp
constexpr int inner_stages = DEPTH / inner_steps / SLICES;  // of a warp
constexpr int refills = inner_stages * down - 1;  // pieces in which a stage is copied
static_assert(WN == 32, "a lane stores one column");
static_assert(down % 2 == 0 && inner_stages % 2 == 0, "buffers alternate");
static_assert(SLICES == 1 || SLICES == 2, "each slice stores its half of a warp's rows");

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

  __device__ Warp(int row, int column, int slice)
      : rows(row, slice * inner_stages), columns(column, slice * inner_stages) {}

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

// Leaves each warp of two slices the sum of both, of half of its rows: of those from `down / 2` on in
// slice 1. `memory` is that of the stages, which nobody reads any more.
__device__ inline void add_slices(Sums& sums, unsigned char* memory, int slice) {
  constexpr int half = down / 2, count = half * 2 * across * 2, apart = 32 * warps_of_slice;
  const int thread = threadIdx.x % apart;
  double2* const of_slice = reinterpret_cast<double2*>(memory) + thread;
  const auto place = [&](int owner, int i) { return of_slice + (owner * count + i) * apart; };
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const int row = i / (4 * across), column = i / 2 % (2 * across), e = i % 2 * 2;
    const double(&low)[4] = sums[row][column], (&high)[4] = sums[row + half][column];
    *place(slice ^ 1, i) = slice == 0 ? double2{high[e], high[e + 1]} : double2{low[e], low[e + 1]};
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const int row = i / (4 * across), column = i / 2 % (2 * across), e = i % 2 * 2;
    const double2 other = *place(slice, i);
    double(&low)[4] = sums[row][column];
    const double(&high)[4] = sums[row + half][column];
    low[e] = (slice == 0 ? low[e] : high[e]) + other.x;
    low[e + 1] = (slice == 0 ? low[e + 1] : high[e + 1]) + other.y;
  }
  __syncthreads();  // all have read these sums
}

// A row of 32 doubles takes all lanes.
using Store = WarpStore<double, WN, 1, READS_C && !SPLIT>;
// The row of C, of 16, that lies in row r of the store.
__device__ inline int row_of(int r) { return a_along_k ? r : r % 8 * 2 + r / 8; }
// The sums of a part of k always do.
constexpr bool stores_pairs = C_PAIRS || SPLIT;
using Pairs = FragmentStore<double, 2 * across, READS_C && !SPLIT>;
static_assert(stores_pairs || STAGES * stage_bytes >= threads / 32 * static_cast<int>(sizeof(Store)),
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

  await_previous_grid();
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
  const auto copy_piece = [&](int piece) {
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
  };
  const auto close_stage = [&] {
    commit_copies();
    copy_a.advance();
    copy_b.advance();
    left -= DEPTH;
    free_stage = after(free_stage);
  };
  const auto refill = [&](int piece) {
    copy_piece(piece);
    if (piece + 1 == refills) close_stage();
  };
  for (int s = 0; s < STAGES - 1; ++s) {
#pragma unroll
    for (int piece = 0; piece < refills; ++piece) {
      if (left > 0) copy_piece(piece);
    }
    close_stage();
  }
  if (READS_C && !SPLIT) {
    constexpr int element = sizeof(C_TYPE);
    prefetch_rows<BM, BN * element, threads>(C + unit.batch * c_stride + row * c_leading + column,
                                             c_leading * element, m - row, (n - column) * element,
                                             threadIdx.x);
  }

  const int slice = threadIdx.x / (32 * warps_of_slice), warp = threadIdx.x / 32 % warps_of_slice;
  const int warp_row = warp % (BM / WM) * WM, warp_column = warp / (BM / WM) * WN;
  Warp products(warp_row, warp_column, slice);
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

  // Kernels without parts use all 255 registers, and would spill for this instruction.
  if (SPLIT) let_next_grid_begin();
  wait_for_copies<0>();
  __syncthreads();  // all have read the stages
  if (SLICES > 1) add_slices(products.sums, memory, slice);
  Store& store = reinterpret_cast<Store*>(memory)[threadIdx.x / 32];
  const int first_column = column + warp_column;
  C += unit.batch * c_stride;
  partial += (static_cast<long long>(unit.batch) * gridDim.y + blockIdx.y) * m * partial_pitch;
#pragma unroll
  for (int i = 0; i < down / SLICES; ++i) {
    const int first_row = row + warp_row + 16 * (i + slice * (down / SLICES));
    const auto row_at = [&](int r) { return first_row + row_of(r); };
    if (SPLIT) {
      Pairs::to_partial(products.sums[i], row_at, first_column, partial, partial_pitch, m, n);
    } else if (stores_pairs) {
      Pairs::to_c(products.sums[i], row_at, first_column, C, c_leading, m, n, bias, alpha, beta);
    } else {
      store.put(products.sums[i]);
      store.to_c(row_at, first_column, C, c_leading, m, n, bias, alpha, beta);
    }
  }
}

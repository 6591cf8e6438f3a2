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
// warps have a share of each stage's steps each, and add up their sums at the end, each a share.
//
// Constants: A_BY_COLUMNS, B_BY_COLUMNS: whether an operand is column-major; A_BY_CHUNKS,
// B_BY_CHUNKS: whether its rows begin and end at multiples of 16 bytes; C_TYPE, READS_C, BIAS,
// ACTIVATION (epilogue.cuh); C_PAIRS: whether rows of C begin and end at multiples of two elements;
// BM x BN: the tile of C of a block, WM x WN of a warp; DEPTH: steps of k in a stage; STAGES; SLICES
// (1, 2 or 4); BLOCKS_PER_SM; SPLIT: whether blocks share k, and write sums of their parts;
// WIDE_PRODUCTS: whether mma.sync has 16 rows and 8 steps, as since Hopper, or 8 and 4.
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
static_assert(down % 2 == 0 && inner_stages % 2 == 0, "buffers alternate");
// Slices share what they store of a warp's sums: first its rows of 16, then its columns.
constexpr int row_parts = SLICES < down ? SLICES : down, column_parts = SLICES / row_parts;
constexpr int own_down = down / row_parts, own_across = 2 * across / column_parts;
static_assert(own_down * row_parts == down && own_across * column_parts == 2 * across,
              "equal shares");
static_assert(SLICES == 1 || SLICES == 2 || SLICES == 4, "added in pairs");

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

// The share of these that a slice stores.
using OwnSums = double[own_down][own_across][4];

// Calls `visit` for each pair of neighbours of these: its number, row, column and first element.
template <typename Visit>
__device__ inline void each_pair(const Visit& visit) {
#pragma unroll
  for (int i = 0; i < own_down * own_across * 2; ++i) {
    visit(i, i / (2 * own_across), i / 2 % own_across, i % 2 * 2);
  }
}

// The sums of all slices, of this warp's share: (0 + 1) + (2 + 3), whichever of them it is, so that
// an element's bits do not depend on its place in a tile. `memory` is that of the stages, which
// nobody reads any more.
__device__ inline void add_slices(OwnSums& own, const Sums& sums, unsigned char* memory, int slice) {
  constexpr int count = own_down * own_across * 2, apart = 32 * warps_of_slice;
  static_assert(SLICES * SLICES * count * apart * 16 <= STAGES * stage_bytes, "they find room");
  double2* const of_thread = reinterpret_cast<double2*>(memory) + threadIdx.x % apart;
  const auto place = [&](int owner, int writer, int i) {
    return of_thread + ((owner * SLICES + writer) * count + i) * apart;
  };
#pragma unroll
  for (int owner = 0; owner < SLICES; ++owner) {
    each_pair([&](int i, int row, int column, int e) {
      const double(&of)[4] = sums[owner / column_parts * own_down + row]
                                 [owner % column_parts * own_across + column];
      if (owner == slice) {
        own[row][column][e] = of[e], own[row][column][e + 1] = of[e + 1];
      } else {
        *place(owner, slice, i) = double2{of[e], of[e + 1]};
      }
    });
  }
  if (SLICES == 1) return;
  __syncthreads();
  each_pair([&](int i, int row, int column, int e) {
    const double2 neighbour = *place(slice, slice ^ 1, i);
    own[row][column][e] += neighbour.x, own[row][column][e + 1] += neighbour.y;
    if (SLICES == 4) {
      const double2 one = *place(slice, slice ^ 2, i), other = *place(slice, slice ^ 3, i);
      own[row][column][e] += one.x + other.x, own[row][column][e + 1] += one.y + other.y;
    }
  });
}

using Store = WarpStore<double, 8 * own_across, 1, READS_C && !SPLIT>;
// The row of C, of 16, that lies in row r of the store.
__device__ inline int row_of(int r) { return a_along_k ? r : r % 8 * 2 + r / 8; }
// The sums of a part of k always do.
constexpr bool stores_pairs = C_PAIRS || SPLIT;
using Pairs = FragmentStore<double, own_across, READS_C && !SPLIT>;
// A thread's registers for its sums, what is added to its share of them, and the rest.
constexpr int registers = 2 * down * 2 * across * 4 + 2 * own_down * own_across * 4 + 48;
constexpr bool reads_ahead =
    stores_pairs && !SPLIT && registers <= 65536 / (threads * BLOCKS_PER_SM) && registers <= 255;
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
  // Beyond k they write zeros: every stage closes a group, so that the count of groups gives their
  // age.
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
  // The stage behind the last one is filled with zeros, since its first fragments are loaded.
  for (int s = 0; s < STAGES - 1; ++s) {
#pragma unroll
    for (int piece = 0; piece < refills; ++piece) {
      if (left > -DEPTH) copy_piece(piece);
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

  C += unit.batch * c_stride;
  const int first_row = row + warp_row + slice / column_parts * own_down * 16;
  const int first_column = column + warp_column + slice % column_parts * own_across * 8;
  const auto rows_from = [&](int i) {
    return [first = first_row + 16 * i](int r) { return first + row_of(r); };
  };
  typename Pairs::Added added[own_down];
  const auto read_c = [&](int i) {
    Pairs::read(added[i], rows_from(i), first_column, C, c_leading, m, n, bias);
  };
#pragma unroll
  for (int i = 0; reads_ahead && i < own_down; ++i) read_c(i);

  // Kernels without parts use all 255 registers, and would spill for this instruction.
  if (SPLIT) let_next_grid_begin();
  wait_for_copies<0>();
  __syncthreads();  // all have read the stages
  OwnSums own;
  add_slices(own, products.sums, memory, slice);
  if (SLICES > 1 && !stores_pairs) __syncthreads();  // all have read these sums
  Store& store = reinterpret_cast<Store*>(memory)[threadIdx.x / 32];
  partial += (static_cast<long long>(unit.batch) * gridDim.y + blockIdx.y) * m * partial_pitch;
#pragma unroll
  for (int i = 0; i < own_down; ++i) {
    const auto row_at = rows_from(i);
    if (SPLIT) {
      Pairs::to_partial(own[i], row_at, first_column, partial, partial_pitch, m, n);
    } else if (stores_pairs) {
      if (!reads_ahead) read_c(i);
      Pairs::to_c(own[i], added[i], row_at, first_column, C, c_leading, m, n, alpha, beta);
    } else {
      store.put(own[i]);
      store.to_c(row_at, first_column, C, c_leading, m, n, bias, alpha, beta);
    }
  }
}

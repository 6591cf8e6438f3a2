// Tensor cores, warp by warp: mma.sync on tiles that cp.async brings in.
//
// Idea:    a warp multiplies 16 x 8 elements of C by 32 bytes of k in one instruction, whose
//          operands lie spread over the registers of its lanes. ldmatrix spreads them so, straight
//          from rows of 16 bytes in shared memory, transposed if k does not run along the rows.
//          A warp has WM x WN sums in registers. While it multiplies the fragments of 32 bytes of k
//          it loads those of the next, so that shared memory's latency is hidden by few warps.
// Changes: against matmul/17_warp_tiles, a product of 16 x 8 x 16 takes one instruction instead of
//          64 FFMAs of a warp, and operands of 16 bits are half of the bytes.
// Counter: the tensor pipe's share of cycles; no bank conflicts (mma_fragments.cuh says why).
//
// STAGES - 1 stages of tiles are on their way while one is multiplied; copies that reach beyond an
// operand fill up with zeros. A GPU of compute capability 7.5 has no cp.async: there chunks pass
// through registers. Offsets are 64-bit: the matrices may have more than 2^31 elements.
//
// Constants: ELEMENT, the type of A and B: bfloat16, float16 or float32; INSTRUCTION: shape and
// types of mma.sync; SHORT_PRODUCTS: whether its shape has 16 bytes of k instead of 32, as in 7.5;
// A_BY_COLUMNS, B_BY_COLUMNS: whether an operand is column-major; A_ROWS_BY, B_ROWS_BY: how its rows
// lie (mma_fragments.cuh); C_TYPE, READS_C, BIAS, ACTIVATION (epilogue.cuh); C_QUADS: whether rows
// of C begin and end at multiples of four elements;
// BM x BN: the tile of C of a block, WM x WN of a warp; DEPTH: steps of k in a stage; STAGES;
// BLOCKS_PER_SM; PARTS: whether blocks share tiles.
// Launch: 32 * (BM / WM) * (BN / WN) threads; a block for each of the first `whole_tiles` tiles of C,
//         the matrices of the batch one after the other, and `parts` for each of the others, of which
//         each takes k_of_part steps of k; the bytes of STAGES stages, or of a Store for each warp if
//         these are more. reduce_tiles.cu adds the parts.
#include "mma_fragments.cuh"
#include "tile_order.cuh"
#include "warp_store.cuh"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

constexpr int threads = 32 * (BM / WM) * (BN / WN);
constexpr bool a_along_k = !A_BY_COLUMNS, b_along_k = B_BY_COLUMNS;
using TileA = Tile<BM, a_along_k>;
using TileB = Tile<BN, b_along_k>;
constexpr int stage_bytes = TileA::bytes + TileB::bytes;
constexpr int down = WM / 16, across = WN / 16;  // fragments of a warp
constexpr int inners = DEPTH / inner_steps;
constexpr int refills = inners - 1;              // pieces in which a stage is copied
static_assert(WN % 32 == 0, "lanes store rows of 32 columns");
static_assert(inners % 2 == 0, "buffers alternate");

// sum (16 x 8) += a (16 x inner_steps) * b (inner_steps x 8).
__device__ inline void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b_low,
                                unsigned b_high) {
#if SHORT_PRODUCTS
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    asm volatile("mma.sync.aligned." TEXT(INSTRUCTION) " {%0, %1, %2, %3}, {%4, %5}, {%6},"
                 " {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(half == 0 ? b_low : b_high));
  }
#else
  asm volatile("mma.sync.aligned." TEXT(INSTRUCTION) " {%0, %1, %2, %3}, {%4, %5, %6, %7},"
               " {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
#endif
}

// The products of a warp, stage after stage. Fragments are loaded into one of two buffers while the
// products of the other run.
struct Warp {
  Fragments<BM, a_along_k, false> rows;
  Fragments<BN, b_along_k, true> columns;
  unsigned a[2][down][4], b[2][across][4];
  float sums[down][2 * across][4] = {};

  __device__ Warp(int row, int column) : rows(row), columns(column) {}

  // Share `part` of `down` of what the products of `inner` need.
  __device__ void load(unsigned stage, int inner, int part) {
    rows.load(a[inner % 2][part], stage, inner, part);
#pragma unroll
    for (int j = 0; j < across; ++j) {
      if (j * down / across == part) {
        columns.load(b[inner % 2][j], stage + TileA::bytes, inner, j);
      }
    }
  }

  // The products of one stage. `advance`, called when this stage has been read, returns the next;
  // `refill` is called before that, with 0, 1, ... after the products of each 16 rows.
  template <typename Refill, typename Advance>
  __device__ void multiply_stage(unsigned stage, const Refill& refill, const Advance& advance) {
#pragma unroll
    for (int inner = 0; inner < inners; ++inner) {
      if (inner + 1 == inners) stage = advance();
#pragma unroll
      for (int i = 0; i < down; ++i) {
        load(stage, (inner + 1) % inners, i);
        // There and back, so that a product shares an operand with the one before.
#pragma unroll
        for (int j = 0; j < 2 * across; ++j) {
          const int column = i % 2 == 0 ? j : 2 * across - 1 - j;
          const unsigned(&halves)[4] = b[inner % 2][column / 2];
          multiply(sums[i][column], a[inner % 2][i], halves[column % 2 * 2],
                   halves[column % 2 * 2 + 1]);
        }
        if (i == 0 && inner < refills) refill(inner);
      }
    }
  }
};

using Store = WarpStore<float, WN, !C_QUADS ? 1 : sizeof(C_TYPE) == 8 ? 2 : 4, READS_C>;

extern "C" __global__ __launch_bounds__(threads, BLOCKS_PER_SM) void gemm(
    const ELEMENT* A, const ELEMENT* B, C_TYPE* C, const float* bias, int m, int n, int k,
    long long a_leading, long long b_leading, long long c_leading, long long a_stride,
    long long b_stride, long long c_stride, float alpha, float beta, float* partial,
    int whole_tiles, int parts, int k_of_part) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const unsigned first_stage = shared_address(memory);
  const unsigned end = first_stage + STAGES * stage_bytes;
  const auto after = [&](unsigned stage) {
    return stage + stage_bytes == end ? first_stage : stage + stage_bytes;
  };

  const bool is_part = PARTS && blockIdx.x >= whole_tiles;
  const int behind_whole = blockIdx.x - whole_tiles;
  const WorkUnit unit = work_unit(is_part ? whole_tiles + behind_whole / parts : blockIdx.x,
                                  (m + BM - 1) / BM, (n + BN - 1) / BN, 1, usual_group);
  const int row = unit.tile_m * BM, column = unit.tile_n * BN;
  const int first_k = is_part ? behind_whole % parts * k_of_part : 0;
  A += unit.batch * a_stride + first_k * (a_along_k ? 1 : a_leading);
  B += unit.batch * b_stride + first_k * (b_along_k ? 1 : b_leading);
  k = is_part ? min(k - first_k, k_of_part) : k;
  Copier<BM, a_along_k, A_ROWS_BY, threads> copy_a(A, a_leading, row, m);
  Copier<BN, b_along_k, B_ROWS_BY, threads> copy_b(B, b_leading, column, n);
  unsigned free_stage = first_stage;
  int left = k;  // of it, from the next stage to copy
  // Copies are spread over the products, so that these need not wait until all have been issued.
  // The stage behind the last one is filled with zeros, since its first fragments are loaded. Every
  // stage closes a group, even without copies, so that the count of groups gives their age.
  const auto refill = [&](int piece) {
    constexpr int of_a = decltype(copy_a)::copies, all = of_a + decltype(copy_b)::copies;
    if (left > -DEPTH) {
      if (piece == 0) {
        copy_a.begin(left);
        copy_b.begin(left);
      }
#pragma unroll
      for (int i = piece * all / refills; i < (piece + 1) * all / refills; ++i) {
        if (i < of_a) {
          copy_a.copy(free_stage, i);
        } else {
          copy_b.copy(free_stage + TileA::bytes, i - of_a);
        }
      }
      if (piece + 1 == refills) {
        copy_a.end(free_stage);
        copy_b.end(free_stage + TileA::bytes);
        copy_a.advance();
        copy_b.advance();
      }
    }
    if (piece + 1 < refills) return;
    commit_copies();
    left -= DEPTH;
    free_stage = after(free_stage);
  };
  for (int s = 0; s < STAGES - 1; ++s) {
#pragma unroll
    for (int piece = 0; piece < refills; ++piece) refill(piece);
  }

  const int warp = threadIdx.x / 32;
  const int warp_row = warp / (BN / WN) * WM, warp_column = warp % (BN / WN) * WN;
  Warp products(warp_row, warp_column);
  unsigned stage = first_stage;
  wait_for_copies<STAGES - 2>();
  __syncthreads();
#pragma unroll
  for (int part = 0; part < down; ++part) products.load(stage, 0, part);
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
  C += unit.batch * c_stride;
  if (is_part) partial += static_cast<long long>(behind_whole) * (BM * BN) + warp_column;
#pragma unroll
  for (int i = 0; i < down; ++i) {
    const int row_in_tile = warp_row + 16 * i;
    store.put(products.sums[i]);
    if (is_part) {
      store.to_partial([&](int r) { return row_in_tile + r; }, column + warp_column, partial, BN,
                       m - row, n);
    } else {
      store.to_c([&](int r) { return row + row_in_tile + r; }, column + warp_column, C, c_leading,
                 m, n, bias, alpha, beta);
    }
  }
}

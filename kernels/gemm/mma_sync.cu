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
// Constants: ELEMENT, the type of A and B: bfloat16, float16, float32 or int8, and SUM, that of the
// sums; INSTRUCTION, SHORT_PRODUCTS and PROMOTES_SUMS (mma_multiply.cuh);
// A_BY_COLUMNS, B_BY_COLUMNS: whether an operand is column-major; A_ROWS_BY, B_ROWS_BY: how its rows
// lie (mma_fragments.cuh); C_TYPE, READS_C, BIAS, ACTIVATION (epilogue.cuh); C_QUADS: whether rows
// of C begin and end at multiples of four elements;
// BM x BN: the tile of C of a block, WM x WN of a warp; DEPTH: steps of k in a stage; STAGES;
// BLOCKS_PER_SM; PARTS: whether blocks share tiles.
// Launch: 32 * (BM / WM) * (BN / WN) threads; a block for each of the first `whole_tiles` tiles of C,
//         the matrices of the batch one after the other, and `parts` for each of the others, of which
//         each takes k_of_part steps of k; the bytes of STAGES stages, or of a Store for each warp if
//         these are more. reduce_tiles.cu adds the parts.
#include "grid_order.cuh"
#include "mma_tile.cuh"
#include "tile_order.cuh"
#include "warp_store.cuh"

using Products = WarpProducts<!A_BY_COLUMNS, B_BY_COLUMNS>;
using Store = WarpStore<Sum, WN, !C_QUADS ? 1 : sizeof(C_TYPE) == 8 ? 2 : 4, READS_C>;

extern "C" __global__ __launch_bounds__(threads, BLOCKS_PER_SM) void gemm(
    const ELEMENT* A, const ELEMENT* B, C_TYPE* C, const float* bias, int m, int n, int k,
    long long a_leading, long long b_leading, long long c_leading, long long a_stride,
    long long b_stride, long long c_stride, Sum alpha, Sum beta, Sum* partial,
    int whole_tiles, int parts, int k_of_part) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const bool is_part = PARTS && blockIdx.x >= whole_tiles;
  const int behind_whole = blockIdx.x - whole_tiles;
  const WorkUnit unit = work_unit(is_part ? whole_tiles + behind_whole / parts : blockIdx.x,
                                  (m + BM - 1) / BM, (n + BN - 1) / BN, 1, usual_group);
  const int row = unit.tile_m * BM, column = unit.tile_n * BN;
  const int first_k = is_part ? behind_whole % parts * k_of_part : 0;
  A += unit.batch * a_stride + first_k * (A_BY_COLUMNS ? a_leading : 1);
  B += unit.batch * b_stride + first_k * (B_BY_COLUMNS ? 1 : b_leading);
  k = is_part ? min(k - first_k, k_of_part) : k;

  const int warp_row = first_row_of_warp(), warp_column = first_column_of_warp();
  Products products(warp_row, warp_column);
  await_previous_grid();
  multiply_tile<A_ROWS_BY, B_ROWS_BY>(products, A, B, m, n, k, a_leading, b_leading, row, column,
                                      memory);
  let_next_grid_begin();
  Store& store = reinterpret_cast<Store*>(memory)[threadIdx.x / 32];
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

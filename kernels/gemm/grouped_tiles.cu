// Products of different shapes in one launch on tensor cores, by mma.sync.
//
// Idea:    the tiles of all products are numbered in one row; a block finds its own by a table of
//          first tiles, and computes it as mma_sync.cu does. Groups with much k come first, so that
//          the launch ends with short blocks.
// Changes: against grouped.cu, tensor cores and asynchronous copies; operands have the precision's
//          type. The code for a layout is compiled if a group has it.
// Counter: one launch; the tensor pipe's share of cycles.
//
// Constants: those of mma_tile.cuh; BLOCKS_PER_SM; C_TYPE, READS_C, BIAS, ACTIVATION (epilogue.cuh);
// FORMS: FORM(number, A_BY_COLUMNS, B_BY_COLUMNS, A_ROWS_BY, B_ROWS_BY, C_QUADS) for each form of
// groups that occurs, the constants as in mma_sync.cu.
// Launch: 32 * (BM / WM) * (BN / WN) threads; a block for each tile of C of all groups; the bytes of
//         STAGES stages, or of a Store for each warp if these are more.
#include "groups.cuh"
#include "mma_tile.cuh"
#include "tile_order.cuh"
#include "warp_store.cuh"

// The first row and column of this block's tile, in C of its group.
__device__ inline int2 tile_of_block(const Group& group, int first_tile) {
  const WorkUnit unit = work_unit(blockIdx.x - first_tile, (group.m + BM - 1) / BM,
                                  (group.n + BN - 1) / BN, 1, usual_group);
  return make_int2(unit.tile_m * BM, unit.tile_n * BN);
}

// Computes this block's tile of a group of one form.
template <bool a_by_columns, bool b_by_columns, int a_rows_by, int b_rows_by, bool c_quads>
__device__ inline void compute_tile(const Group* groups, const int* first_tiles, int number,
                                    const float* bias, float alpha, float beta,
                                    unsigned char* memory) {
  using Products = WarpProducts<!a_by_columns, b_by_columns>;
  using Store = WarpStore<Sum, WN, !c_quads ? 1 : sizeof(C_TYPE) == 8 ? 2 : 4, READS_C>;
  const int warp_row = first_row_of_warp(), warp_column = first_column_of_warp();
  Products products(warp_row, warp_column);
  {
    const Group& group = groups[number];
    const int2 tile = tile_of_block(group, first_tiles[number]);
    multiply_tile<a_rows_by, b_rows_by>(products, static_cast<const ELEMENT*>(group.a),
                                        static_cast<const ELEMENT*>(group.b), group.m, group.n,
                                        group.k, group.a_leading, group.b_leading, tile.x, tile.y,
                                        memory);
  }
  // All but the number is found again, so that no registers keep it during the products.
  asm volatile("" : "+r"(number));
  const Group& group = groups[number];
  const int2 tile = tile_of_block(group, first_tiles[number]);
  Store& store = reinterpret_cast<Store*>(memory)[threadIdx.x / 32];
#pragma unroll
  for (int i = 0; i < down; ++i) {
    store.put(products.sums[i]);
    store.to_c([&](int r) { return tile.x + warp_row + 16 * i + r; }, tile.y + warp_column,
               static_cast<C_TYPE*>(group.c), group.c_leading, group.m, group.n, bias, alpha, beta);
  }
}

extern "C" __global__ __launch_bounds__(threads, BLOCKS_PER_SM) void gemm(const Group* groups,
                                                                          const int* first_tiles,
                                                                          int count,
                                                                          const float* bias,
                                                                          float alpha, float beta) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const int number = group_of_tile(first_tiles, count, blockIdx.x);
#define FORM(form, ...)                                                                \
  case form:                                                                           \
    compute_tile<__VA_ARGS__>(groups, first_tiles, number, bias, alpha, beta, memory); \
    break;
  switch (groups[number].form) { FORMS }
}

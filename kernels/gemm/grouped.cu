// Products of different shapes in one launch: any types and orders, the whole epilogue.
//
// Idea:    a launch for each of many small products leaves most SMs idle. Here the tiles of all
//          products are numbered in one row, and a block finds its own by a table of first tiles.
//          The order of an operand is no constant: one kernel takes all groups.
// Changes: against general.cu, groups of any shapes and orders take one launch.
// Counter: one launch; ideal sectors on loads of either order.
//
// Constants: A_TYPE, B_TYPE, C_TYPE and OPERAND (element.cuh); READS_C, BIAS, ACTIVATION
// (epilogue.cuh); PER_THREAD x PER_THREAD elements of C for each of 16 x 16 threads. A group's form:
// 1 for a column-major A, plus 2 for a column-major B.
// Launch: one block of 256 threads for each tile of C of all groups.
#include "element_tile.cuh"
#include "groups.cuh"

extern "C" __global__ __launch_bounds__(side* side) void gemm(const Group* groups,
                                                              const int* first_tiles, int count,
                                                              const float* bias, Sum alpha,
                                                              Sum beta) {
  __shared__ Tile a_tile;
  __shared__ Tile b_tile;

  const int number = group_of_tile(first_tiles, count, blockIdx.x);
  const Group group = groups[number];
  const int tile = blockIdx.x - first_tiles[number];
  const int tiles_across = (group.n + tile_side - 1) / tile_side;
  const int column_start = tile % tiles_across * tile_side;
  const int row_start = tile / tiles_across * tile_side;
  const auto* const A = static_cast<const A_TYPE*>(group.a);
  const auto* const B = static_cast<const B_TYPE*>(group.b);
  auto* const C = static_cast<C_TYPE*>(group.c);
  const bool a_by_columns = group.form & 1, b_by_columns = group.form & 2;

  ThreadSums sums;
  for (int step = 0; step < group.k; step += depth) {
    load_tile(a_tile, A, !a_by_columns, group.a_leading, row_start, group.m, step, group.k);
    load_tile(b_tile, B, b_by_columns, group.b_leading, column_start, group.n, step, group.k);
    __syncthreads();
    sums.add(a_tile, b_tile);
    __syncthreads();
  }
  sums.store(C, group.c_leading, row_start, column_start, group.m, group.n, alpha, beta, bias);
}

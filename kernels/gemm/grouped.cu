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
#include "epilogue.cuh"
#include "groups.cuh"

using Sum = decltype(operand<OPERAND>(A_TYPE()));

constexpr int side = 16;   // threads along either side of a tile
constexpr int depth = 16;  // of k at a time
constexpr int tile_side = side * PER_THREAD;

// A tile of an operand: `depth` steps of k, each with `tile_side` values along m or n. The column
// more spreads the banks when consecutive threads hold consecutive steps.
using Tile = Sum[depth][tile_side + 1];

// Loads elements [start, start + tile_side) along m or n, steps [step, step + depth) of k.
// `along_steps`: whether k is the index that runs fastest in memory.
template <typename Element>
__device__ void load_tile(Tile& to, const Element* matrix, bool along_steps, long long leading,
                          int start, int count, int step, int steps) {
  for (int i = threadIdx.x; i < depth * tile_side; i += side * side) {
    const int s = along_steps ? i % depth : i / tile_side;
    const int x = along_steps ? i / depth : i % tile_side;
    const long long at =
        along_steps ? (start + x) * leading + step + s : (step + s) * leading + start + x;
    const bool inside = start + x < count && step + s < steps;
    to[s][x] = inside ? operand<OPERAND>(matrix[at]) : Sum(0);
  }
}

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
  const int tx = threadIdx.x % side;
  const int ty = threadIdx.x / side;

  Sum sums[PER_THREAD][PER_THREAD] = {};
  for (int step = 0; step < group.k; step += depth) {
    load_tile(a_tile, A, !a_by_columns, group.a_leading, row_start, group.m, step, group.k);
    load_tile(b_tile, B, b_by_columns, group.b_leading, column_start, group.n, step, group.k);
    __syncthreads();

    // Not further unrolled: doubles would spill.
#pragma unroll 4
    for (int s = 0; s < depth; ++s) {
      for (int i = 0; i < PER_THREAD; ++i) {
        for (int j = 0; j < PER_THREAD; ++j) {
          sums[i][j] =
              multiply_add(a_tile[s][ty + side * i], b_tile[s][tx + side * j], sums[i][j]);
        }
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < PER_THREAD; ++i) {
    const int row = row_start + ty + side * i;
#pragma unroll
    for (int j = 0; j < PER_THREAD; ++j) {
      const int column = column_start + tx + side * j;
      if (row >= group.m || column >= group.n) continue;
      store_with_epilogue<READS_C, ACTIVATION>(&C[row * group.c_leading + column], sums[i][j],
                                               alpha, beta, bias_at<BIAS>(bias, row, column));
    }
  }
}

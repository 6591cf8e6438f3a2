// The sums over the parts of k of the tiles that several blocks of mma_sync.cu share, in order, and
// their epilogue.
//
// Idea:    the last round of blocks leaves SMs without one, and a small C has fewer tiles than there
//          are SMs: there blocks divide k of a tile. Each writes its sums to memory of its own, so
//          nothing depends on the blocks' order, and the result has the same bits in every run.
// Changes: against reduce_splits, sums lie tile by tile, and only those of shared tiles exist.
// Counter: DRAM and L2 throughput.
//
// `partial` holds `parts` matrices of BM x BN for each tile from `whole_tiles` on. SUM, their type; C_TYPE,
// BIAS, READS_C, ACTIVATION as elsewhere.
// Launch: 256 threads, a warp for a row of a tile; BM / 8 blocks for each tile.
#include "epilogue.cuh"
#include "grid_order.cuh"
#include "tile_order.cuh"

extern "C" __global__ void __launch_bounds__(256)
    reduce_tiles(const SUM* partial, C_TYPE* C, const float* bias, int m, int n,
                 long long c_leading, long long c_stride, SUM alpha, SUM beta, int whole_tiles,
                 int parts) {
  await_previous_grid();
  let_next_grid_begin();
  constexpr int warps = 8, slabs = BM / warps;
  const int tile = blockIdx.x / slabs;
  const int row_in_tile = blockIdx.x % slabs * warps + threadIdx.x / 32;
  const WorkUnit unit =
      work_unit(whole_tiles + tile, (m + BM - 1) / BM, (n + BN - 1) / BN, 1, usual_group);
  const int row = unit.tile_m * BM + row_in_tile;
  if (row >= m) return;
  C += unit.batch * c_stride + row * c_leading;
  partial += (static_cast<long long>(tile) * parts * BM + row_in_tile) * BN;
#pragma unroll
  for (int j = threadIdx.x % 32; j < BN; j += 32) {
    const int column = unit.tile_n * BN + j;
    if (column >= n) break;
    SUM sum = 0;
#pragma unroll 4
    for (int part = 0; part < parts; ++part) sum += partial[part * (BM * BN) + j];
    store_with_epilogue<READS_C, ACTIVATION>(C + column, sum, alpha, beta,
                                             bias_at<BIAS>(bias, row, column));
  }
}

// Products of few steps of k on tensor cores: many small blocks instead of a pipeline.
//
// Idea:    where k is short, a product is the time until the first operands arrive and the time
//          until the last sums are stored. A block here has little to begin: no barriers in memory,
//          no descriptors, no copying warps, and no kernel before it that copies operands to rows
//          that begin at chunks. Several blocks on an SM hide each other's loads and stores.
// Changes: against mma_sync, a stage is all of k where it fits; C is read while operands are on their
//          way, and stored in whole chunks wherever its rows begin (block_store.cuh).
// Counter: L2 throughput; achieved occupancy.
//
// Constants: those of small_mma.cuh: ELEMENT, SUM, INSTRUCTION, SHORT_PRODUCTS, PROMOTES_SUMS,
// BM x BN, WM x WN, DEPTH; A_BY_COLUMNS, B_BY_COLUMNS: whether an operand is column-major; A_ROWS_BY,
// B_ROWS_BY: how its rows lie (mma_fragments.cuh); C_TYPE, READS_C, BIAS, ACTIVATION (epilogue.cuh);
// STAGES: 1 where DEPTH holds k, else 2; BLOCKS_PER_SM.
// Launch: 32 * (BM / WM) * (BN / WN) threads for each tile of C; columns of tiles first, then rows,
//         then the batch; the bytes of STAGES stages, or of BlockStore's sums if these are more, and of
//         what C holds, if that is read.
#include "block_store.cuh"
#include "common/divisor.cuh"
#include "grid_order.cuh"
#include "lean_copies.cuh"
#include "small_mma.cuh"

using Sum = SUM;
constexpr int threads = 32 * (BM / WM) * (BN / WN);
constexpr bool a_along_k = !A_BY_COLUMNS, b_along_k = B_BY_COLUMNS;
using Stages = Stage<a_along_k, b_along_k, A_ROWS_BY, B_ROWS_BY>;
using Store = BlockStore<Sum, BM, BN, threads, READS_C>;
constexpr int bytes_of_a = Tile<BM, a_along_k>::bytes;
constexpr int all_stages = STAGES * Stages::bytes;
constexpr int first_old = all_stages > Store::bytes ? all_stages : Store::bytes;

extern "C" __global__ __launch_bounds__(threads, BLOCKS_PER_SM) void gemm(
    const ELEMENT* A, const ELEMENT* B, C_TYPE* C, const float* bias, int m, int n, int k,
    long long a_leading, long long b_leading, long long c_leading, long long a_stride,
    long long b_stride, long long c_stride, Sum alpha, Sum beta, Divisor by_tiles,
    Divisor by_tiles_across) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const int tiles_across = (n + BN - 1) / BN, tiles = tiles_across * ((m + BM - 1) / BM);
  const int matrix = by_tiles.quotient(blockIdx.x), tile = blockIdx.x - matrix * tiles;
  const int tile_row = by_tiles_across.quotient(tile);
  const int row = tile_row * BM, column = (tile - tile_row * tiles_across) * BN;
  A += matrix * a_stride;
  B += matrix * b_stride;

  LeanCopier<BM, a_along_k, A_ROWS_BY, threads> copy_a(A, a_leading, row, m, Stages::first_a_end);
  LeanCopier<BN, b_along_k, B_ROWS_BY, threads> copy_b(B, b_leading, column, n, Stages::first_b_end);
  const auto begin_copies = [&](unsigned stage, int left) {
    copy_a.begin(stage, left);
    copy_b.begin(stage + bytes_of_a, left);
  };
  const auto end_copies = [&] {
    commit_copies();
    copy_a.advance();
    copy_b.advance();
  };
  unsigned stage = shared_address(memory), other = stage + (STAGES - 1) * Stages::bytes;
  await_previous_grid();
  begin_copies(stage, k);
  const Store store(C + matrix * c_stride, c_leading, row, column, m, n, memory + first_old);
  store.read();
  end_copies();

  const int warp = threadIdx.x / 32;
  const int warp_row = warp / (BN / WN) * WM, warp_column = warp % (BN / WN) * WN;
  WarpSums<a_along_k, b_along_k, WM * WN <= 16 * 16> sums(warp_row, warp_column);
  sums.clear();
#pragma unroll 1
  for (int left = k; left > 0; left -= DEPTH) {
    wait_for_copies<0>();
    copy_a.settle(stage);
    copy_b.settle(stage + bytes_of_a);
    __syncthreads();  // all see this stage, and all have read the other
    const bool goes_on = STAGES > 1 && left > DEPTH;
    if (goes_on) begin_copies(other, left - DEPTH);
    sums.add_stage(stage, left);
    if (goes_on) end_copies();
    const unsigned read = stage;
    stage = other;
    other = read;
  }
  let_next_grid_begin();
  __syncthreads();  // all have read the stages
#pragma unroll
  for (int lot = 0; lot < WM / 16; ++lot) {
    store.put(memory, warp_row + 16 * lot, warp_column, sums.of_rows(lot));
  }
  store.put_bias(memory, bias);
  __syncthreads();
  store.to_c(memory, bias, alpha, beta);
}

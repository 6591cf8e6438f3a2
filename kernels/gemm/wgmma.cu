// One warpgroup, one stage: the copy engine fills two tiles, wgmma multiplies them, and so on.
//
// Idea:    four warps together start one instruction that multiplies 64 rows of A by all columns of
//          B's tile. It reads both from shared memory, where one thread has had the copy engine
//          (TMA) put them: one instruction names a box of a matrix, and a barrier in shared memory
//          counts the bytes as they arrive.
// Changes: against mma_sync, no operand passes through a register, and no thread computes an
//          address, moves an element or asks whether it lies beyond an edge: the copy engine writes
//          zeros there. A block waits out every copy; other blocks of the SM multiply meanwhile.
// Counter: instructions executed, a small fraction of mma_sync's; the share of cycles in which the
//          tensor cores work (sm__pipe_tensor_cycles_active).
//
// Rows of 128 bytes with their 16-byte chunks exchanged (the 128-byte swizzle) are what the copy
// engine writes and wgmma reads, both without bank conflicts. Tiles are K-major; 16-bit B may also
// lie with its rows along n.
//
// Constants: those of wgmma_tile.cuh, with TILE_M = 64.
// Launch: 128 threads, a block per tile of C, the matrices of the batch one after the other;
//         sizeof(Shared) + 1,024 dynamic bytes.
#include "wgmma_tile.cuh"

static_assert(TILE_M == 64, "one warpgroup has 64 rows");

struct Shared {
  Tiles tiles;
  Barrier full;
};

extern "C" __global__ __launch_bounds__(128) void gemm(const __grid_constant__ Maps maps,
                                                       const __grid_constant__ Arguments p) {
  Shared& shared = *reinterpret_cast<Shared*>(aligned_shared_memory());
  if (threadIdx.x == 0) {
    initialise(shared.full, 1);
    publish_barriers();
  }
  __syncthreads();

  const Place place = place_of_block(p);
  Sums sum;
  for (int kt = 0; kt < p.k_tiles; ++kt) {
    if (threadIdx.x == 0) start_copies(shared.tiles, shared.full, maps, place, kt);
    __syncwarp();  // wgmma wants its warps together
    wait(shared.full, kt % 2);
    start_products(sum, shared.tiles, 0, kt);
    wait_for_products<0>();
    pin(sum);
    __syncthreads();  // all four warps have read the tiles
  }
  store(sum, p, place, 0);
}

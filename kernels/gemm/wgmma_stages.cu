// Two warpgroups, STAGES stages: copies run ahead of the products.
//
// Idea:    the tiles of the next STAGES - 1 steps are on their way while one is multiplied. wgmma
//          runs by itself too: a step's products are waited for only when those of the next have
//          been started, and then the tiles that they read are refilled.
// Changes: a block no longer waits out each copy, it needs no other block to hide it. The tile is
//          128 x 128, twice the rows: B's tile serves two warpgroups, and 32 instead of 48 KiB are
//          copied for as many products.
// Counter: the share of cycles in which the tensor cores work (sm__pipe_tensor_cycles_active); at
//          the barrier of every step all eight warps wait for the slowest, and for thread 0.
//
// Constants: those of wgmma_tile.cuh, with TILE_M = 128, and STAGES.
// Launch: 256 threads, a block per tile of C, the matrices of the batch one after the other;
//         sizeof(Shared) + 1,024 dynamic bytes.
#include "wgmma_tile.cuh"

static_assert(TILE_M == 128, "two warpgroups have 64 rows each");
static_assert(STAGES >= 2, "one is filled while another is multiplied");

struct Shared {
  Tiles tiles[STAGES];
  Barrier full[STAGES];
};

extern "C" __global__ __launch_bounds__(256) void gemm(const __grid_constant__ Maps maps,
                                                       const __grid_constant__ Arguments p) {
  Shared& shared = *reinterpret_cast<Shared*>(aligned_shared_memory());
  const Place place = place_of_block(p);
  const auto start = [&](int stage, int kt) {
    if (threadIdx.x == 0 && kt < p.k_tiles) {
      start_copies(shared.tiles[stage], shared.full[stage], maps, place, kt);
    }
    __syncwarp();  // wgmma wants its warps together
  };
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) initialise(shared.full[s], 1);
    publish_barriers();
  }
  __syncthreads();
  for (int s = 0; s < STAGES - 1; ++s) start(s, s);

  const int first_row = threadIdx.x / 128 * 64;
  Sums sum;
  RingPosition<STAGES> stage;
  for (int kt = 0; kt < p.k_tiles; ++kt, stage.advance()) {
    wait(shared.full[stage.index], stage.parity);
    start_products(sum, shared.tiles[stage.index], first_row, kt);
    wait_for_products<1>();  // those of the step before
    __syncthreads();         // of both warpgroups: its stage is free
    start((stage.index + STAGES - 1) % STAGES, kt + STAGES - 1);
  }
  wait_for_products<0>();
  pin(sum);
  store(sum, p, place, first_row);
}

// Tensor-core products with a short k, for 16-bit operands and tf32: the panel of B that belongs to
// a column of tiles stays in shared memory for all of k.
//
// Idea:    a block walks down a column of C, so only A has to come for its next tile: a fifth of
//          what the L2 cache would have to deliver for both. Tiles can then be small enough for one
//          consumer each: while one writes its results, the other multiplies.
// Changes: writing C, which takes as long as multiplying where k is short, hides behind products.
// Counter: the share of cycles in which the tensor cores work (sm__pipe_tensor_cycles_active).
//
// Constants: those of tensor_tiles.cu, with IN_TURN 1, CLUSTER 1, A_CLASSES 1, no parts of k, and
// K_TILES, the tiles of all of k. STAGES are of A alone.
// Launch: 128 * (CONSUMERS + 1) threads, sizeof(Shared) + 1,024 bytes; a block takes the same
// number of tiles as every other, the last one perhaps fewer.
#include "grid_order.cuh"
#include "tensor_load.cuh"
#include "tensor_products.cuh"
#include "tensor_store.cuh"
#include "turns.cuh"

struct Shared {
  alignas(1024) unsigned char b[K_TILES][b_bytes];
  alignas(1024) unsigned char a[STAGES][a_bytes];
  // The boxes of C that a consumer stores at once.
  alignas(1024) unsigned char c[CONSUMERS][boxes_at_once][through_shared ? c_box_bytes : 16];
  Tails tails[CONSUMERS];
  Barrier full[STAGES], empty[STAGES], panel_full[K_TILES], panel_empty;
  Barrier c_arrived[CONSUMERS];  // where C is added
};

// The block's tiles, one after the other: equal ranges of all, which go down the columns of C.
// Consumers take every step of the way, also to tiles of others: without a division.
struct Walk {
  int left;
  BlockUnit unit;

  __device__ explicit Walk(const Arguments& p) {
    const int blocks = gridDim.x, each = (p.units + blocks - 1) / blocks;
    const int first = blockIdx.x * each, panel = first / p.tiles_m;
    left = min(each, p.units - first);
    unit = {first % p.tiles_m * TILE_M,
            panel % p.tiles_n * TILE_N,
            0,
            0,
            panel / p.tiles_n,
            0,
            K_TILES};
  }
  // Whether the next tile is the first of a panel.
  __device__ bool advance(const Arguments& p) {
    --left;
    unit.row += TILE_M;
    if (unit.row < p.m) return false;
    unit.row = 0;
    unit.column += TILE_N;
    if (unit.column >= p.n) {
      unit.column = 0;
      ++unit.batch;
    }
    return true;
  }
};

__device__ inline void produce(Shared& shared, const Maps& maps, const Arguments& p) {
  RingPosition<STAGES> stage;
  RingPosition<1> panel;
  Walk walk(p);
  for (bool is_new = true; walk.left > 0; is_new = walk.advance(p)) {
    const BlockUnit& unit = walk.unit;
    if (is_new) {
      wait(shared.panel_empty, panel.parity ^ 1);
      panel.advance();
    }
#pragma unroll
    for (int kt = 0; kt < K_TILES; ++kt, stage.advance()) {
      if (is_new) {
        arrive_expecting(shared.panel_full[kt], b_bytes);
        load_b(shared.b[kt], maps.b, shared.panel_full[kt], unit.column, kt * tile_k, unit.batch);
      }
      wait(shared.empty[stage.index], stage.parity ^ 1);
      Barrier& full = shared.full[stage.index];
      arrive_expecting(full, a_bytes);
      load_a(shared.a[stage.index], maps.a[0], full, unit.row, kt * tile_k, unit.batch, false);
    }
  }
  if (LETS_NEXT_BEGIN) let_next_grid_begin();
}

__device__ inline void release(Barrier& empty) {
  if (threadIdx.x % 128 == 0) arrive(empty);
}

__device__ inline void multiply(Sums& sum, Shared& shared, RingPosition<STAGES>& stage,
                                unsigned panel_parity, int consumer) {
  int previous = 0;
#pragma unroll
  for (int kt = 0; kt < K_TILES; ++kt, stage.advance()) {
    wait(shared.panel_full[kt], panel_parity);
    wait(shared.full[stage.index], stage.parity);
    begin_stage(sum, shared.a[stage.index], shared.b[kt], kt == 0);
    wait_for_products<1>();
    if (kt > 0) release(shared.empty[previous]);
    previous = stage.index;
  }
  pass_turn(consumer);
  end_stages(sum);
  release(shared.empty[previous]);
}

__device__ inline void consume(Shared& shared, const Maps& maps, const Arguments& p, int consumer) {
  RingPosition<STAGES> stage;
  RingPosition<1> panel;
  int turn = 0;
  ConsumerBoxes own{reinterpret_cast<Boxes&>(shared.c[consumer]), shared.tails[consumer],
                    shared.c_arrived[consumer], consumer};
  if (consumer == CONSUMERS - 1) pass_turn(consumer);
  Walk walk(p);
  for (bool is_new = false; walk.left > 0; is_new = walk.advance(p)) {
    if (is_new) {
      // A consumer without a tile under this panel waits for it too before it leaves it.
      wait(shared.panel_full[K_TILES - 1], panel.parity);
      release(shared.panel_empty);
      panel.advance();
    }
    const bool is_mine = turn == consumer;
    turn = (turn + 1) % CONSUMERS;
    if (!is_mine) {
      stage.skip(K_TILES);
      continue;
    }
    Sums sum;
    own.fetch_from(maps, p, walk.unit, 0, 0);
    const TileBias bias(p, walk.unit, 0);
    await_turn(consumer);
    multiply(sum, shared, stage, panel.parity, consumer);
    store_tile(sum, own, maps, p, walk.unit, 0, bias);
  }
  // Shared memory has to live until it was read; the rest completes with the kernel.
  if (C_STORE == store_boxed) wait_until_read<0>();
}

extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    gemm(const __grid_constant__ Maps maps, const __grid_constant__ Arguments p) {
  extern __shared__ unsigned char raw[];
  // Swizzled tiles begin at multiples of 1,024 bytes of shared memory.
  const unsigned misaligned = shared_address(raw) % 1024;
  Shared& shared = *reinterpret_cast<Shared*>(raw + (misaligned ? 1024 - misaligned : 0));
  if (threadIdx.x == 0) {
    prefetch(maps.a[0]);
    prefetch(maps.b);
    for (int s = 0; s < STAGES; ++s) {
      initialise(shared.full[s], 1);
      initialise(shared.empty[s], 1);
    }
    for (int kt = 0; kt < K_TILES; ++kt) initialise(shared.panel_full[kt], 1);
    initialise(shared.panel_empty, CONSUMERS);
    for (int c = 0; c < CONSUMERS; ++c) initialise(shared.c_arrived[c], 1);
    publish_barriers();
  }
  synchronise_cluster();
  await_previous_grid();
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers_of_producer));
    if (threadIdx.x < 32 && is_elected()) produce(shared, maps, p);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers_of_consumer));
    consume(shared, maps, p, warpgroup - 1);
  }
}

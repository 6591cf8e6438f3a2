// Tensor-core tiles fed by the copy engine: persistent blocks of one producer and CONSUMERS
// warpgroups that multiply, for operands of 8 and 16 bits and tf32.
//
// Idea:    one thread of the producer keeps STAGES pairs of tiles of A and B on their way to shared
//          memory; consumer warpgroups multiply them there (wgmma) and give the stage back. Blocks
//          stay on their SM and take tile after tile, so the next tile's copies are under way while
//          this one's results are written. In a cluster, blocks with the same columns of C load a
//          part of B's tile each, for all of them, and those with the same rows a part of A's.
// Changes: no thread that multiplies computes an address, and the tensor cores wait only between
//          tiles. C leaves through shared memory in boxes, not in strips of 8 bytes.
// Counter: the share of cycles in which the tensor cores work (sm__pipe_tensor_cycles_active).
//
// The copy engine starts at multiples of 16 bytes. Where rows of A have another pitch, every
// A_CLASSES-th row forms a matrix whose pitch is such a multiple, and a tile is made of rows of one
// class. Its map begins up to 15 bytes early, so A's tiles hold `shift` elements of the row before
// theirs, in the first columns: they are set to zero, and B, whose k may begin anywhere, is read
// `shift` rows earlier, where it reads as zeros.
//
// Sums of 8-bit floats are promoted: the products of a tile of k start from zero, and what comes
// out is added in float32. One consumer adds while another multiplies.
//
// A transposed product is C^T = B^T A^T: A is B^T here then, and rows here are columns of C.
//
// TILE_N may be any multiple of 16. The last box of C of a tile may be narrow, and has a map of its
// own; those of a transposed product are halves of the tile.
//
// Where C has few tiles, a cluster has layers: each multiplies a part of k, and every lot of a tile is
// added up, in the order of k, and stored by the layer whose turn it is.
//
// Constants: TILE_M, TILE_N, STAGES, CONSUMERS, IN_TURN, CLUSTER, ACROSS (its blocks side by side),
// LAYERS, TRANSPOSED, ONE_TILE (a block has one, which grid x, y and z number), AWAITS (an Awaited),
// OPERAND, STEP, A_MN_MAJOR, B_MN_MAJOR, A_CLASSES (1, 2, 4, 8), C_STORE (a StoreKind), C_BOXES (how
// many boxes of C a consumer stores at once), C_TYPE, BIAS, READS_C, ACTIVATION, GROUP_ROWS, SCALES (a
// ScaleKind), B_SCALES_BY_BLOCK: whether 128 columns share a factor; LETS_NEXT_BEGIN: whether the next
// grid may begin before this one ends.
// Launch: 128 * (CONSUMERS + 1) threads, a multiple of CLUSTER blocks, sizeof(Shared) + 1,024
// bytes.
#include "grid_order.cuh"
#include "prefetch.cuh"
#include "tensor_layers.cuh"
#include "tensor_load.cuh"
#include "tensor_products.cuh"
#include "tensor_store.cuh"
#include "turns.cuh"

// Tiles of k whose copies start before the block's threads have met. Blocks of a cluster do not share
// these.
constexpr int begun_early = in_layer > 1 ? 1 : 2;
static_assert(begun_early <= STAGES, "each has a stage of its own");

constexpr int copiers = down + across - 1;  // blocks that copy to a block's stages

struct Shared {
  // Once no stage is needed any more, the other layers' sums arrive in their place.
  alignas(1024) unsigned char a[STAGES][a_bytes];
  alignas(1024) unsigned char b[STAGES][b_bytes];
  // The boxes of C that a consumer stores at once.
  alignas(1024) unsigned char c[CONSUMERS][boxes_at_once][through_shared ? c_box_bytes : 16];
  Tails tails[CONSUMERS];
  Barrier full[STAGES], empty[STAGES];
  Barrier c_arrived[CONSUMERS];  // where C is added
  Barrier all_received;          // where there are layers
};
static_assert(layers == 1 || sizeof(ReceivedSums) <= STAGES * (a_bytes + b_bytes),
              "the other layers' sums find room where the stages were");

// Starts the copies of tile `kt` of k; without `shares` all by this block itself, for itself.
template <bool shares>
__device__ inline void load_stage(Shared& shared, int stage, const Maps& maps, const Arguments& p,
                                  const BlockUnit& unit, int kt) {
  Barrier& full = shared.full[stage];
  arrive_expecting(full, a_bytes + b_bytes);
  const int k = kt * tile_k;
  const auto of_a = [&](const TensorMap& map, int at) {
    load_a(shared.a[stage], map, full, unit.row, at, unit.batch,
           shares && (!is_pair_across || unit.shares_a));
  };
  const auto of_b = [&](const TensorMap& map, int at) {
    load_b<shares>(shared.b[stage], map, full, unit.column, at, unit.batch);
  };
#if AWAITS
  // The other operand's copy is under way meanwhile.
  const bool there = is_there(p, kt);
  if (AWAITS == awaits_a) of_b(maps.b, k);
  if (AWAITS == awaits_b) of_a(maps.a[0], k);
  await_piece(p, unit, kt);
  const TensorMap& map = there ? maps.there : AWAITS == awaits_a ? maps.a[0] : maps.b;
  const int at = there ? k - p.first_there * tile_k : k;
  if (AWAITS == awaits_a) of_a(map, at);
  if (AWAITS == awaits_b) of_b(map, at);
#else
  of_a(maps.a[unit.row_class], k);
  of_b(maps.b, k - p.shift[unit.row_class]);
#endif
}

// Before the block, or its cluster, has met: the first tiles of k.
__device__ inline void begin(Shared& shared, const Maps& maps, const Arguments& p,
                             const BlockUnit& unit) {
  for (int s = 0; s < begun_early; ++s) initialise(shared.full[s], 1);
  publish_barriers();
  await_previous_grid();
#pragma unroll
  for (int s = 0; s < begun_early; ++s) {
    if (unit.first + s < unit.last) load_stage<false>(shared, s, maps, p, unit, unit.first + s);
  }
}

__device__ inline void produce(Shared& shared, const Maps& maps, const Arguments& p,
                               BlockUnit unit) {
  RingPosition<STAGES> stage;
  int begun = begun_early;  // of this unit's tiles of k
  for (int u = blockIdx.x / CLUSTER;;) {
    for (int kt = unit.first; kt < unit.last; ++kt, stage.advance()) {
      if (begun_early > 0 && kt - unit.first < begun) continue;
      wait(shared.empty[stage.index], stage.parity ^ 1);
      load_stage<true>(shared, stage.index, maps, p, unit, kt);
    }
    begun = 0;
    u += gridDim.x / CLUSTER;
    if (ONE_TILE || u >= p.units) break;
    unit = unit_of_block(p, u);
  }
  if (LETS_NEXT_BEGIN) let_next_grid_begin();
  // Other blocks of the cluster may still owe this one an arrival: its barriers must live on.
  if (CLUSTER > 1 && !ONE_TILE) {
#pragma unroll
    for (int s = 0; s < STAGES; ++s, stage.advance()) {
      wait(shared.empty[stage.index], stage.parity ^ 1);
    }
  }
}

// Gives a stage back to the blocks that copy to it: those in this one's column and row of the
// cluster.
__device__ inline void release(Barrier& empty) {
  if (in_layer > 1) {
    const int i = threadIdx.x % 128, column = column_in_cluster(), first = first_of_layer();
    if (i < down) {
      arrive_at(empty, first + column * down + i);
    } else if (i < copiers) {
      const int other = i - down;
      arrive_at(empty, first + (other + (other >= column)) * down + row_in_cluster());
    }
  } else if (threadIdx.x % 128 == 0) {
    arrive(empty);
  }
}

// Sets the first `count` elements of this consumer's rows of A to zero.
__device__ inline void clear_columns(unsigned char* a, int count, int first_row, int consumer) {
#pragma unroll
  for (int i = 0; i < products_of_consumer; ++i) {
    const int row = first_row + 64 * i + threadIdx.x % 64;
    unsigned char* const chunk = a + row * row_bytes + 16 * (row % 8);
    for (int e = threadIdx.x % 128 / 64; e < count; e += 2) {
      if (STEP == 16) {
        reinterpret_cast<unsigned short*>(chunk)[e] = 0;
      } else {
        reinterpret_cast<unsigned*>(chunk)[e] = 0;
      }
    }
  }
  publish_shared();
  synchronise_consumer(consumer);
}

// The sums of one tile over one part of k.
__device__ inline void multiply(Sums& sum, Shared& shared, RingPosition<STAGES>& stage,
                                int first_row, int consumer, const BlockUnit& unit, int shift) {
  int previous = -1;
  for (int kt = unit.first; kt < unit.last; ++kt, stage.advance()) {
    wait(shared.full[stage.index], stage.parity);
    if (A_CLASSES > 1 && kt == 0 && shift > 0) {
      clear_columns(shared.a[stage.index], shift, first_row, consumer);
    }
    begin_stage(sum, shared.a[stage.index] + first_row * row_bytes, shared.b[stage.index],
                kt == unit.first);
    wait_for_products<1>();
    // No producer waits for the last stages of a block's only tile.
    const bool is_awaited = !ONE_TILE || kt - 1 + STAGES < unit.last;
    if (previous >= 0 && is_awaited) release(shared.empty[previous]);
    previous = stage.index;
  }
  if (IN_TURN) pass_turn(consumer);
  end_stages(sum);
  if (!ONE_TILE) release(shared.empty[previous]);
}

// The same with sums that are promoted after every tile of k, which is a block of factors. Factors
// are read one tile of k ahead, or before the first one.
__device__ inline void multiply_promoted(Sums& sum, Shared& shared, RingPosition<STAGES>& stage,
                                         int first_row, const Arguments& p,
                                         const BlockUnit& unit) {
  clear(sum);
  TileScales scales(p, row_of_c(unit, unit.row + first_row), A_CLASSES, unit.column);
  if (SCALES != no_scales) scales.read(p, SCALES == scales_by_steps ? unit.first : 0);
  for (int kt = unit.first; kt < unit.last; ++kt, stage.advance()) {
    const TileScales of_step = scales;
    if (SCALES == scales_by_steps) scales.read(p, min(kt + 1, unit.last - 1));
    wait(shared.full[stage.index], stage.parity);
    const unsigned char* const a = shared.a[stage.index] + first_row * row_bytes;
#pragma unroll
    for (int i = 0; i < products_of_consumer; ++i) {
      Sum part[TILE_N / 2];
      begin_part(part, a + 64 * i * row_bytes, shared.b[stage.index]);
      wait_for_products<0>();
      pin(part);
      const bool is_awaited = !ONE_TILE || kt + STAGES < unit.last;
      if (i == products_of_consumer - 1 && is_awaited) release(shared.empty[stage.index]);
      if constexpr (SCALES == scales_by_steps) {
        with_factors<1>(of_step, i, [&](int, int j, float factor) {
          sum[i][j] = fmaf(part[j], factor, sum[i][j]);
        });
      } else {
        promote(sum[i], part);
      }
    }
  }
  if constexpr (SCALES == scales_of_all_steps) {
    with_factors<products_of_consumer>(
        scales, 0, [&](int i, int j, float factor) { sum[i][j] *= factor; });
  }
}

__device__ inline void consume(Shared& shared, const Maps& maps, const Arguments& p, int consumer) {
  RingPosition<STAGES> stage;
  const int rows_before = IN_TURN ? 0 : consumer * rows_of_consumer;
  int turn = 0;
  ConsumerBoxes own{reinterpret_cast<Boxes&>(shared.c[consumer]), shared.tails[consumer],
                    shared.c_arrived[consumer], consumer};
  if (IN_TURN && consumer == 1) pass_turn(consumer);
  for (int u = blockIdx.x / CLUSTER; u < p.units; u += ONE_TILE ? p.units : gridDim.x / CLUSTER) {
    const BlockUnit unit = unit_of_block(p, u);
    if (IN_TURN) {
      const bool is_mine = turn == consumer;
      turn = (turn + 1) % CONSUMERS;
      if (!is_mine) {
        stage.skip(unit.last - unit.first);
        continue;
      }
    }
    Sums sum;
    own.fetch_from(maps, p, unit, rows_before, 0);
    constexpr bool has_more_lots = boxes_of_tile > boxes_at_once || products_of_consumer > 1;
    if (adds_elements || (adds_rows && has_more_lots)) {
      constexpr int element = sizeof(C_TYPE);
      const int row = row_of_c(unit, unit.row + rows_before);
      prefetch_rows<rows_of_consumer, TILE_N * element, 128>(
          static_cast<C_TYPE*>(p.c) + unit.batch * p.c_stride + row * p.c_leading + unit.column,
          A_CLASSES * p.c_leading * element, (p.m - row + A_CLASSES - 1) / A_CLASSES,
          (p.n - unit.column) * element, threadIdx.x % 128);
    }
    const TileBias bias(p, unit, rows_before);
    if (IN_TURN) await_turn(consumer);
    if (promotes_sums) {
      multiply_promoted(sum, shared, stage, rows_before, p, unit);
    } else {
      multiply(sum, shared, stage, rows_before, consumer, unit, p.shift[unit.row_class]);
    }
    if constexpr (layers > 1) {
      meet_in_cluster();  // no layer needs its stages any more
      add_layers(sum, reinterpret_cast<ReceivedSums&>(shared.a), shared.all_received, consumer);
    }
    store_tile(sum, own, maps, p, unit, rows_before, bias);
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
  // The producer begins its first tile while another warp prepares the barriers: a small product
  // takes hardly longer than these beginnings.
  BlockUnit first{};
  if (threadIdx.x < 32) {
    first = unit_of_block(p, blockIdx.x / CLUSTER);
    if (is_elected()) {
      prefetch(maps.a[first.row_class]);
      prefetch(maps.b);
      if (begun_early > 0) begin(shared, maps, p, first);
    }
  } else if (threadIdx.x == 32) {
    for (int s = 0; s < STAGES; ++s) {
      if (s >= begun_early) initialise(shared.full[s], 1);
      initialise(shared.empty[s], sharers * copiers);
    }
    for (int c = 0; c < CONSUMERS; ++c) initialise(shared.c_arrived[c], 1);
    if (layers > 1) initialise(shared.all_received, 1);
    publish_barriers();
    if (layers > 1) arrive_expecting(shared.all_received, bytes_from_layers());
  }
  __syncwarp();
  if (in_layer > 1) {
    synchronise_cluster();
  } else {
    __syncthreads();
  }
  await_previous_grid();
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    if (moves_registers) {
      asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers_of_producer));
    }
    // A thread chosen by its number would take 130 cycles to start each copy.
    if (threadIdx.x < 32 && is_elected()) produce(shared, maps, p, first);
  } else {
    if (moves_registers) {
      asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers_of_consumer));
    }
    consume(shared, maps, p, warpgroup - 1);
  }
}

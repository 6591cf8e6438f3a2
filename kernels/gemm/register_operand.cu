// tf32 products with a row-major B, computed as C^T = B^T A^T: the tensor cores take B^T from
// registers and A from shared memory.
//
// Idea:    wgmma reads tf32 from shared memory only with k contiguous, as A has it and B has not. The
//          first operand may come from registers instead, where any thread can put anything: so B is
//          the first operand, read from shared memory by ordinary loads as it lies there.
// Changes: no pass over B that transposes it; that pass costs more than the product where A has few
//          rows.
// Counter: DRAM throughput where A is thin, else the share of cycles in which the tensor cores work.
//
// A consumer has 64 * PRODUCTS columns of the tile (rows of B^T). Its fragments of one stage are
// loaded while the products of the stage before run.
//
// The copy engine starts at multiples of 16 bytes, and is slow where what it reads and what it
// writes lie differently in their sectors of 32 bytes. Where rows of B have another pitch, every
// fourth row forms a matrix whose pitch is such a multiple, and whose boxes begin up to 28 bytes
// early, with a sector: a thread reads rows of one class alone, so it adds the class's shift to its
// address once. Rows of A may form A_CLASSES matrices too, whose boxes begin with sectors or
// cache lines. Then a tile has rows of one class, and its shift is along k: A's first columns are
// zeros, or elements of the row before theirs, which are set to zero, and B is read `shift` rows
// earlier, where it reads as zeros; or the last elements along k take those places.
//
// Two blocks of a cluster share a tile of A or of B, or each has half of k of one tile of C: then
// each sends the other half of its sums straight to the other block's shared memory.
//
// Constants: TILE_M (of A; 16, 32, 64, 128, 192, 256), PRODUCTS (1 or 2), CONSUMERS, STAGES, PAIR
// (see register_tile.cuh), A_CLASSES (1, 2, 4, 8), B_CLASSES (1, 4), B_IS_ODD (the pitch of B's
// rows, in elements), OPERAND tf32, STEP 8, PARTIAL (sums of a part of k leave as they are),
// C_ALIGNED (2 * PRODUCTS elements of C can be stored at once, or 2 of a column), TRANSPOSED (C is
// column-major, and A has one class), C_TYPE, BIAS, READS_C, ACTIVATION, GROUP_ROWS,
// LETS_NEXT_BEGIN (whether the next grid may begin before this one ends).
// Launch: 128 * (CONSUMERS + 1) threads, a multiple of CLUSTER blocks, sizeof(Shared) + 1,024 bytes.
#include "grid_order.cuh"
#include "register_store.cuh"
#include "register_tail.cuh"
#include "register_tile.cuh"
#include "wgmma.cuh"

constexpr int registers_of_producer = CONSUMERS == 1 ? 56 : 40;
constexpr int registers_of_consumer = CONSUMERS == 1 ? 240 : 232;
constexpr bool has_sharer = PAIR == PAIR_SHARES_A || PAIR == PAIR_SHARES_B;
// Pairs meet before they share. By then a block has found its first unit, and has begun it alone,
// unless that takes twice as many boxes of B's classes.
constexpr bool finds_early = PAIR != PAIR_NONE;
constexpr bool begins_early = finds_early && !(by_class && PAIR == PAIR_SHARES_B);
// A whole warp starts copies sooner; large boxes one after the other are better started later.
constexpr int producers = by_class || has_sharer ? 32 : 1;

// Maps begin with a chunk of 16 bytes, boxes of a class with a sector or a cache line: this
// many elements further to the left. Elements to the left of a map read as zeros.
__device__ inline int chunks_early(int shift) { return shift & ~3; }

template <bool shared_by_pair>
__device__ inline void load(void* to, const TensorMap& map, Barrier& full, int x, int y, int z) {
  if (shared_by_pair) {
    load_box_to_all(to, map, full, x, y, z, 3);
  } else {
    load_box(to, map, full, x, y, z);
  }
}

// `shares`: this block's part of a tile that its pair shares, for both blocks.
template <bool shares>
__device__ inline void load_a(unsigned char* to, const TensorMap& map, Barrier& full,
                              const BlockUnit& unit, int kt) {
  constexpr bool is_shared = shares && PAIR == PAIR_SHARES_A;
  constexpr int box_rows = PAIR == PAIR_SHARES_A ? TILE_M / 2 : TILE_M;
  constexpr int count = is_shared ? 1 : TILE_M / box_rows;
  const int first = is_shared ? cluster_rank() : 0;
  const int column = kt * tile_k - (A_CLASSES > 1 ? chunks_early(unit.shift) : 0);
#pragma unroll
  for (int i = first; i < first + count; ++i) {
    load<is_shared>(to + i * box_rows * row_bytes, map, full, column, unit.row + i * box_rows,
                    unit.batch);
  }
}

template <bool shares>
__device__ inline void load_b(unsigned char* to, const Maps& maps, Barrier& full,
                              const Arguments& p, const BlockUnit& unit, int kt) {
  constexpr bool is_shared = shares && PAIR == PAIR_SHARES_B;
  constexpr int count = is_shared ? boxes / 2 : boxes;
  const int first = is_shared ? cluster_rank() * count : 0;
#pragma unroll
  for (int i = first; i < first + count; ++i) {
    const int of_class = i % B_CLASSES;
    // The first row of the class that the tile has.
    const int row = kt * tile_k - unit.shift + (of_class + unit.shift) % B_CLASSES;
    const int column = unit.column + i / B_CLASSES * box_columns -
                       (by_class ? chunks_early(shift_of_row(p, row)) : 0);
    load<is_shared>(to + i * box_bytes, maps.b[of_class], full, column,
                    (row - of_class) / B_CLASSES, unit.batch);
  }
}

template <bool shares>
__device__ inline void load_stage(Shared& shared, int stage, const Maps& maps, const Arguments& p,
                                  const BlockUnit& unit, int kt) {
  Barrier& full = shared.full[stage];
  arrive_expecting(full, a_bytes + b_bytes);
  load_a<shares>(shared.a[stage], maps.a[unit.row_class], full, unit, kt);
  load_b<shares>(shared.b[stage], maps, full, p, unit, kt);
}

// Before the pair has met: the first tile of k, all by this block itself.
__device__ inline void begin(Shared& shared, const Maps& maps, const Arguments& p,
                             const BlockUnit& unit) {
  initialise(shared.full[0], 1);
  publish_barriers();
  await_previous_grid();
  load_stage<false>(shared, 0, maps, p, unit, unit.first);
}

// `found` is the first unit, where it was found early.
__device__ inline void produce(Shared& shared, const Maps& maps, const Arguments& p,
                               const BlockUnit& found) {
  RingPosition<STAGES> stage;
  for (int u = blockIdx.x / CLUSTER; u < p.units; u += gridDim.x / CLUSTER) {
    const bool is_found = finds_early && u == blockIdx.x / CLUSTER;
    const BlockUnit unit = is_found ? found : unit_of_block(p, u);
#pragma unroll 1
    for (int kt = unit.first; kt < unit.last; ++kt, stage.advance()) {
      if (begins_early && is_found && kt == unit.first) continue;
      wait(shared.empty[stage.index], stage.parity ^ 1);
      if (producers == 1 || is_elected()) load_stage<true>(shared, stage.index, maps, p, unit, kt);
      if (producers > 1) __syncwarp();
    }
  }
  if (LETS_NEXT_BEGIN) let_next_grid_begin();
  // The other block of the cluster may still owe this one an arrival: its barriers must live on.
  if (has_sharer) {
#pragma unroll
    for (int s = 0; s < STAGES; ++s, stage.advance()) {
      wait(shared.empty[stage.index], stage.parity ^ 1);
    }
  }
}

// Every warp for itself: each has read B with its own loads.
__device__ inline void release(Barrier& empty) {
  const int lane = threadIdx.x % 32;
  if (has_sharer) {
    if (lane < 2) arrive_at(empty, lane);
  } else if (lane == 0) {
    arrive(empty);
  }
}

// Where this thread's elements lie in a stage of B: of rows t and t + 4, the first product's.
struct Offsets {
  int low, high;
};

__device__ inline Offsets offsets_of(const Place& place, const Arguments& p, int shift) {
  const int t = threadIdx.x % 4;
  if (!by_class) {
    const int at = place.first / box_columns * box_bytes + 8 * place.pair;
    return {at + t * row_bytes + 16 * (place.chunk ^ t),
            at + (t + 4) * row_bytes + 16 * (place.chunk ^ (t + 4))};
  }
  const int of_class = (t + B_CLASSES - shift % B_CLASSES) % B_CLASSES;
  const int column = place.first % box_columns + 4 * place.chunk + 2 * place.pair +
                     shift_of_row(p, t % B_CLASSES - shift);
  const int at = (place.first / box_columns * B_CLASSES + of_class) * box_bytes +
                 t / B_CLASSES * b_row_bytes + 4 * column;
  return {at, at + 4 / B_CLASSES * b_row_bytes};
}

using Sums = float[PRODUCTS][TILE_M / 2];
using Fragments = unsigned[steps][PRODUCTS][4];  // of one stage

__device__ inline uint2 load_pair(const unsigned char* at) {
  if (!B_IS_ODD) return *reinterpret_cast<const uint2*>(at);
  const auto* const words = reinterpret_cast<const unsigned*>(at);
  return make_uint2(words[0], words[1]);
}

__device__ inline void load_fragments(Fragments& fragments, const unsigned char* stage,
                                      const Offsets& offsets) {
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    const unsigned char* const at = stage + step * (STEP / B_CLASSES) * b_row_bytes;
#pragma unroll
    for (int i = 0; i < PRODUCTS; ++i) {
      // Only swizzled tiles have first products in second pairs.
      const uint2 low = load_pair(at + (by_class ? offsets.low + 8 * i : offsets.low ^ 8 * i));
      const uint2 high = load_pair(at + (by_class ? offsets.high + 8 * i : offsets.high ^ 8 * i));
      fragments[step][i][0] = low.x;
      fragments[step][i][1] = low.y;
      fragments[step][i][2] = high.x;
      fragments[step][i][3] = high.y;
    }
  }
}

__device__ inline void pin(Sums& sum) {
#pragma unroll
  for (int i = 0; i < PRODUCTS; ++i) pin(sum[i]);
}
// Products read their fragments until they are waited for: no register may be taken before.
__device__ inline void pin(Fragments& fragments) {
#pragma unroll
  for (int i = 0; i < steps * PRODUCTS * 4; ++i) {
    asm volatile("" : "+r"(fragments[i / (4 * PRODUCTS)][i / 4 % PRODUCTS][i % 4])::"memory");
  }
}

// The sums of one tile over one part of k.
__device__ inline void multiply(Sums& sum, Shared& shared, RingPosition<STAGES>& stage,
                                const Place& place, const Arguments& p, const BlockUnit& unit,
                                int consumer) {
  const Offsets offsets = offsets_of(place, p, unit.shift);
  const auto fetch = [&](Fragments& fragments) {
    wait(shared.full[stage.index], stage.parity);
    load_fragments(fragments, shared.b[stage.index], offsets);
  };
  int kt = unit.first, previous = -1;
  // Starts the products of a stage, waits for those before, and releases their stage. True if
  // there is another stage, which is the current one then.
  const auto advance = [&](Fragments& fragments, Fragments& before) {
    const unsigned long long a = k_major_tile(shared.a[stage.index]);
    pin(sum);
    begin_products();
#pragma unroll
    for (int step = 0; step < steps; ++step) {
#pragma unroll
      for (int i = 0; i < PRODUCTS; ++i) {
        Products<TILE_M>::add<false>(sum[i], fragments[step][i], advanced(a, step * 32),
                                     kt > unit.first || step > 0);
      }
    }
    commit_products();
    pin(sum);
    wait_for_products<1>();
    pin(before);
    if (previous >= 0) release(shared.empty[previous]);
    previous = stage.index;
    stage.advance();
    return ++kt < unit.last;
  };
  Fragments even;
  const bool has_places = A_CLASSES > 1 && kt == 0 && unit.shift > 0 && unit.shift <= most_tail;
  if (has_places) {
    Tail tail;
    load_tail(tail, p, unit, place);
    fetch(even);
    write_tail(shared.a[stage.index], tail, unit.shift, consumer);
    // Rows of B before its first one were read as zeros.
#pragma unroll
    for (int i = 0; i < 4 * PRODUCTS; ++i) even[0][i / 4][i % 4] |= tail.b[i / 4][i % 4];
  } else {
    fetch(even);
  }
  Fragments odd = {};
  while (advance(even, odd)) {
    fetch(odd);
    if (!advance(odd, even)) break;
    fetch(even);
  }
  wait_for_products<0>();
  pin(sum);
  release(shared.empty[previous]);
}

#if PAIR == PAIR_SHARES_C
// Keeps this block's half of the rows: its sums and those of the other block, which gets the other
// half. A thread's partner has the same columns, so no other thread need wait for it.
__device__ inline void add_other_half(Kept& kept, const Sums& sum, Shared& shared,
                                      unsigned& parity) {
  constexpr int half = TILE_M / 4;  // of a product's sums
  const int rank = cluster_rank(), thread = threadIdx.x - 128;
  if (thread == 0) {
    arrive_expecting(shared.is_received, pieces_sent * sizeof(float4) * 128 * CONSUMERS);
  }
  wait(shared.is_taken, parity ^ 1);
#pragma unroll
  for (int piece = 0; piece < pieces_sent; ++piece) {
    float values[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int product = (4 * piece + e) / half, at = (4 * piece + e) % half;
      values[e] = rank == 0 ? sum[product][at + half] : sum[product][at];
      kept[product][at] = rank == 0 ? sum[product][at] : sum[product][at + half];
    }
    send(shared.received[piece][thread], values, shared.is_received, rank ^ 1);
  }
  wait(shared.is_received, parity);
  parity ^= 1;
#pragma unroll
  for (int piece = 0; piece < pieces_sent; ++piece) {
    const float4 other = shared.received[piece][thread];
    float* const to = &kept[4 * piece / half][4 * piece % half];
    to[0] += other.x;
    to[1] += other.y;
    to[2] += other.z;
    to[3] += other.w;
  }
  __syncwarp();
  if (threadIdx.x % 32 == 0) arrive_at(shared.is_taken, rank ^ 1);
}
#endif

__device__ inline void consume(Shared& shared, const Arguments& p, int consumer) {
  RingPosition<STAGES> stage;
  const Place place = place_of_thread(consumer);
  [[maybe_unused]] unsigned parity = 0;
  for (int u = blockIdx.x / CLUSTER; u < p.units; u += gridDim.x / CLUSTER) {
    BlockUnit unit = unit_of_block(p, u);
    Sums sum;
    if (READS_C && !PARTIAL) prefetch_c(p, unit);
    multiply(sum, shared, stage, place, p, unit, consumer);
#if PAIR == PAIR_SHARES_C
    Kept kept;
    add_other_half(kept, sum, shared, parity);
    unit.row += cluster_rank() * rows_kept;
    store(kept, p, unit, place, shared);
#else
    store(sum, p, unit, place, shared);
#endif
  }
}

extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    gemm(const __grid_constant__ Maps maps, const __grid_constant__ Arguments p) {
  extern __shared__ unsigned char raw[];
  // Swizzled tiles begin at multiples of 1,024 bytes of shared memory.
  const unsigned misaligned = shared_address(raw) % 1024;
  Shared& shared = *reinterpret_cast<Shared*>(raw + (misaligned ? 1024 - misaligned : 0));
  BlockUnit found{};
  if (finds_early && threadIdx.x < producers) {
    found = unit_of_block(p, blockIdx.x / CLUSTER);
    if (begins_early && (producers == 1 || is_elected())) begin(shared, maps, p, found);
  }
  // By another warp, where the first one has other work.
  if (threadIdx.x == (finds_early ? 32 : 0)) {
    prefetch(maps.a[0]);
    prefetch(maps.b[0]);
    for (int s = 0; s < STAGES; ++s) {
      if (!begins_early || s > 0) initialise(shared.full[s], 1);
      initialise(shared.empty[s], 4 * CONSUMERS * (has_sharer ? 2 : 1));
    }
    initialise(shared.is_received, 1);
    initialise(shared.is_taken, 4 * CONSUMERS);
    publish_barriers();
  }
  __syncwarp();
  synchronise_cluster();
  await_previous_grid();
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers_of_producer));
    if (threadIdx.x < producers) produce(shared, maps, p, found);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers_of_consumer));
    consume(shared, p, warpgroup - 1);
  }
  // One that has left has no shared memory to send to.
  if (PAIR == PAIR_SHARES_C) meet_in_cluster();
}

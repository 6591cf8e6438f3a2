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
// loaded while the products of the stage before run. Which column is which row of a wgmma is free:
// a thread's rows g and g + 8 are neighbours in memory, so that it loads pairs, and columns are dealt
// to lanes so that the loads of half a warp (rows t of B, in 8-byte pieces) meet no bank twice.
//
// Constants: TILE_M (of A; 16, 32, 64, 128, 192, 256), PRODUCTS (1 or 2), CONSUMERS, STAGES, CLUSTER
// (1 or 2), OPERAND tf32, STEP 8, PARTIAL (sums of a part of k leave as they are), C_ALIGNED (2 *
// PRODUCTS elements of C can be stored at once), C_TYPE, BIAS, READS_C, ACTIVATION, GROUP_ROWS.
// Launch: 128 * (CONSUMERS + 1) threads, a multiple of CLUSTER blocks, sizeof(Shared) + 1,024 bytes.
#include "bulk_copy.cuh"
#include "cluster.cuh"
#include "element.cuh"
#include "epilogue.cuh"
#include "tile_order.cuh"
#include "wgmma.cuh"

constexpr int tile_n = 64 * PRODUCTS * CONSUMERS;
constexpr int row_bytes = 128;  // of a tile in shared memory
constexpr int tile_k = 32, steps = tile_k / STEP;
constexpr int box_columns = 32, box_bytes = tile_k * row_bytes;  // of B
constexpr int a_bytes = TILE_M * row_bytes, b_bytes = tile_n / box_columns * box_bytes;
constexpr int at_once = 2 * PRODUCTS;  // neighbours in a row of C that one thread has
constexpr int registers_of_producer = CONSUMERS == 1 ? 56 : 40;
constexpr int registers_of_consumer = CONSUMERS == 1 ? 240 : 232;
// Blocks of a cluster have tiles side by side, and A in common, or one below the other, and B.
constexpr bool shares_a = CLUSTER > 1 && TILE_M >= tile_n, shares_b = CLUSTER > 1 && !shares_a;
static_assert(!shares_b || tile_n / box_columns % CLUSTER == 0, "each block loads whole boxes");

struct Shared {
  alignas(1024) unsigned char a[STAGES][a_bytes];
  alignas(1024) unsigned char b[STAGES][b_bytes];
  Barrier full[STAGES], empty[STAGES];
};

struct Maps {
  TensorMap a, b;
};

struct Arguments {
  int m, n, k, batch;
  int tiles_m, tiles_n, splits, k_tiles, k_tiles_of_split, units;
  float alpha, beta;
  long long c_leading, c_stride;
  void* c;
  const float* bias;
  float* partial;  // batch x splits x m x partial_pitch
  long long partial_pitch;
};

struct BlockUnit {
  int row, column, split, batch;
  int first, last;  // tiles of k
};

__device__ inline BlockUnit unit_of_block(const Arguments& p, int number) {
  constexpr int down = shares_b ? CLUSTER : 1, across = shares_a ? CLUSTER : 1;
  const WorkUnit unit = work_unit(number, p.tiles_m / down, p.tiles_n / across, p.splits, GROUP_ROWS);
  const int first = unit.split * p.k_tiles_of_split, rank = cluster_rank();
  return {(unit.tile_m * down + (shares_b ? rank : 0)) * TILE_M,
          (unit.tile_n * across + (shares_a ? rank : 0)) * tile_n,
          unit.split,
          unit.batch,
          first,
          min(p.k_tiles, first + p.k_tiles_of_split)};
}

template <bool shared_by_cluster>
__device__ inline void load(void* to, const TensorMap& map, Barrier& full, int x, int y, int z) {
  if (shared_by_cluster) {
    load_box_to_all(to, map, full, x, y, z, (1 << CLUSTER) - 1);
  } else {
    load_box(to, map, full, x, y, z);
  }
}

__device__ inline void produce(Shared& shared, const Maps& maps, const Arguments& p) {
  constexpr int a_share = shares_a ? TILE_M / CLUSTER : TILE_M;
  constexpr int b_share = (shares_b ? tile_n / CLUSTER : tile_n) / box_columns;
  const int a_first = shares_a ? cluster_rank() * a_share : 0;
  const int b_first = shares_b ? cluster_rank() * b_share : 0;
  RingPosition<STAGES> stage;
  for (int u = blockIdx.x / CLUSTER; u < p.units; u += gridDim.x / CLUSTER) {
    const BlockUnit unit = unit_of_block(p, u);
    for (int kt = unit.first; kt < unit.last; ++kt, stage.advance()) {
      wait(shared.empty[stage.index], stage.parity ^ 1);
      Barrier& full = shared.full[stage.index];
      arrive_expecting(full, a_bytes + b_bytes);
      load<shares_a>(shared.a[stage.index] + a_first * row_bytes, maps.a, full, kt * tile_k,
                     unit.row + a_first, unit.batch);
#pragma unroll
      for (int box = 0; box < b_share; ++box) {
        load<shares_b>(shared.b[stage.index] + (b_first + box) * box_bytes, maps.b, full,
                       unit.column + (b_first + box) * box_columns, kt * tile_k, unit.batch);
      }
    }
  }
  // The other block of the cluster may still owe this one an arrival: its barriers must live on.
  if (CLUSTER > 1) {
#pragma unroll
    for (int s = 0; s < STAGES; ++s, stage.advance()) {
      wait(shared.empty[stage.index], stage.parity ^ 1);
    }
  }
}

// Every warp for itself: each has read B with its own loads.
__device__ inline void give_back(Barrier& empty) {
  const int lane = threadIdx.x % 32;
  if (CLUSTER > 1) {
    if (lane < CLUSTER) arrive_at(empty, lane);
  } else if (lane == 0) {
    arrive(empty);
  }
}

// Where this thread's pairs of columns lie in B's tile.
struct Place {
  int box;    // of 32 columns
  int chunk;  // of 4 columns, in the box
  int pair;   // of the chunk, for the first product; the second has the other pair
};

__device__ inline Place place_of_thread(int consumer) {
  const int warp = threadIdx.x % 128 / 32, g = threadIdx.x % 32 / 4;
  if (PRODUCTS == 2) return {4 * consumer + warp, 4 * (g % 2) + g / 2, g / 2 % 2};
  return {2 * consumer + warp / 2, 4 * (g / 2 % 2) + g / 4 + 2 * (warp % 2), g % 2};
}

using Sums = float[PRODUCTS][TILE_M / 2];
using Fragments = unsigned[steps][PRODUCTS][4];  // of one stage

__device__ inline void load_fragments(Fragments& fragments, const unsigned char* box,
                                      const Place& place) {
  const int t = threadIdx.x % 4;
  const int low = t * row_bytes + 16 * (place.chunk ^ t) + 8 * place.pair;
  const int high = (t + 4) * row_bytes + 16 * (place.chunk ^ (t + 4)) + 8 * place.pair;
#pragma unroll
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int i = 0; i < PRODUCTS; ++i) {
      const unsigned char* const at = box + step * STEP * row_bytes;
      const uint2 first = *reinterpret_cast<const uint2*>(at + (low ^ 8 * i));
      const uint2 second = *reinterpret_cast<const uint2*>(at + (high ^ 8 * i));
      fragments[step][i][0] = first.x;
      fragments[step][i][1] = first.y;
      fragments[step][i][2] = second.x;
      fragments[step][i][3] = second.y;
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
                                const Place& place, const BlockUnit& unit) {
  const auto fetch = [&](Fragments& fragments) {
    wait(shared.full[stage.index], stage.parity);
    load_fragments(fragments, shared.b[stage.index] + place.box * box_bytes, place);
  };
  int kt = unit.first, previous = -1;
  // Starts the products of a stage, waits for those before, and gives back their stage. True if
  // there is another stage, which is the current one then.
  const auto advance = [&](Fragments& fragments, Fragments& before) {
    const unsigned long long a = k_major_tile(shared.a[stage.index]);
    pin(sum);
    begin_products();
#pragma unroll
    for (int step = 0; step < steps; ++step) {
#pragma unroll
      for (int i = 0; i < PRODUCTS; ++i) {
        Products<TILE_M>::add<false>(sum[i], fragments[step][i], further(a, step * 32),
                                     kt > unit.first || step > 0);
      }
    }
    commit_products();
    pin(sum);
    wait_for_products<1>();
    pin(before);
    if (previous >= 0) give_back(shared.empty[previous]);
    previous = stage.index;
    stage.advance();
    return ++kt < unit.last;
  };
  Fragments even, odd = {};
  fetch(even);
  while (advance(even, odd)) {
    fetch(odd);
    if (!advance(odd, even)) break;
    fetch(even);
  }
  wait_for_products<0>();
  pin(sum);
  give_back(shared.empty[previous]);
}

struct alignas(at_once * sizeof(C_TYPE)) ResultsAtOnce {
  C_TYPE values[at_once];
};

// The sums of a thread: neighbours in rows of C, four rows by a warp at once.
__device__ inline void store(const Sums& sum, const Arguments& p, const BlockUnit& unit,
                             const Place& place) {
  const int column = unit.column + place.box * box_columns + 4 * place.chunk +
                     (PRODUCTS == 1 ? 2 * place.pair : 0);
  const int count = p.n - column;
  if (count <= 0) return;
  const int first_row = unit.row + threadIdx.x % 4 * 2;
  const long long plane = static_cast<long long>(unit.batch) * p.splits + unit.split;
  float* const partial = p.partial + (plane * p.m + first_row) * p.partial_pitch + column;
  C_TYPE* const c = static_cast<C_TYPE*>(p.c) + unit.batch * p.c_stride +
                    first_row * p.c_leading + column;
  float bias[at_once];
#pragma unroll
  for (int v = 0; v < at_once; ++v) {
    bias[v] = BIAS == bias_of_column && v < count ? p.bias[column + v] : 0.0F;
  }
#pragma unroll
  for (int j = 0; j < TILE_M / 4; ++j) {
    const int row = j / 2 * 8 + j % 2;  // after first_row
    if (first_row + row >= p.m) break;
    float values[at_once];
#pragma unroll
    for (int v = 0; v < at_once; ++v) {
      const int at = j / 2 * 4 + j % 2 + v % 2 * 2;
      values[v] = PRODUCTS == 1 || (v / 2 == place.pair) ? sum[0][at] : sum[PRODUCTS - 1][at];
    }
    if (PARTIAL) {
      // The pitch is a multiple of 4: what is stored past the end of a row falls into the gap.
      float* const to = partial + row * p.partial_pitch;
      if (PRODUCTS == 2) {
        *reinterpret_cast<float4*>(to) =
            make_float4(values[0], values[1], values[at_once - 2], values[at_once - 1]);
      } else {
        *reinterpret_cast<float2*>(to) = make_float2(values[0], values[1]);
      }
      continue;
    }
    C_TYPE* const to = c + row * p.c_leading;
    if (BIAS == bias_of_row) {
#pragma unroll
      for (int v = 0; v < at_once; ++v) bias[v] = p.bias[first_row + row];
    }
    if (C_ALIGNED && count >= at_once) {
      ResultsAtOnce results;
      if (READS_C) results = *reinterpret_cast<const ResultsAtOnce*>(to);
#pragma unroll
      for (int v = 0; v < at_once; ++v) {
        store_with_epilogue<READS_C, ACTIVATION>(&results.values[v], values[v], p.alpha, p.beta,
                                                 bias[v]);
      }
      *reinterpret_cast<ResultsAtOnce*>(to) = results;
    } else {
#pragma unroll
      for (int v = 0; v < at_once; ++v) {
        if (v < count) {
          store_with_epilogue<READS_C, ACTIVATION>(to + v, values[v], p.alpha, p.beta, bias[v]);
        }
      }
    }
  }
}

__device__ inline void consume(Shared& shared, const Arguments& p, int consumer) {
  RingPosition<STAGES> stage;
  const Place place = place_of_thread(consumer);
  for (int u = blockIdx.x / CLUSTER; u < p.units; u += gridDim.x / CLUSTER) {
    const BlockUnit unit = unit_of_block(p, u);
    Sums sum;
    multiply(sum, shared, stage, place, unit);
    store(sum, p, unit, place);
  }
}

extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    gemm(const __grid_constant__ Maps maps, const __grid_constant__ Arguments p) {
  extern __shared__ unsigned char raw[];
  // Swizzled tiles begin at multiples of 1,024 bytes of shared memory.
  const unsigned misaligned = shared_address(raw) % 1024;
  Shared& shared = *reinterpret_cast<Shared*>(raw + (misaligned ? 1024 - misaligned : 0));
  if (threadIdx.x == 0) {
    prefetch(maps.a);
    prefetch(maps.b);
    for (int s = 0; s < STAGES; ++s) {
      initialise(shared.full[s], 1);
      initialise(shared.empty[s], 4 * CONSUMERS * CLUSTER);
    }
    publish_barriers();
  }
  synchronise_cluster();
  asm volatile("griddepcontrol.wait;" ::: "memory");
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers_of_producer));
    if (threadIdx.x == 0) produce(shared, maps, p);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers_of_consumer));
    consume(shared, p, warpgroup - 1);
  }
}

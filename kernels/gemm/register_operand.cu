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
// A consumer has 64 * PRODUCTS columns of the tile (rows of B^T). Fragments are loaded two steps
// before their products, while those of other steps run. Which column is which row of a wgmma is free:
// a thread's rows g and g + 8 are neighbours in memory, so that it loads pairs, and columns are dealt
// to lanes so that the loads of half a warp (rows t of B, in 8-byte pieces) meet no bank twice.
//
// The copy engine starts at multiples of 16 bytes. Rows of B of another pitch come as B_GROUPS
// interleaved matrices whose pitch is such a multiple, not swizzled, each with the elements that lie
// between its start and such a multiple: a thread reads rows of one group alone, so it adds their
// number to its addresses once. Rows of A: as in tensor_tiles.cu, a tile has rows of one of A_CLASSES
// interleaved matrices; it holds `shift` elements of other rows first, which are set to zero, and B
// is read `shift` rows earlier.
//
// Constants: TILE_M (of A; 16, 32, 64, 128, 192, 256), PRODUCTS (1; 2, as it must be with B_GROUPS 2
// or 4), CONSUMERS, STAGES, CLUSTER (1 or 2), A_CLASSES and B_GROUPS (1, 2, 4), OPERAND tf32, STEP 8,
// PARTIAL (sums of a part of k leave as they are), C_ALIGNED (2 * PRODUCTS elements of C can be stored
// at once), C_TYPE, BIAS, READS_C, ACTIVATION, GROUP_ROWS.
// Launch: 128 * (CONSUMERS + 1) threads, a multiple of CLUSTER blocks, sizeof(Shared) + 1,024 bytes.
#include "bulk_copy.cuh"
#include "element.cuh"
#include "epilogue.cuh"
#include "tile_order.cuh"
#include "wgmma.cuh"

constexpr int tile_n = 64 * PRODUCTS * CONSUMERS;
constexpr int row_bytes = 128;  // of a tile in shared memory
constexpr int tile_k = 32, steps = tile_k / STEP;
constexpr int a_bytes = TILE_M * row_bytes;
// B's tile is made of boxes: swizzled, of 32 columns; or a consumer's columns and those skipped, of
// every B_GROUPS-th row.
constexpr bool swizzled = B_GROUPS == 1;
constexpr int columns_of_consumer = 64 * PRODUCTS;
constexpr int box_columns = swizzled ? 32 : columns_of_consumer;
constexpr int b_row_bytes = swizzled ? row_bytes : (columns_of_consumer + 4) * 4;
constexpr int box_rows = tile_k / B_GROUPS, box_bytes = box_rows * b_row_bytes;
constexpr int boxes = tile_n / box_columns, b_bytes = boxes * B_GROUPS * box_bytes;
constexpr int at_once = 2 * PRODUCTS;  // neighbours in a row of C that one thread has
constexpr int registers_of_producer = 56;
constexpr int registers_of_consumer = CONSUMERS == 1 ? 240 : 224;
// Blocks of a cluster have tiles side by side, and A in common, or one below the other, and B.
constexpr bool shares_a = CLUSTER > 1 && TILE_M >= tile_n, shares_b = CLUSTER > 1 && !shares_a;
// Where C's rows begin anywhere, warps turn their results into whole rows in shared memory.
constexpr bool through_shared = !PARTIAL && !C_ALIGNED && PRODUCTS == 2;
constexpr int warp_bytes = through_shared ? 2 * 4 * row_bytes : 16;
static_assert(swizzled || PRODUCTS == 2, "single elements are dealt in fours");
static_assert(!shares_b || boxes * B_GROUPS % CLUSTER == 0, "each block loads whole boxes");
static_assert(box_bytes % 128 == 0, "the copy engine writes to such addresses");

struct Shared {
  alignas(1024) unsigned char a[STAGES][a_bytes];
  alignas(1024) unsigned char b[STAGES][b_bytes];
  alignas(16) unsigned char c[4 * CONSUMERS][warp_bytes];
  Barrier full[STAGES], empty[STAGES];
};

struct Maps {
  TensorMap a[A_CLASSES], b[B_GROUPS];
};

struct Arguments {
  int m, n, k, batch;
  int tiles_m, tiles_n, splits, k_tiles, k_tiles_of_split, units;
  int a_shift[4], b_shift[4];  // of each class and group
  float alpha, beta;
  long long c_leading, c_stride;
  void* c;
  const float* bias;
  float* partial;  // batch x splits x m x partial_pitch
  long long partial_pitch;
};

__device__ inline int cluster_rank() {
  unsigned rank = 0;
#if CLUSTER > 1
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return static_cast<int>(rank);
}
__device__ inline void synchronise_cluster() {
#if CLUSTER > 1
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
#else
  __syncthreads();
#endif
}

// `row` counts rows of the class.
struct BlockUnit {
  int row, column, row_class, split, batch;
  int first, last;  // tiles of k
};

__device__ inline BlockUnit unit_of_block(const Arguments& p, int number) {
  constexpr int down = shares_b ? CLUSTER : 1, across = shares_a ? CLUSTER : 1;
  const WorkUnit unit = work_unit(number, p.tiles_m / down, p.tiles_n / across, p.splits, GROUP_ROWS);
  const int first = unit.split * p.k_tiles_of_split, rank = cluster_rank();
  return {(unit.tile_m / A_CLASSES * down + (shares_b ? rank : 0)) * TILE_M,
          (unit.tile_n * across + (shares_a ? rank : 0)) * tile_n,
          unit.tile_m % A_CLASSES,
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

// The row of a stage from which on group `group` of B has every B_GROUPS-th, where the stage begins
// `shift` rows before a multiple of B_GROUPS.
__device__ inline int first_of_group(int group, int shift) { return (group + shift) % B_GROUPS; }

__device__ inline void produce(Shared& shared, const Maps& maps, const Arguments& p) {
  constexpr int a_share = shares_a ? TILE_M / CLUSTER : TILE_M;
  constexpr int b_share = boxes * B_GROUPS / (shares_b ? CLUSTER : 1);
  const int a_first = shares_a ? cluster_rank() * a_share : 0;
  const int b_first = shares_b ? cluster_rank() * b_share : 0;
  RingPosition<STAGES> stage;
  for (int u = blockIdx.x / CLUSTER; u < p.units; u += gridDim.x / CLUSTER) {
    const BlockUnit unit = unit_of_block(p, u);
    const int shift = p.a_shift[unit.row_class];
#pragma unroll 1
    for (int kt = unit.first; kt < unit.last; ++kt, stage.advance()) {
      wait(shared.empty[stage.index], stage.parity ^ 1);
      Barrier& full = shared.full[stage.index];
      arrive_expecting(full, a_bytes + b_bytes);
      load<shares_a>(shared.a[stage.index] + a_first * row_bytes, maps.a[unit.row_class], full,
                     kt * tile_k, unit.row + a_first, unit.batch);
#pragma unroll
      for (int i = 0; i < b_share; ++i) {
        const int group = (b_first + i) % B_GROUPS;
        const int row = kt * tile_k - shift + first_of_group(group, shift) - group;
        load<shares_b>(shared.b[stage.index] + (b_first + i) * box_bytes, maps.b[group], full,
                       unit.column + (b_first + i) / B_GROUPS * box_columns, row / B_GROUPS,
                       unit.batch);
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

// The columns of this thread.
struct Place {
  int first;  // 32 columns of the tile that this warp has, or has half of
  int chunk;  // of 4 columns, of those
  int pair;   // of the chunk, for the first product; the second has the other pair
};

__device__ inline Place place_of_thread(int consumer) {
  const int warp = threadIdx.x % 128 / 32, g = threadIdx.x % 32 / 4;
  if (PRODUCTS == 2) {
    return {consumer * columns_of_consumer + 32 * warp, 4 * (g % 2) + 2 * (g / 2 % 2) + g / 4,
            swizzled ? g / 2 % 2 : 0};
  }
  return {consumer * columns_of_consumer + 32 * (warp / 2),
          4 * (g / 2 % 2) + g / 4 + 2 * (warp % 2), g % 2};
}

// Where this thread's elements lie in a stage of B: of rows t and t + 4, the first product's.
struct Offsets {
  int low, high;
};

__device__ inline Offsets offsets_of(const Place& place, const Arguments& p, int consumer,
                                     int shift) {
  const int t = threadIdx.x % 4;
  if (swizzled) {
    const int at = place.first / box_columns * box_bytes + 8 * place.pair;
    return {at + t * row_bytes + 16 * (place.chunk ^ t),
            at + (t + 4) * row_bytes + 16 * (place.chunk ^ (t + 4))};
  }
  const int group = (t + B_GROUPS - shift % B_GROUPS) % B_GROUPS;
  const int column = place.first % columns_of_consumer + 4 * place.chunk + p.b_shift[group];
  const int at = (consumer * B_GROUPS + group) * box_bytes + t / B_GROUPS * b_row_bytes + 4 * column;
  return {at, at + 4 / B_GROUPS * b_row_bytes};
}

using Sums = float[PRODUCTS][TILE_M / 2];
using Fragments = unsigned[PRODUCTS][4];  // of one step

__device__ inline uint2 load_pair(const unsigned char* at) {
  if (B_GROUPS <= 2) return *reinterpret_cast<const uint2*>(at);
  const auto* const words = reinterpret_cast<const unsigned*>(at);
  return make_uint2(words[0], words[1]);
}

__device__ inline void load_fragments(Fragments& fragments, const unsigned char* stage, int step,
                                      const Offsets& offsets) {
  const unsigned char* const at = stage + step * (STEP / B_GROUPS) * b_row_bytes;
#pragma unroll
  for (int i = 0; i < PRODUCTS; ++i) {
    const uint2 low = load_pair(at + (swizzled ? offsets.low ^ 8 * i : offsets.low + 8 * i));
    const uint2 high = load_pair(at + (swizzled ? offsets.high ^ 8 * i : offsets.high + 8 * i));
    fragments[i][0] = low.x;
    fragments[i][1] = low.y;
    fragments[i][2] = high.x;
    fragments[i][3] = high.y;
  }
}

// Sets the first `count` elements of the rows of A's tile to zero. Consumers need not agree: each
// writes the same.
__device__ inline void clear_columns(unsigned char* a, int count, int consumer) {
  for (int row = threadIdx.x % 128; row < TILE_M; row += 128) {
    auto* const words = reinterpret_cast<unsigned*>(a + row * row_bytes + 16 * (row % 8));
    for (int e = 0; e < count; ++e) words[e] = 0;
  }
  publish_shared();
  asm volatile("bar.sync %0, 128;" ::"r"(1 + consumer) : "memory");
}

__device__ inline void pin(Sums& sum) {
#pragma unroll
  for (int i = 0; i < PRODUCTS; ++i) pin(sum[i]);
}
// Products read their fragments until they are waited for: no register may be taken before.
__device__ inline void pin(Fragments& fragments) {
#pragma unroll
  for (int i = 0; i < PRODUCTS * 4; ++i) {
    asm volatile("" : "+r"(fragments[i / 4][i % 4])::"memory");
  }
}

// The sums of one tile over one part of k.
__device__ inline void multiply(Sums& sum, Shared& shared, RingPosition<STAGES>& stage,
                                const Offsets& offsets, const BlockUnit& unit, int shift,
                                int consumer) {
  constexpr int ahead = 2;  // steps between the loads of fragments and their products
  Fragments ring[steps];
  wait(shared.full[stage.index], stage.parity);
#pragma unroll
  for (int step = 0; step < ahead; ++step) {
    load_fragments(ring[step], shared.b[stage.index], step, offsets);
  }
  if (A_CLASSES > 1 && unit.first == 0 && shift > 0) {
    clear_columns(shared.a[stage.index], shift, consumer);
  }
  pin(sum);
  int previous = -1;
  for (int kt = unit.first; kt < unit.last; ++kt) {
    const int index = stage.index;
    const unsigned long long a = k_major_tile(shared.a[index]);
    stage.advance();
    const bool is_last = kt + 1 == unit.last;
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      begin_products();
#pragma unroll
      for (int i = 0; i < PRODUCTS; ++i) {
        Products<TILE_M>::add<false>(sum[i], ring[step][i], further(a, step * 32),
                                     kt > unit.first || step > 0);
      }
      commit_products();
      wait_for_products<steps - ahead>();
      const int next = (step + ahead) % steps;
      pin(ring[next]);
      if (step == steps - ahead - 1 && previous >= 0) give_back(shared.empty[previous]);
      if (step < steps - ahead) {
        load_fragments(ring[next], shared.b[index], next, offsets);
      } else if (!is_last) {
        if (step == steps - ahead) wait(shared.full[stage.index], stage.parity);
        load_fragments(ring[next], shared.b[stage.index], next, offsets);
      }
    }
    previous = index;
  }
  wait_for_products<0>();
  pin(sum);
  give_back(shared.empty[previous]);
}

struct alignas(at_once * sizeof(C_TYPE)) ResultsAtOnce {
  C_TYPE values[at_once];
};

// Four rows' pieces of 32 columns, one chunk of 4 by each lane, to rows that begin anywhere: through
// this warp's memory, so that the lanes store neighbours.
__device__ inline void store_turned(const ResultsAtOnce& results, unsigned char* warp_memory,
                                    C_TYPE* c, long long pitch, int chunk, int rows, int columns) {
  const int t = threadIdx.x % 4, lane = threadIdx.x % 32;
  constexpr int chunk_bytes = sizeof(ResultsAtOnce);
  *reinterpret_cast<ResultsAtOnce*>(warp_memory + t * 8 * chunk_bytes + chunk_bytes * (chunk ^ t)) =
      results;
  __syncwarp();
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const auto* const row = reinterpret_cast<const C_TYPE*>(warp_memory + r * 8 * chunk_bytes +
                                                            chunk_bytes * (lane / 4 ^ r));
    if (r < rows && lane < columns) c[r * pitch + lane] = row[lane % 4];
  }
}

// The sums of a thread: neighbours in rows of C, four rows by a warp at once.
__device__ inline void store(const Sums& sum, const Arguments& p, const BlockUnit& unit,
                             const Place& place, unsigned char* warp_memory) {
  const int column = unit.column + place.first + 4 * place.chunk +
                     (PRODUCTS == 1 ? 2 * place.pair : 0);
  const int count = p.n - column;  // of columns from the thread's first on
  if (through_shared ? unit.column + place.first >= p.n : count <= 0) return;
  const int t = threadIdx.x % 4;
  const long long plane = static_cast<long long>(unit.batch) * p.splits + unit.split;
  C_TYPE* const c = static_cast<C_TYPE*>(p.c) + unit.batch * p.c_stride;
  float bias[at_once];
#pragma unroll
  for (int v = 0; v < at_once; ++v) {
    bias[v] = BIAS == bias_of_column && v < count ? p.bias[column + v] : 0.0F;
  }
#pragma unroll
  for (int j = 0; j < TILE_M / 4; ++j) {
    // Of this warp's four rows, two apart in the class.
    const int first_row = (unit.row + j / 2 * 8 + j % 2) * A_CLASSES + unit.row_class;
    const int row = first_row + 2 * t * A_CLASSES;
    if (through_shared ? first_row >= p.m : row >= p.m) break;
    float values[at_once];
#pragma unroll
    for (int v = 0; v < at_once; ++v) {
      const int at = j / 2 * 4 + j % 2 + v % 2 * 2;
      values[v] = PRODUCTS == 1 || (v / 2 == place.pair) ? sum[0][at] : sum[PRODUCTS - 1][at];
    }
    if (PARTIAL) {
      // The pitch is a multiple of 4: what is stored past the end of a row falls into the gap.
      float* const to = p.partial + (plane * p.m + row) * p.partial_pitch + column;
      if (PRODUCTS == 2) {
        *reinterpret_cast<float4*>(to) =
            make_float4(values[0], values[1], values[at_once - 2], values[at_once - 1]);
      } else {
        *reinterpret_cast<float2*>(to) = make_float2(values[0], values[1]);
      }
      continue;
    }
    C_TYPE* const to = c + row * p.c_leading + column;
    if (BIAS == bias_of_row) {
      const float of_row = row < p.m ? p.bias[row] : 0.0F;
#pragma unroll
      for (int v = 0; v < at_once; ++v) bias[v] = of_row;
    }
    const bool is_whole = C_ALIGNED && count >= at_once;
    if (!is_whole && !through_shared) {
#pragma unroll
      for (int v = 0; v < at_once; ++v) {
        if (v < count) {
          store_with_epilogue<READS_C, ACTIVATION>(to + v, values[v], p.alpha, p.beta, bias[v]);
        }
      }
      continue;
    }
    ResultsAtOnce results{};  // C as it was, before the epilogue
    if (READS_C && is_whole) results = *reinterpret_cast<const ResultsAtOnce*>(to);
#pragma unroll
    for (int v = 0; v < at_once; ++v) {
      if (READS_C && !is_whole && row < p.m && v < count) results.values[v] = to[v];
      store_with_epilogue<READS_C, ACTIVATION>(&results.values[v], values[v], p.alpha, p.beta,
                                               bias[v]);
    }
    if (through_shared) {
      const long long pitch = 2 * A_CLASSES * p.c_leading;
      store_turned(results, warp_memory + j % 2 * (warp_bytes / 2),
                   c + first_row * p.c_leading + unit.column + place.first, pitch, place.chunk,
                   (p.m - first_row + 2 * A_CLASSES - 1) / (2 * A_CLASSES),
                   p.n - unit.column - place.first);
    } else {
      *reinterpret_cast<ResultsAtOnce*>(to) = results;
    }
  }
}

__device__ inline void consume(Shared& shared, const Arguments& p, int consumer) {
  RingPosition<STAGES> stage;
  const Place place = place_of_thread(consumer);
  unsigned char* const warp_memory = shared.c[4 * consumer + threadIdx.x % 128 / 32];
  for (int u = blockIdx.x / CLUSTER; u < p.units; u += gridDim.x / CLUSTER) {
    const BlockUnit unit = unit_of_block(p, u);
    const int shift = p.a_shift[unit.row_class];
    Sums sum;
    multiply(sum, shared, stage, offsets_of(place, p, consumer, shift), unit, shift, consumer);
    store(sum, p, unit, place, warp_memory);
  }
}

extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    gemm(const __grid_constant__ Maps maps, const __grid_constant__ Arguments p) {
  extern __shared__ unsigned char raw[];
  // Swizzled tiles begin at multiples of 1,024 bytes of shared memory.
  const unsigned misaligned = shared_address(raw) % 1024;
  Shared& shared = *reinterpret_cast<Shared*>(raw + (misaligned ? 1024 - misaligned : 0));
  if (threadIdx.x == 0) {
    prefetch(maps.a[0]);
    prefetch(maps.b[0]);
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

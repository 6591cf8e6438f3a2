// 16-bit products on tensor cores whose B has rows that begin at any byte, read where they lie.
//
// Idea:    the copy engine starts at multiples of 16 bytes. Every CLASSES-th row of B begins equally
//          many elements after such a multiple, so k is sorted into these classes, and each has
//          sums of its own: they are right but for their columns, which are `shift` elements off. At
//          the end the sums of all classes meet in shared memory and are added as they belong.
// Changes: nothing is moved to another place in its row but 64 x TILE_N sums for each class, once a
//          tile, instead of all of B; A's columns are sorted by gather_columns.cu, which pays where
//          A is the smaller operand.
// Counter: DRAM throughput.
//
// A tile has 64 rows of C and TILE_N columns, and eight columns more for the shift. Two consumers
// have half of the classes each and take tiles of k in turn. Blocks of a cluster have the same
// columns of C and load a share of B's rows each, for all.
//
// Constants: TILE_N, STAGES (even), CLUSTER (1 or 2), CLASSES (2, 4 or 8), OPERAND, C_TYPE, BIAS,
// READS_C, ACTIVATION, GROUP_ROWS. Launch: 384 threads, a multiple of CLUSTER blocks, a block a tile,
// sizeof(Shared) + 1,024 bytes.
#define STEP 16
#include "bulk_copy.cuh"
#include "cluster.cuh"
#include "epilogue.cuh"
#include "tile_order.cuh"
#include "wgmma.cuh"

constexpr int tile_m = 64, tile_k = 64, consumers = 2;
constexpr int row_bytes = 128, chunk_bytes = 64 * row_bytes;
constexpr int a_bytes = tile_m * row_bytes;
constexpr int edge_columns = 8, edge_row_bytes = 2 * edge_columns;
constexpr int b_bytes = TILE_N / 64 * chunk_bytes, edge_bytes = tile_k * edge_row_bytes;
constexpr int steps = tile_k / STEP;
constexpr int classes_of_consumer = CLASSES / consumers;
constexpr int sum_pitch = TILE_N + edge_columns;  // so that four rows of pairs fill all banks
static_assert(CLASSES % consumers == 0 && STAGES % consumers == 0, "consumers take turns");
static_assert(TILE_N % 64 == 0, "a chunk has 64 columns");

struct Stages {
  alignas(1024) unsigned char a[STAGES][a_bytes];
  alignas(1024) unsigned char b[STAGES][b_bytes];
  alignas(1024) unsigned char edge[STAGES][edge_bytes];
};
using ClassSums = float[tile_m][sum_pitch];

struct Shared {
  union {
    Stages stages;
    ClassSums sums[CLASSES];  // when all tiles of k have been multiplied
  };
  Barrier full[STAGES], empty[STAGES];
};

struct Maps {
  TensorMap a, b[CLASSES], edge[CLASSES];
};

struct Arguments {
  int m, n, tiles_m, tiles_n;
  int k_tiles_of_class;
  int shift[8];  // of each class
  float alpha, beta;
  long long c_leading, c_stride;
  void* c;
  const float* bias;
};

struct BlockTile {
  int row, column, batch;
};

__device__ inline BlockTile tile_of_block(const Arguments& p) {
  const WorkUnit unit =
      work_unit(blockIdx.x / CLUSTER, p.tiles_m / CLUSTER, p.tiles_n, 1, GROUP_ROWS);
  return {(unit.tile_m * CLUSTER + cluster_rank()) * tile_m, unit.tile_n * TILE_N, unit.batch};
}

// The tiles of k in the order in which all take them: of two classes in turn, then of the next two.
struct ClassTile {
  int number, first_k;  // of the class, in its rows
};
__device__ inline ClassTile class_tile(const Arguments& p, int number) {
  const int pair = number / (consumers * p.k_tiles_of_class);
  const int in_pair = number - pair * consumers * p.k_tiles_of_class;
  return {pair * consumers + in_pair % consumers, in_pair / consumers * tile_k};
}

__device__ inline void load_shared_box(unsigned char* to, const TensorMap& map, Barrier& full,
                                       int x, int y, int z) {
  if (CLUSTER > 1) {
    load_box_to_all(to, map, full, x, y, z, (1 << CLUSTER) - 1);
  } else {
    load_box(to, map, full, x, y, z);
  }
}

// B's tile, or this block's share of its rows for all blocks of the cluster.
__device__ inline void load_b(Stages& stages, int s, const Maps& maps, Barrier& full,
                              const BlockTile& tile, const ClassTile& part) {
  constexpr int share = tile_k / CLUSTER;
  const int first = cluster_rank() * share;
#pragma unroll
  for (int c = 0; c < TILE_N / 64; ++c) {
    load_shared_box(stages.b[s] + c * chunk_bytes + first * row_bytes, maps.b[part.number], full,
                    tile.column + 64 * c, part.first_k + first, tile.batch);
  }
  load_shared_box(stages.edge[s] + first * edge_row_bytes, maps.edge[part.number], full,
                  tile.column + TILE_N, part.first_k + first, tile.batch);
}

// Loads all tiles of A or of B.
template <bool of_a>
__device__ inline void produce(Shared& shared, const Maps& maps, const Arguments& p) {
  const BlockTile tile = tile_of_block(p);
  RingPosition<STAGES> stage;
  const int tiles = CLASSES * p.k_tiles_of_class;
  for (int t = 0; t < tiles; ++t, stage.advance()) {
    const ClassTile part = class_tile(p, t);
    wait(shared.empty[stage.index], stage.parity ^ 1);
    Barrier& full = shared.full[stage.index];
    arrive_expecting(full, of_a ? a_bytes : b_bytes + edge_bytes);
    if (of_a) {
      load_box(shared.stages.a[stage.index], maps.a, full,
               part.number * p.k_tiles_of_class * tile_k + part.first_k, tile.row, tile.batch);
    } else {
      load_b(shared.stages, stage.index, maps, full, tile, part);
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

__device__ inline void give_back(Barrier& empty) {
  if (CLUSTER > 1) {
    if (threadIdx.x % 128 < CLUSTER) arrive_at(empty, threadIdx.x % 128);
  } else if (threadIdx.x % 128 == 0) {
    arrive(empty);
  }
}

__device__ inline void synchronise_consumers() {
  asm volatile("bar.sync 1, 256;" ::: "memory");
}

// The sums of one class.
struct Sums {
  float tile[TILE_N / 2];
  float edge[edge_columns / 2];
};
__device__ inline void pin(Sums& sum) {
  pin(sum.tile);
  pin(sum.edge);
}

__device__ inline void multiply(Sums& sum, Shared& shared, RingPosition<STAGES>& stage,
                                int k_tiles) {
  int previous = -1;
  for (int kt = 0; kt < k_tiles; ++kt) {
    wait(shared.full[stage.index], stage.parity);
    const unsigned long long a = k_major_tile(shared.stages.a[stage.index]);
    const unsigned long long b = mn_major_tile(shared.stages.b[stage.index], chunk_bytes);
    const unsigned long long edge = mn_major_strip(shared.stages.edge[stage.index]);
    pin(sum);
    begin_products();
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int accumulate = kt > 0 || step > 0;
      const unsigned long long a_step = further(a, 2 * STEP * step);
      Products<TILE_N>::add<false, true>(sum.tile, a_step, further(b, STEP * row_bytes * step),
                                         accumulate);
      Products<edge_columns>::add<false, true>(
          sum.edge, a_step, further(edge, STEP * edge_row_bytes * step), accumulate);
    }
    commit_products();
    pin(sum);
    wait_for_products<1>();
    if (previous >= 0) give_back(shared.empty[previous]);
    previous = stage.index;
    for (int c = 0; c < consumers; ++c) stage.advance();
  }
  wait_for_products<0>();
  pin(sum);
  give_back(shared.empty[previous]);
}

__device__ inline void keep_sums(const Sums& sum, ClassSums& to) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float* const row = to[16 * warp + lane / 4 + 8 * h] + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < TILE_N / 8; ++j) {
      *reinterpret_cast<float2*>(row + 8 * j) =
          make_float2(sum.tile[4 * j + 2 * h], sum.tile[4 * j + 2 * h + 1]);
    }
    *reinterpret_cast<float2*>(row + TILE_N) =
        make_float2(sum.edge[2 * h], sum.edge[2 * h + 1]);
  }
}

// Adds the classes in order and stores the tile, a row by a warp, neighbouring columns by
// neighbouring lanes.
__device__ inline void store_tile(const Shared& shared, const Arguments& p) {
  const BlockTile tile = tile_of_block(p);
  const int warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
  constexpr int warps = 4 * consumers;
#pragma unroll 2
  for (int r = warp; r < tile_m; r += warps) {
    const int row = tile.row + r;
    if (row >= p.m) break;
    C_TYPE* const c = static_cast<C_TYPE*>(p.c) + tile.batch * p.c_stride + row * p.c_leading;
#pragma unroll
    for (int x = lane; x < TILE_N; x += 32) {
      const int column = tile.column + x;
      float sum = 0.0F;
#pragma unroll
      for (int s = 0; s < CLASSES; ++s) sum += shared.sums[s][r][x + p.shift[s]];
      if (column < p.n) {
        store_with_epilogue<READS_C, ACTIVATION>(c + column, sum, p.alpha, p.beta,
                                                 bias_at<BIAS>(p.bias, row, column));
      }
    }
  }
}

__device__ inline void consume(Shared& shared, const Arguments& p, int consumer) {
  RingPosition<STAGES> stage;
  for (int c = 0; c < consumer; ++c) stage.advance();
  Sums sum[classes_of_consumer];
#pragma unroll
  for (int i = 0; i < classes_of_consumer; ++i) multiply(sum[i], shared, stage, p.k_tiles_of_class);
  synchronise_consumers();
#pragma unroll
  for (int i = 0; i < classes_of_consumer; ++i) {
    keep_sums(sum[i], shared.sums[i * consumers + consumer]);
  }
  synchronise_consumers();
  store_tile(shared, p);
}

extern "C" __global__ void __launch_bounds__(128 * (consumers + 1), 1)
    gemm(const __grid_constant__ Maps maps, const __grid_constant__ Arguments p) {
  extern __shared__ unsigned char raw[];
  // Swizzled tiles begin at multiples of 1,024 bytes of shared memory.
  const unsigned misaligned = shared_address(raw) % 1024;
  Shared& shared = *reinterpret_cast<Shared*>(raw + (misaligned ? 1024 - misaligned : 0));
  if (threadIdx.x == 0) {
    prefetch(maps.b[0]);
    prefetch(maps.edge[0]);
    prefetch(maps.a);
    for (int s = 0; s < STAGES; ++s) {
      initialise(shared.full[s], 2);
      initialise(shared.empty[s], CLUSTER);
    }
    publish_barriers();
  }
  synchronise_cluster();
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
    if (threadIdx.x == 0) {
      produce<false>(shared, maps, p);
    } else if (threadIdx.x == 32) {
      // A's columns are still being sorted while B's tiles are on their way.
      asm volatile("griddepcontrol.wait;" ::: "memory");
      produce<true>(shared, maps, p);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
    consume(shared, p, warpgroup - 1);
  }
}

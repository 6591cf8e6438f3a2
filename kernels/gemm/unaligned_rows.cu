// 16-bit products on tensor cores whose B has rows that begin at any byte, read where they lie and
// multiplied from registers.
//
// Idea:    C^T = B^T A^T: a wgmma takes B^T from registers, which a thread fills with words that
//          begin anywhere in a row in shared memory. So the copy engine brings rows of B as they
//          lie, of one class after the other, which begin equally many bytes after a multiple of
//          16, and the shift is part of an address that is computed once.
// Changes: B is neither copied in memory first nor written to shared memory a second time.
// Counter: DRAM throughput, or the share of cycles in which the tensor cores work.
//
// A block has 128 x 128 of C over half of k; the other block of its cluster has the other half.
// At the end each sends half of the columns to the other, and stores the half that it keeps.
//
// Constants: CLASSES (2, 4 or 8) of B's rows, STAGES, OPERAND, C_TYPE (of 16 bits), BIAS,
// ACTIVATION, GROUP_ROWS. Launch: 256 threads and 32 for each of `producers`, clusters of 2 blocks,
// a cluster a tile, sizeof(Shared) + 1,024 bytes.
#define STEP 16
#define CLUSTER 2
#include "bulk_copy.cuh"
#include "cluster.cuh"
#include "epilogue.cuh"
#include "tile_order.cuh"
#include "wgmma.cuh"

constexpr int tile_m = 128, tile_n = 128, tile_k = 64, steps = tile_k / STEP;
constexpr int consumers = 2, columns_of_consumer = 64;
constexpr int row_bytes = 128, a_bytes = tile_m * row_bytes;
// B's rows: two swizzled boxes of 64 columns for each class, and one of 8 columns behind them.
constexpr int box_columns = 64, edge_columns = 8, edge_row_bytes = 2 * edge_columns;
constexpr int rows_of_class = tile_k / CLASSES;
constexpr int half_bytes = 9 * 1024, edge_bytes = tile_k * edge_row_bytes;
constexpr int b_bytes = 2 * half_bytes + edge_bytes;
constexpr int bytes_copied = a_bytes + tile_k * (2 * row_bytes + edge_row_bytes);
constexpr bool has_odd_rows = CLASSES == 8;
constexpr int rows_at_a_time = 2 * steps;  // pairs of neighbouring rows of a tile that a thread has
constexpr int c_pitch = 4 * (columns_of_consumer / 2 + 4);  // bytes: words of C fill all banks

// Boxes of classes whose rows are read together begin at rows that are swizzled differently.
__device__ constexpr int box_of_class(int number) {
  return number * rows_of_class * row_bytes +
         (CLASSES == 8 ? number / 2 * 2 : CLASSES == 4 ? number / 2 * 4 : 0) * row_bytes;
}

struct Stage {
  unsigned char a[a_bytes];
  unsigned char b[b_bytes];
};
static_assert(sizeof(Stage) % 1024 == 0, "swizzled tiles begin at multiples of 1,024 bytes");

// Warps, of which one thread each copies: a thread starts a copy every 60 to 80 cycles.
constexpr int producers = CLASSES < 4 ? CLASSES : 4;
constexpr int pieces_sent = tile_m / 8;  // of 16 bytes, by each thread

struct Shared {
  Stage stage[STAGES];
  float4 received[pieces_sent][128];
  unsigned char c[tile_m][c_pitch];
  Barrier full[STAGES], empty[STAGES];
  Barrier is_received;  // the other block's sums
};

struct Maps {
  TensorMap a, b[CLASSES], edge[CLASSES];
};

struct Arguments {
  int m, n, tiles_m, tiles_n, k_tiles;
  int shift[8];  // elements by which maps of B's classes begin early
  float alpha;
  long long c_leading, c_stride;
  void* c;
  const float* bias;
};

struct BlockTile {
  int row, column, batch;
  int first, last;  // tiles of k
};

__device__ inline BlockTile tile_of_block(const Arguments& p) {
  const WorkUnit unit = work_unit(blockIdx.x / CLUSTER, p.tiles_m, p.tiles_n, 1, GROUP_ROWS);
  const int half = (p.k_tiles + 1) / 2, first = cluster_rank() * half;
  return {unit.tile_m * tile_m, unit.tile_n * tile_n, unit.batch, first,
          min(p.k_tiles, first + half)};
}

__device__ inline void load_b(Stage& stage, const Maps& maps, Barrier& full, const BlockTile& tile,
                              int kt, int producer) {
#pragma unroll
  for (int i = 0; i < CLASSES / producers; ++i) {
    const int place = i * producers + producer;
    const int row_in_class = kt * rows_of_class;
    unsigned char* const to = stage.b + box_of_class(place);
    load_box(to, maps.b[place], full, tile.column, row_in_class, tile.batch);
    load_box(to + half_bytes, maps.b[place], full, tile.column + box_columns, row_in_class,
             tile.batch);
    load_box(stage.b + 2 * half_bytes + place * rows_of_class * edge_row_bytes, maps.edge[place],
             full, tile.column + tile_n, row_in_class, tile.batch);
  }
}

__device__ inline void produce(Shared& shared, const Maps& maps, const Arguments& p, int producer) {
  const BlockTile tile = tile_of_block(p);
  const auto load_a = [&](int s, int kt) {
    load_box(shared.stage[s].a, maps.a, shared.full[s], kt * tile_k, tile.row, tile.batch);
  };
  // A may still be being copied.
  const int early = min(tile.first + STAGES, tile.last);
#pragma unroll 1
  for (int kt = tile.first; kt < early; ++kt) {
    const int s = kt - tile.first;
    if (producer == 0) arrive_expecting(shared.full[s], bytes_copied);
    load_b(shared.stage[s], maps, shared.full[s], tile, kt, producer);
    if (producer == 0) {
      if (kt == tile.first) asm volatile("griddepcontrol.wait;" ::: "memory");
      load_a(s, kt);
    }
  }
  RingPosition<STAGES> stage;
#pragma unroll 1
  for (int kt = early; kt < tile.last; ++kt, stage.advance()) {
    wait(shared.empty[stage.index], stage.parity);
    if (producer == 0) {
      arrive_expecting(shared.full[stage.index], bytes_copied);
      load_a(stage.index, kt);
    }
    load_b(shared.stage[stage.index], maps, shared.full[stage.index], tile, kt, producer);
  }
}

// Where a thread's words lie in B's part of a stage: of rows 2 (lane % 4) and the next, of those 8,
// 16, ... further on. A word has two neighbouring columns; where rows begin at an odd element,
// which every second then does, halves of it and of the next are wanted.
struct Offsets {
  unsigned even[rows_at_a_time], odd[rows_at_a_time], next[rows_at_a_time];
};

__device__ inline unsigned offset_of(int row, int word) {
  const int place = row % CLASSES, row_in_class = row / CLASSES;
  if (word >= tile_n / 2) {
    return 2 * half_bytes + (place * rows_of_class + row_in_class) * edge_row_bytes +
           4 * (word - tile_n / 2);
  }
  const int begin = box_of_class(place) + row_in_class * row_bytes, at = word % 32;
  return word / 32 * half_bytes + begin + 16 * (at / 4 ^ begin / row_bytes % 8) + at % 4 * 4;
}

__device__ inline Offsets offsets_of(const Arguments& p, int consumer) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  const int word = columns_of_consumer / 2 * consumer + 8 * warp + lane / 4;
  Offsets result;
#pragma unroll
  for (int i = 0; i < rows_at_a_time; ++i) {
    const int row = 8 * i + lane % 4 * 2;
    const int even = word + p.shift[row % CLASSES] / 2;
    const int odd = word + p.shift[(row + 1) % CLASSES] / 2;
    result.even[i] = offset_of(row, even);
    result.odd[i] = offset_of(row + 1, odd);
    result.next[i] = offset_of(row + 1, odd + 1);
  }
  return result;
}

using Sums = float[tile_m / 2];
using Fragments = unsigned[steps][4];  // of one stage

__device__ inline void load_fragments(Fragments& fragments, const unsigned char* b,
                                      const Offsets& offsets) {
  const auto word_at = [&](unsigned offset) {
    return *reinterpret_cast<const unsigned*>(b + offset);
  };
#pragma unroll
  for (int i = 0; i < rows_at_a_time; ++i) {
    const unsigned even = word_at(offsets.even[i]);
    unsigned odd = word_at(offsets.odd[i]);
    if (has_odd_rows) odd = __funnelshift_r(odd, word_at(offsets.next[i]), 16);
    fragments[i / 2][i % 2 * 2] = __byte_perm(even, odd, 0x5410);
    fragments[i / 2][i % 2 * 2 + 1] = __byte_perm(even, odd, 0x7632);
  }
}

// Products read their fragments until they are waited for: no register may be taken before.
__device__ inline void pin(Fragments& fragments) {
#pragma unroll
  for (int i = 0; i < steps * 4; ++i) {
    asm volatile("" : "+r"(fragments[i / 4][i % 4])::"memory");
  }
}

__device__ inline void multiply(Sums& sum, Shared& shared, const Arguments& p,
                                const BlockTile& tile, int consumer) {
  const Offsets offsets = offsets_of(p, consumer);
  RingPosition<STAGES> stage;
  int kt = tile.first, previous = -1;
  const auto fetch = [&](Fragments& fragments) {
    wait(shared.full[stage.index], stage.parity);
    load_fragments(fragments, shared.stage[stage.index].b, offsets);
  };
  // Starts the products of a stage, waits for those before, and gives back their stage. True if
  // there is another stage, which is the current one then.
  const auto advance = [&](Fragments& fragments, Fragments& before) {
    const unsigned long long a = k_major_tile(shared.stage[stage.index].a);
    pin(sum);
    begin_products();
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      Products<tile_m>::add<false>(sum, fragments[step], further(a, step * 32),
                                   kt > tile.first || step > 0);
    }
    commit_products();
    pin(sum);
    wait_for_products<1>();
    pin(before);
    if (previous >= 0 && threadIdx.x % 32 == 0) arrive(shared.empty[previous]);
    previous = stage.index;
    stage.advance();
    return ++kt < tile.last;
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
}

__device__ inline unsigned pair_of(float low, float high) {
  return narrow<C_TYPE>(low).bits | static_cast<unsigned>(narrow<C_TYPE>(high).bits) << 16;
}

// This consumer's sums and what the other block sent, as C in shared memory.
__device__ inline void finish(const Sums& sum, Shared& shared, const Arguments& p,
                              const BlockTile& tile, int consumer) {
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const int word = 8 * warp + lane / 4;
  const int column = tile.column + columns_of_consumer * consumer + 2 * word;
#pragma unroll
  for (int j = 0; j < tile_m / 8; ++j) {
    const float4 other = shared.received[j][thread];
    const float total[4] = {sum[4 * j] + other.x, sum[4 * j + 1] + other.y,
                            sum[4 * j + 2] + other.z, sum[4 * j + 3] + other.w};
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int row = 8 * j + lane % 4 * 2 + e;
      float ends[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const bool inside = tile.row + row < p.m && column + h < p.n;
        const float bias =
            BIAS && inside ? bias_at<BIAS>(p.bias, tile.row + row, column + h) : 0.0F;
        ends[h] = epilogue<ACTIVATION>(total[e + 2 * h], p.alpha, 0.0F, 0.0F, bias);
      }
      *reinterpret_cast<unsigned*>(shared.c[row] + 4 * word) = pair_of(ends[0], ends[1]);
    }
  }
}

// Rows of C from shared memory, a row by a warp, in words that are aligned in C: where rows begin
// at an odd element each is made of two neighbours' halves. A short loop: its instructions are
// fetched once for all of a block, from afar.
__device__ inline void store_rows(const Shared& shared, const Arguments& p, const BlockTile& tile,
                                  int first_column) {
  constexpr int warps = 4 * consumers;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int columns = min(p.n - first_column, columns_of_consumer);
  const int rows = min(p.m - tile.row, tile_m);
  const long long step = warps * p.c_leading;
  C_TYPE* to = static_cast<C_TYPE*>(p.c) + tile.batch * p.c_stride + first_column +
               (tile.row + warp) * p.c_leading;
#pragma unroll 2
  for (int row = warp; row < rows; row += warps, to += step) {
    const unsigned own = *reinterpret_cast<const unsigned*>(shared.c[row] + 4 * lane);
    const unsigned next = __shfl_down_sync(~0U, own, 1);
    const int odd = static_cast<int>(reinterpret_cast<unsigned long long>(to) / sizeof(C_TYPE) % 2);
    const unsigned word = __funnelshift_r(own, next, 16 * odd);
    const int at = 2 * lane + odd;
    if (at + 2 <= columns) {
      *reinterpret_cast<unsigned*>(to + at) = word;
    } else if (at < columns) {
      *reinterpret_cast<unsigned short*>(to + at) = static_cast<unsigned short>(word);
    }
    if (odd && lane == 0 && columns > 0) {
      *reinterpret_cast<unsigned short*>(to) = static_cast<unsigned short>(own);
    }
  }
}

extern "C" __global__ void __launch_bounds__(128 * consumers + 32 * producers, 1)
    gemm(const __grid_constant__ Maps maps, const __grid_constant__ Arguments p) {
  extern __shared__ unsigned char raw[];
  // Swizzled tiles begin at multiples of 1,024 bytes of shared memory.
  const unsigned misaligned = shared_address(raw) % 1024;
  Shared& shared = *reinterpret_cast<Shared*>(raw + (misaligned ? 1024 - misaligned : 0));
  const int warp = threadIdx.x / 32, consumer = threadIdx.x / 128, rank = cluster_rank();
  const bool produces = warp >= 4 * consumers;
  if (threadIdx.x == 128 * consumers) {
    prefetch(maps.b[0]);
    prefetch(maps.edge[0]);
    prefetch(maps.a);
    for (int s = 0; s < STAGES; ++s) {
      initialise(shared.full[s], 1);
      initialise(shared.empty[s], 4 * consumers);
    }
    initialise(shared.is_received, 1);
    publish_barriers();
    arrive_expecting(shared.is_received, sizeof(shared.received));
  }
  __syncwarp();
  synchronise_cluster();
  if (produces) {
    if (threadIdx.x % 32 == 0) produce(shared, maps, p, warp - 4 * consumers);
    return;
  }
  const BlockTile tile = tile_of_block(p);
  Sums sum;
  multiply(sum, shared, p, tile, consumer);
  if (consumer == rank) {
    wait(shared.is_received, 0);
    finish(sum, shared, p, tile, consumer);
  } else {
#pragma unroll
    for (int i = 0; i < pieces_sent; ++i) {
      const float values[4] = {sum[4 * i], sum[4 * i + 1], sum[4 * i + 2], sum[4 * i + 3]};
      send(shared.received[i][threadIdx.x % 128], values, shared.is_received, rank ^ 1);
    }
  }
  asm volatile("bar.sync 3, 256;" ::: "memory");
  store_rows(shared, p, tile, tile.column + columns_of_consumer * rank);
}

// Tensor-core tiles fed by the copy engine: persistent blocks of one producer and CONSUMERS
// warpgroups that multiply, for 16-bit operands and tf32.
//
// Idea:    one thread of the producer keeps STAGES pairs of tiles of A and B on their way to shared
//          memory; consumer warpgroups multiply them there (wgmma) and give the stage back. Blocks
//          stay on their SM and take tile after tile, so the next tile's copies are under way while
//          this one's results are written. In a cluster of two, blocks with the same columns of C
//          load half of B's tile each, for both.
// Changes: no thread that multiplies computes an address, and the tensor cores wait only between
//          tiles. C leaves through shared memory in boxes, not in strips of 8 bytes.
// Counter: the share of cycles in which the tensor cores work (sm__inst_executed_pipe_tensor).
//
// The copy engine starts at multiples of 16 bytes. Where rows of A have another pitch, every
// A_CLASSES-th row forms a matrix whose pitch is such a multiple, and a tile is made of rows of one
// class. Its map begins up to 15 bytes early, so A's tiles hold `shift` elements of the row before
// theirs, in the first columns: they are set to zero, and B, whose k may begin anywhere, is read
// `shift` rows earlier, where it reads as zeros.
//
// Constants: TILE_M, TILE_N, STAGES, CONSUMERS, IN_TURN, CLUSTER (1 or 2), OPERAND, STEP, A_MN_MAJOR,
// B_MN_MAJOR, A_CLASSES (1, 2, 4, 8), C_STORE (a StoreKind), C_TYPE, BIAS, READS_C, ACTIVATION,
// GROUP_ROWS.
// Launch: 128 * (CONSUMERS + 1) threads, a multiple of CLUSTER blocks, sizeof(Shared) + 1,024 bytes.
#include "bulk_copy.cuh"
#include "element.cuh"
#include "epilogue.cuh"
#include "tile_order.cuh"
#include "wgmma.cuh"

constexpr int row_bytes = 128;                   // of a tile in shared memory
constexpr int element_bytes = STEP == 16 ? 2 : 4;
constexpr int tile_k = row_bytes / element_bytes;
constexpr int steps = tile_k / STEP;
constexpr int a_bytes = TILE_M * row_bytes, b_bytes = TILE_N * row_bytes;
constexpr int chunk_bytes = 64 * row_bytes;      // of MN-major tiles: 64 elements by 64 of k
// Consumers share a tile, or take tiles in turn: one writes its results while the other multiplies.
constexpr int sharers = IN_TURN ? 1 : CONSUMERS;
constexpr int rows_of_consumer = TILE_M / sharers;
constexpr int products_of_consumer = rows_of_consumer / 64;
// How sums become C: one by one from registers; in boxes by the copy engine; in rows by warps, both
// through shared memory; or as they are, one by one, to the memory of a part of k.
enum StoreKind { store_each = 0, store_boxed = 1, store_rows = 2, store_partial = 3 };
constexpr bool through_shared = C_STORE == store_boxed || C_STORE == store_rows;
constexpr int c_columns = row_bytes / sizeof(C_TYPE);  // of a box of C
constexpr int c_box_bytes = 64 * row_bytes;
constexpr int registers_of_producer = CONSUMERS == 1 ? 56 : CONSUMERS == 2 ? 40 : 32;
constexpr int registers_of_consumer = CONSUMERS == 1 ? 240 : CONSUMERS == 2 ? 232 : 160;
static_assert(TILE_M == 64 * products_of_consumer * sharers, "a wgmma has 64 rows");
static_assert(A_CLASSES == 1 || (!A_MN_MAJOR && B_MN_MAJOR), "k of B may begin anywhere");
static_assert(!IN_TURN || CONSUMERS == 2, "two take turns");
static_assert(STEP == 16 || (!A_MN_MAJOR && !B_MN_MAJOR), "tf32 tiles are K-major");

struct Shared {
  alignas(1024) unsigned char a[STAGES][a_bytes];
  alignas(1024) unsigned char b[STAGES][b_bytes];
  // What a consumer stores at once, twice: one is filled while the other is read.
  alignas(1024) unsigned char c[CONSUMERS][2][through_shared ? c_box_bytes : 16];
  Barrier full[STAGES], empty[STAGES];
};

struct Maps {
  TensorMap a[A_CLASSES], b, c[A_CLASSES];
};

struct Arguments {
  int m, n, k, batch;
  int tiles_m, tiles_n, splits, k_tiles, k_tiles_of_split, units;
  int shift[8];  // of each class
  float alpha, beta;
  long long c_leading, c_stride;
  void* c;
  const float* bias;
  float* partial;  // batch x splits x m x partial_pitch
  long long partial_pitch;
};

__device__ inline unsigned cluster_rank() {
  unsigned rank = 0;
#if CLUSTER > 1
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}
__device__ inline void synchronise_cluster() {
#if CLUSTER > 1
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
#else
  __syncthreads();
#endif
}

// A unit of this block: `row` counts rows of the class.
struct BlockUnit {
  int row, column, row_class, split, batch;
  int first, last;  // tiles of k
};

// The blocks of a cluster have tiles one below the other, so that they share columns of B.
__device__ inline BlockUnit unit_of_block(const Arguments& p, int number) {
  const WorkUnit unit = work_unit(number, p.tiles_m / CLUSTER, p.tiles_n, p.splits, GROUP_ROWS);
  const int first = unit.split * p.k_tiles_of_split;
  return {(unit.tile_m / A_CLASSES * CLUSTER + static_cast<int>(cluster_rank())) * TILE_M,
          unit.tile_n * TILE_N,
          unit.tile_m % A_CLASSES,
          unit.split,
          unit.batch,
          first,
          min(p.k_tiles, first + p.k_tiles_of_split)};
}

__device__ inline void load_a(unsigned char* to, const TensorMap& map, Barrier& full, int row,
                              int k, int batch) {
  if (A_MN_MAJOR) {
#pragma unroll
    for (int c = 0; c < TILE_M / 64; ++c) {
      load_box(to + c * chunk_bytes, map, full, row + 64 * c, k, batch);
    }
  } else {
    load_box(to, map, full, k, row, batch);
  }
}

// B's tile, or this block's share of it for all blocks of the cluster.
__device__ inline void load_b(unsigned char* to, const TensorMap& map, Barrier& full, int column,
                              int k, int batch) {
  constexpr int share = TILE_N / CLUSTER;
  constexpr int box_columns = B_MN_MAJOR ? 64 : share;
  static_assert(share % box_columns == 0, "each block loads whole boxes");
  const int first = static_cast<int>(cluster_rank()) * share;
#pragma unroll
  for (int c = first; c < first + share; c += box_columns) {
    unsigned char* const at = to + c * row_bytes;
    const int x = B_MN_MAJOR ? column + c : k, y = B_MN_MAJOR ? k : column + c;
    if (CLUSTER > 1) {
      load_box_to_all(at, map, full, x, y, batch, (1 << CLUSTER) - 1);
    } else {
      load_box(at, map, full, x, y, batch);
    }
  }
}

__device__ inline void produce(Shared& shared, const Maps& maps, const Arguments& p) {
  RingPosition<STAGES> stage;
  for (int u = blockIdx.x / CLUSTER; u < p.units; u += gridDim.x / CLUSTER) {
    const BlockUnit unit = unit_of_block(p, u);
    for (int kt = unit.first; kt < unit.last; ++kt, stage.advance()) {
      wait(shared.empty[stage.index], stage.parity ^ 1);
      Barrier& full = shared.full[stage.index];
      arrive_expecting(full, a_bytes + b_bytes);
      load_a(shared.a[stage.index], maps.a[unit.row_class], full, unit.row, kt * tile_k, unit.batch);
      load_b(shared.b[stage.index], maps.b, full, unit.column,
             kt * tile_k - p.shift[unit.row_class], unit.batch);
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

using Sums = float[products_of_consumer][TILE_N / 2];

__device__ inline void synchronise_consumer(int consumer) {
  asm volatile("bar.sync %0, 128;" ::"r"(1 + consumer) : "memory");
}

// Consumers that take tiles in turn multiply in turn too. Beside keeping the tensor cores to one of
// them, this lets each wait for stages by parity: when its turn comes, the other has seen all its
// stages filled, so the next filling of a stage is the one that is waited for.
__device__ inline void await_turn(int consumer) {
  asm volatile("bar.sync %0, 256;" ::"r"(4 + consumer) : "memory");
}
__device__ inline void pass_turn(int consumer) {
  asm volatile("bar.arrive %0, 256;" ::"r"(5 - consumer) : "memory");
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
__device__ inline void multiply(Sums& sum, Shared& shared, RingPosition<STAGES>& stage, int first_row, int consumer, const BlockUnit& unit, int shift) {
  const auto a_tile = [&](int s, int i) {
    const int row = first_row + 64 * i;
    const unsigned char* at = shared.a[s] + row * row_bytes;  // a chunk of 64 is as large
    return A_MN_MAJOR ? mn_major_tile(at, chunk_bytes) : k_major_tile(at);
  };
  int previous = -1;
  for (int kt = unit.first; kt < unit.last; ++kt, stage.advance()) {
    wait(shared.full[stage.index], stage.parity);
    if (A_CLASSES > 1 && kt == 0 && shift > 0) {
      clear_columns(shared.a[stage.index], shift, first_row, consumer);
    }
    const unsigned long long b = B_MN_MAJOR ? mn_major_tile(shared.b[stage.index], chunk_bytes)
                                            : k_major_tile(shared.b[stage.index]);
#pragma unroll
    for (int i = 0; i < products_of_consumer; ++i) pin(sum[i]);
    begin_products();
#pragma unroll
    for (int step = 0; step < steps; ++step) {
#pragma unroll
      for (int i = 0; i < products_of_consumer; ++i) {
        Products<TILE_N>::add<A_MN_MAJOR, B_MN_MAJOR>(
            sum[i], further(a_tile(stage.index, i), step * (A_MN_MAJOR ? 16 * row_bytes : 32)),
            further(b, step * (B_MN_MAJOR ? 16 * row_bytes : 32)),
            kt > unit.first || step > 0);
      }
    }
    commit_products();
#pragma unroll
    for (int i = 0; i < products_of_consumer; ++i) pin(sum[i]);
    wait_for_products<1>();
    if (previous >= 0) give_back(shared.empty[previous]);
    previous = stage.index;
  }
  if (IN_TURN) pass_turn(consumer);
  wait_for_products<0>();
#pragma unroll
  for (int i = 0; i < products_of_consumer; ++i) pin(sum[i]);
  give_back(shared.empty[previous]);
}

// The row of C that is row `row` of the class.
__device__ inline int row_of_c(const BlockUnit& unit, int row) {
  return row * A_CLASSES + unit.row_class;
}

// Sums straight to memory, from each thread's registers.
__device__ inline void store_elements(const float (&sum)[TILE_N / 2], const Arguments& p,
                                      const BlockUnit& unit, int first_row) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = row_of_c(unit, unit.row + first_row + 16 * warp + lane / 4 + 8 * h);
    if (row >= p.m) continue;
    const long long plane = static_cast<long long>(unit.batch) * p.splits + unit.split;
    float* const partial = p.partial + (plane * p.m + row) * p.partial_pitch;
    C_TYPE* const c =
        static_cast<C_TYPE*>(p.c) + unit.batch * p.c_stride + row * p.c_leading;
#pragma unroll
    for (int j = 0; j < TILE_N / 8; ++j) {
      const int column = unit.column + 8 * j + lane % 4 * 2;
      if (C_STORE == store_partial) {
        // The pitch is even: a pair at the end may write into the gap.
        if (column < p.n) {
          *reinterpret_cast<float2*>(partial + column) =
              make_float2(sum[4 * j + 2 * h], sum[4 * j + 2 * h + 1]);
        }
        continue;
      }
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (column + e >= p.n) continue;
        store_with_epilogue<READS_C, ACTIVATION>(c + column + e, sum[4 * j + 2 * h + e], p.alpha,
                                                 p.beta, bias_at<BIAS>(p.bias, row, column + e));
      }
    }
  }
}

__device__ inline unsigned pair_of(float low, float high) {
  const C_TYPE a = narrow<C_TYPE>(low), b = narrow<C_TYPE>(high);
  return *reinterpret_cast<const unsigned short*>(&a) |
         static_cast<unsigned>(*reinterpret_cast<const unsigned short*>(&b)) << 16;
}

// Four 8 x 8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
__device__ inline void store_matrices(unsigned char* row, unsigned a, unsigned b, unsigned c,
                                      unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   shared_address(row)),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

// A box of 64 rows from shared memory to C, a row by a warp, in stores of 4 bytes wherever those are
// aligned: elements of 16 bits in pairs that begin at the row's first even address.
__device__ inline void store_rows_of_box(const unsigned char* box, const Arguments& p,
                                         const BlockUnit& unit, int first_row, int first_column) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  const auto element = [&](int row, int at) {
    constexpr int per_chunk = 16 / sizeof(C_TYPE);
    return reinterpret_cast<const C_TYPE*>(box + row * row_bytes +
                                           16 * (at / per_chunk ^ row % 8))[at % per_chunk];
  };
#pragma unroll 4
  for (int r = warp; r < 64; r += 4) {
    const int row = row_of_c(unit, unit.row + first_row + r);
    if (row >= p.m) break;
    const int columns = p.n - first_column;
    C_TYPE* const to = static_cast<C_TYPE*>(p.c) + unit.batch * p.c_stride + row * p.c_leading +
                       first_column;
    if (sizeof(C_TYPE) == 4) {
      if (lane < columns) to[lane] = element(r, lane);
      continue;
    }
    const int odd = reinterpret_cast<unsigned long long>(to) / sizeof(C_TYPE) % 2;
    const int at = 2 * lane + odd;
    if (at + 1 < min(columns, c_columns)) {
      struct alignas(4) Pair {
        C_TYPE low, high;
      };
      *reinterpret_cast<Pair*>(to + at) = {element(r, at), element(r, at + 1)};
    } else if (at < columns && at < c_columns) {
      to[at] = element(r, at);
    }
    if (odd && lane == 0) to[0] = element(r, 0);
  }
}

// 64 rows of sums to C through shared memory, c_columns at a time.
__device__ inline void store_boxes(const float (&sum)[TILE_N / 2], unsigned char (*boxes)[c_box_bytes],
                                   const Maps& maps, const Arguments& p, const BlockUnit& unit,
                                   int first_row, int consumer) {
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const auto finished = [&](float value, int row, int column) {
    const int r = row_of_c(unit, unit.row + first_row + row), c = unit.column + column;
    const bool inside = r < p.m && c < p.n;
    return epilogue<ACTIVATION>(value, p.alpha, 0.0F, 0.0F,
                                BIAS && inside ? bias_at<BIAS>(p.bias, r, c) : 0.0F);
  };
  constexpr int matrices = c_columns / 8;  // 8 columns each
#pragma unroll
  for (int box = 0; box < TILE_N / c_columns; ++box) {
    if (unit.column + box * c_columns >= p.n) break;
    unsigned char* const to = boxes[box % 2];
    // The box is free when the copy engine, or every warp, has read what it held.
    if (C_STORE == store_boxed) {
      if (thread == 0) wait_until_read<1>();
      synchronise_consumer(consumer);
    }
#pragma unroll
    for (int j = 0; j < matrices; j += 2) {
      float v[8];  // two matrices: column pair e, row half h
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int jj = j + i / 4, h = i / 2 % 2, e = i % 2;
        v[i] = finished(sum[4 * (box * matrices + jj) + 2 * h + e], 16 * warp + lane / 4 + 8 * h,
                        box * c_columns + 8 * jj + lane % 4 * 2 + e);
      }
      if (sizeof(C_TYPE) == 2) {
        const int row = 16 * warp + lane % 8 + 8 * (lane / 8 % 2), chunk = j + lane / 16;
        store_matrices(to + row * row_bytes + 16 * (chunk ^ row % 8), pair_of(v[0], v[1]),
                       pair_of(v[2], v[3]), pair_of(v[4], v[5]), pair_of(v[6], v[7]));
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = 16 * warp + lane / 4 + 8 * (i % 2);
          const int chunk = 2 * (j + i / 2) + lane % 4 / 2;
          *reinterpret_cast<float2*>(to + row * row_bytes + 16 * (chunk ^ row % 8) +
                                     lane % 2 * 8) = make_float2(v[2 * i], v[2 * i + 1]);
        }
      }
    }
    if (C_STORE == store_boxed) {
      publish_shared();
      synchronise_consumer(consumer);
      if (thread == 0) {
        store_box(maps.c[unit.row_class], to, unit.column + box * c_columns, unit.row + first_row,
                  unit.batch);
        commit_stores();
      }
    } else {
      // Two boxes in turn: one barrier a box keeps writers of the next from readers of this one.
      synchronise_consumer(consumer);
      store_rows_of_box(to, p, unit, first_row, unit.column + box * c_columns);
    }
  }
}

__device__ inline void consume(Shared& shared, const Maps& maps, const Arguments& p, int consumer) {
    RingPosition<STAGES> stage;
  const int rows_before = IN_TURN ? 0 : consumer * rows_of_consumer;
  int turn = 0;
  if (IN_TURN && consumer == 1) pass_turn(consumer);
  for (int u = blockIdx.x / CLUSTER; u < p.units; u += gridDim.x / CLUSTER) {
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
    if (IN_TURN) await_turn(consumer);
    multiply(sum, shared, stage, rows_before, consumer, unit, p.shift[unit.row_class]);
#pragma unroll
    for (int i = 0; i < products_of_consumer; ++i) {
      const int first_row = rows_before + 64 * i;
      if (row_of_c(unit, unit.row + first_row) >= p.m) break;
      if (through_shared) {
        store_boxes(sum[i], reinterpret_cast<unsigned char(*)[c_box_bytes]>(shared.c[consumer]),
                    maps, p, unit, first_row, consumer);
      } else {
        store_elements(sum[i], p, unit, first_row);
      }
    }
    // The next tile starts with the first box again, whatever this one ended with.
    if (C_STORE == store_rows) synchronise_consumer(consumer);
  }
  if (C_STORE == store_boxed) wait_for_stores();
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
      initialise(shared.empty[s], sharers * CLUSTER);
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
    consume(shared, maps, p, warpgroup - 1);
  }
}

// Products whose C is narrow, a few dozen rows or columns: one operand is long and read once, so
// memory's speed is the limit, for 16-bit operands and tf32.
//
// Idea:    the long operand is the first factor of the tensor cores' products, whichever of A and B
//          it is (C^T = B^T A^T), and the narrow one the second, which may have 16 columns: nothing
//          is multiplied to no use. A block has 64 * GROUPS rows of the long operand over a part of k;
//          the blocks of a cluster have the parts, and send each other their sums through shared
//          memory.
// Changes: every SM has its share of the long operand under way from the first cycle to the last; no
//          second kernel adds the parts of k, and their order is fixed.
// Counter: DRAM throughput.
//
// "Long" and "narrow" name the operands and their extents here: rows of either are indices of C, and
// columns lie along k. An operand is MN-major if its rows lie side by side in memory.
//
// Constants: GROUPS (of 64 long rows a block), NARROW (columns of a product: 16, 32, 64), K_BOXES
// (boxes along k in a stage), STAGES, CLUSTER (parts of k: 1, 2, 4, 8), OPERAND, STEP,
// LONG_MN_MAJOR, NARROW_MN_MAJOR, LONG_IS_B (long rows are columns of C), C_TYPE, BIAS, READS_C,
// ACTIVATION.
// Launch: 160 threads; CLUSTER blocks for 64 * GROUPS long rows in grid x, the batch in grid y;
// sizeof(Shared) + 1,024 bytes.
#include "bulk_copy.cuh"
#include "cluster.cuh"
#include "element.cuh"
#include "epilogue.cuh"
#include "grid_order.cuh"
#include "prefetch.cuh"
#include "wgmma.cuh"

constexpr int row_bytes = 128;  // of a box in shared memory
constexpr int box_k = STEP * 4, stage_k = box_k * K_BOXES;
constexpr int box_bytes = 64 * row_bytes;
constexpr int long_bytes = GROUPS * K_BOXES * box_bytes;
constexpr int narrow_box_bytes = (NARROW_MN_MAJOR ? box_k : NARROW) * row_bytes;
constexpr int narrow_bytes = K_BOXES * narrow_box_bytes;
static_assert(STEP == 16 || !(LONG_MN_MAJOR || NARROW_MN_MAJOR), "tf32 has to lie along k");

// Sums of 64 long rows and 8 narrow ones: four of a thread.
constexpr int lots_of_group = NARROW / 8, lots = GROUPS * lots_of_group;
// Lot l is added and stored by block l % CLUSTER of the cluster.
constexpr int most_lots_of_block = (lots + CLUSTER - 1) / CLUSTER;
__device__ inline int lots_of_block() { return (lots - cluster_rank() + CLUSTER - 1) / CLUSTER; }

struct Shared {
  alignas(1024) unsigned char of_long[STAGES][long_bytes];
  alignas(1024) unsigned char of_narrow[STAGES][narrow_bytes];
  // From each block of the cluster, in the order of the parts of k.
  float4 received[CLUSTER > 1 ? CLUSTER : 1][CLUSTER > 1 ? most_lots_of_block : 1][128];
  Barrier full[STAGES], empty[STAGES], all_received;
};

struct Maps {
  TensorMap of_long, of_narrow;
};

struct Arguments {
  int long_rows, narrow_rows, k_stages;
  float alpha, beta;
  long long c_leading, c_stride;
  void* c;
  const float* bias;
};

// This block's part of k, in stages.
struct Part {
  int first, last;
};
__device__ inline Part part_of_block(const Arguments& p) {
  const long long rank = cluster_rank();
  return {static_cast<int>(p.k_stages * rank / CLUSTER),
          static_cast<int>(p.k_stages * (rank + 1) / CLUSTER)};
}

__device__ inline int first_long_row() { return blockIdx.x / CLUSTER * GROUPS * 64; }

__device__ inline void produce(Shared& shared, const Maps& maps, const Arguments& p) {
  const Part part = part_of_block(p);
  const int row = first_long_row(), batch = blockIdx.y;
  RingPosition<STAGES> stage;
  for (int s = part.first; s < part.last; ++s, stage.advance()) {
    wait(shared.empty[stage.index], stage.parity ^ 1);
    Barrier& full = shared.full[stage.index];
    arrive_expecting(full, long_bytes + narrow_bytes);
    unsigned char* const to = shared.of_long[stage.index];
    unsigned char* const narrow_to = shared.of_narrow[stage.index];
    const int k = s * stage_k;
    // One box has all of the stage's k, or all of its rows, where those lie in rows of the box.
    if (LONG_MN_MAJOR) {
#pragma unroll
      for (int g = 0; g < GROUPS; ++g) {
        load_box(to + g * K_BOXES * box_bytes, maps.of_long, full, row + 64 * g, k, batch);
      }
    } else {
#pragma unroll
      for (int b = 0; b < K_BOXES; ++b) {
        load_box(to + b * GROUPS * box_bytes, maps.of_long, full, k + b * box_k, row, batch);
      }
    }
    if (NARROW_MN_MAJOR) {
      load_box(narrow_to, maps.of_narrow, full, 0, k, batch);
    } else {
#pragma unroll
      for (int b = 0; b < K_BOXES; ++b) {
        load_box(narrow_to + b * narrow_box_bytes, maps.of_narrow, full, k + b * box_k, 0, batch);
      }
    }
  }
  let_next_grid_begin();
}

using Sums = float[GROUPS][NARROW / 2];

__device__ inline void pin(Sums& sum) {
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) pin(sum[g]);
}

__device__ inline unsigned long long long_tile(const unsigned char* stage, int group, int box) {
  if (LONG_MN_MAJOR) {
    return mn_major_tile(stage + (group * K_BOXES + box) * box_bytes, box_bytes);
  }
  return k_major_tile(stage + (box * GROUPS + group) * box_bytes);
}
__device__ inline unsigned long long narrow_tile(const unsigned char* stage, int box) {
  const unsigned char* const at = stage + box * narrow_box_bytes;
  return NARROW_MN_MAJOR ? mn_major_tile(at, narrow_box_bytes) : k_major_tile(at);
}

// The sums over this block's part of k.
__device__ inline void multiply(Sums& sum, Shared& shared, const Arguments& p) {
  const Part part = part_of_block(p);
  RingPosition<STAGES> stage;
  int previous = -1;
  for (int s = part.first; s < part.last; ++s, stage.advance()) {
    wait(shared.full[stage.index], stage.parity);
    pin(sum);
    begin_products();
#pragma unroll
    for (int box = 0; box < K_BOXES; ++box) {
      const unsigned long long narrow = narrow_tile(shared.of_narrow[stage.index], box);
#pragma unroll
      for (int step = 0; step < 4; ++step) {
#pragma unroll
        for (int g = 0; g < GROUPS; ++g) {
          Products<NARROW>::add<LONG_MN_MAJOR, NARROW_MN_MAJOR>(
              sum[g],
              advanced(long_tile(shared.of_long[stage.index], g, box),
                      step * (LONG_MN_MAJOR ? 16 * row_bytes : 32)),
              advanced(narrow, step * (NARROW_MN_MAJOR ? 16 * row_bytes : 32)), 1);
        }
      }
    }
    commit_products();
    pin(sum);
    wait_for_products<1>();
    if (previous >= 0 && threadIdx.x == 0) arrive(shared.empty[previous]);
    previous = stage.index;
  }
  wait_for_products<0>();
  pin(sum);
}

// Sends four floats to `to` in block `rank` of the cluster, whose barrier counts their bytes.
__device__ inline void send(float4& to, Barrier& barrier, int rank, float a, float b, float c,
                            float d) {
  asm volatile(
      "{\n"
      ".reg .b32 remote, heard;\n"
      "mapa.shared::cluster.u32 remote, %0, %2;\n"
      "mapa.shared::cluster.u32 heard, %1, %2;\n"
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [remote], {%3, %4, %5, %6}, "
      "[heard];\n"
      "}" ::"r"(shared_address(&to)),
      "r"(shared_address(&barrier)), "r"(rank), "f"(a), "f"(b), "f"(c), "f"(d)
      : "memory");
}

// The four sums of this thread in a lot become elements of C.
__device__ inline void store(const Arguments& p, int lot, float4 sums) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int long_row = first_long_row() + lot / lots_of_group * 64 + 16 * warp + lane / 4;
  const int narrow_row = lot % lots_of_group * 8 + lane % 4 * 2;
  const float values[4] = {sums.x, sums.y, sums.z, sums.w};
  C_TYPE* const c = static_cast<C_TYPE*>(p.c) + blockIdx.y * p.c_stride;
  C_TYPE* to[4];
  float before[4] = {};  // read before the first is written: a read behind a write would wait for it
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = long_row + i / 2 * 8, beside = narrow_row + i % 2;
    const bool inside = at < p.long_rows && beside < p.narrow_rows;
    to[i] = inside ? c + (LONG_IS_B ? beside : at) * p.c_leading + (LONG_IS_B ? at : beside)
                   : nullptr;
    if (READS_C && inside) before[i] = widen(*to[i]);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (to[i] == nullptr) continue;
    const int at = long_row + i / 2 * 8, beside = narrow_row + i % 2;
    const float bias =
        bias_at<BIAS>(p.bias, LONG_IS_B ? beside : at, LONG_IS_B ? at : beside);
    *to[i] = narrow<C_TYPE>(
        epilogue<ACTIVATION>(values[i], p.alpha, READS_C ? p.beta : 0.0F, before[i], bias));
  }
}

// Every block of the cluster gets its lots from all of them, and adds them in the order of k.
__device__ inline void add_parts(const Sums& sum, Shared& shared, const Arguments& p) {
  const int rank = cluster_rank();
#pragma unroll
  for (int lot = 0; lot < lots; ++lot) {
    const float(&of_group)[NARROW / 2] = sum[lot / lots_of_group];
    const int j = lot % lots_of_group * 4;
    send(shared.received[rank][lot / CLUSTER][threadIdx.x], shared.all_received, lot % CLUSTER,
         of_group[j], of_group[j + 1], of_group[j + 2], of_group[j + 3]);
  }
  wait(shared.all_received, 0);
#pragma unroll
  for (int i = 0; i < most_lots_of_block; ++i) {
    const int lot = rank + i * CLUSTER;
    if (lot >= lots) break;
    float4 total = shared.received[0][i][threadIdx.x];
#pragma unroll
    for (int part = 1; part < CLUSTER; ++part) {
      const float4 more = shared.received[part][i][threadIdx.x];
      total.x += more.x;
      total.y += more.y;
      total.z += more.z;
      total.w += more.w;
    }
    store(p, lot, total);
  }
}

extern "C" __global__ void __launch_bounds__(160, 1)
    gemm(const __grid_constant__ Maps maps, const __grid_constant__ Arguments p) {
  extern __shared__ unsigned char raw[];
  // Swizzled tiles begin at multiples of 1,024 bytes of shared memory.
  const unsigned misaligned = shared_address(raw) % 1024;
  Shared& shared = *reinterpret_cast<Shared*>(raw + (misaligned ? 1024 - misaligned : 0));
  constexpr int producer = 128;
  if (threadIdx.x == producer) {
    prefetch(maps.of_long);
    prefetch(maps.of_narrow);
    for (int s = 0; s < STAGES; ++s) {
      initialise(shared.full[s], 1);
      initialise(shared.empty[s], 1);
    }
    initialise(shared.all_received, 1);
    publish_barriers();
    if (CLUSTER > 1) {
      constexpr int lot_bytes = sizeof(shared.received[0][0]);
      arrive_expecting(shared.all_received, lots_of_block() * CLUSTER * lot_bytes);
    }
  }
  __syncthreads();
  // Sums are sent when all blocks have their barriers; no block waits for these before that.
  if (CLUSTER > 1) asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  await_previous_grid();
  if (threadIdx.x >= producer) {
    if (threadIdx.x == producer) produce(shared, maps, p);
    __syncwarp();
    if (CLUSTER > 1) asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    return;
  }
  if (READS_C) {
    constexpr int across = LONG_IS_B ? GROUPS * 64 : NARROW, element = sizeof(C_TYPE);
    const int row = LONG_IS_B ? 0 : first_long_row(), column = LONG_IS_B ? first_long_row() : 0;
    prefetch_rows<LONG_IS_B ? NARROW : GROUPS * 64, across * element, 128>(
        static_cast<C_TYPE*>(p.c) + blockIdx.y * p.c_stride + row * p.c_leading + column,
        p.c_leading * element, (LONG_IS_B ? p.narrow_rows : p.long_rows) - row,
        ((LONG_IS_B ? p.long_rows : p.narrow_rows) - column) * element, threadIdx.x);
  }
  Sums sum = {};
  multiply(sum, shared, p);
  if (CLUSTER > 1) {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    add_parts(sum, shared, p);
  } else {
#pragma unroll
    for (int lot = 0; lot < lots; ++lot) {
      const float(&of_group)[NARROW / 2] = sum[lot / lots_of_group];
      const int j = lot % lots_of_group * 4;
      store(p, lot, make_float4(of_group[j], of_group[j + 1], of_group[j + 2], of_group[j + 3]));
    }
  }
}

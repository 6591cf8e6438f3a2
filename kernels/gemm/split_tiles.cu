// float32 products on tensor cores: operands in two float16 parts, three products, sums promoted to
// float32 registers.
//
// Idea:    (ah + al)(bh + bl) = ah bh + (ah bl + al bh) + al bl; the last is below the rounding of
//          float32 and is dropped. Tensor cores cut sums where FP32 units round them, which adds up
//          over a long k: every sum of 16 products ah bh is taken out and added in float32. The
//          mixed products are 2^-11 of the whole, and stay in the tensor cores' sums.
// Changes: the largest and mean error are no more than those of FFMAs one after the other, at 3
//          times their rate and more.
// Counter: sm__pipe_tensor_cycles_active; FADD beside it, 64 a thread for 3 products of
//          64 x 128 x 16.
//
// A and B are `high` and `low` parts (split_operand.cu), K-major or, with A_MN_MAJOR and
// B_MN_MAJOR, with rows of k. Constants: these two, STAGES, C_TYPE, BIAS, READS_C, ACTIVATION,
// GROUP_ROWS, SPLIT (sums go to `partial`), RUNS_IF (run_condition.cuh).
// Launch: 384 threads, at most a block an SM, sizeof(Shared) + 1,024 bytes.
#define OPERAND f16
#define STEP 16
#include "bulk_copy.cuh"
#include "epilogue.cuh"
#include "grid_order.cuh"
#include "run_condition.cuh"
#include "tile_order.cuh"
#include "wgmma.cuh"

constexpr int tile_m = 128, tile_n = 128, tile_k = 64, consumers = 2;
constexpr int row_bytes = 128, chunk_bytes = 64 * row_bytes;
constexpr int a_bytes = tile_m * row_bytes, b_bytes = tile_n * row_bytes;
constexpr int steps = tile_k / STEP;
constexpr float low_scale = 1.0F / 2048.0F;

struct Stage {
  unsigned char a_high[a_bytes], a_low[a_bytes], b_high[b_bytes], b_low[b_bytes];
};

struct Shared {
  alignas(1024) Stage stage[STAGES];
  Barrier full[STAGES], empty[STAGES];
};

struct Maps {
  TensorMap a_high, a_low, b_high, b_low;
};

struct Arguments {
  int m, n, tiles_m, tiles_n, k_tiles, splits, k_tiles_of_split, units;
  float alpha, beta;
  long long c_leading, c_stride;
  void* c;
  const float* bias;
  const int* a_exponents;  // batch x m
    const int* b_exponents;  // batch x n
  float* partial;          // batch x splits x m x partial_pitch, where k is cut
  long long partial_pitch;
  const unsigned* flag;
};

__device__ inline int last_k_tile(const Arguments& p, const WorkUnit& unit) {
  return min(p.k_tiles, (unit.split + 1) * p.k_tiles_of_split);
}

template <bool MN_MAJOR, int ROWS>
__device__ inline void load(unsigned char* to, const TensorMap& map, Barrier& full, int row, int k,
                            int batch) {
  if (MN_MAJOR) {
#pragma unroll
    for (int c = 0; c < ROWS / 64; ++c) {
      load_box(to + c * chunk_bytes, map, full, row + 64 * c, k, batch);
    }
  } else {
    load_box(to, map, full, k, row, batch);
  }
}

__device__ inline void produce(Shared& shared, const Maps& maps, const Arguments& p) {
  RingPosition<STAGES> at;
  for (int u = blockIdx.x; u < p.units; u += gridDim.x) {
        const WorkUnit unit = work_unit(u, p.tiles_m, p.tiles_n, p.splits, GROUP_ROWS);
    const int last = last_k_tile(p, unit);
    const int row = unit.tile_m * tile_m, column = unit.tile_n * tile_n;
    for (int kt = unit.split * p.k_tiles_of_split; kt < last; ++kt, at.advance()) {
      wait(shared.empty[at.index], at.parity ^ 1);
      Barrier& full = shared.full[at.index];
      Stage& stage = shared.stage[at.index];
      arrive_expecting(full, sizeof(Stage));
      const int k = kt * tile_k;
      load<A_MN_MAJOR, tile_m>(stage.a_high, maps.a_high, full, row, k, unit.batch);
      load<B_MN_MAJOR, tile_n>(stage.b_high, maps.b_high, full, column, k, unit.batch);
      load<A_MN_MAJOR, tile_m>(stage.a_low, maps.a_low, full, row, k, unit.batch);
      load<B_MN_MAJOR, tile_n>(stage.b_low, maps.b_low, full, column, k, unit.batch);
    }
  }
}

template <bool MN_MAJOR>
__device__ inline unsigned long long tile_at(const unsigned char* at) {
  return MN_MAJOR ? mn_major_tile(at, chunk_bytes) : k_major_tile(at);
}
constexpr int a_step = A_MN_MAJOR ? STEP * row_bytes : 32;  // bytes from one product to the next
constexpr int b_step = B_MN_MAJOR ? STEP * row_bytes : 32;
constexpr int sums = tile_n / 2;  // of a thread: 64 rows by 128 threads

// One tile of C: `total` is the sum of the products of high parts, `mixed` of the others.
__device__ inline void multiply(float (&total)[sums], float (&mixed)[sums], Shared& shared,
                                RingPosition<STAGES>& at, int consumer, int k_tiles) {
  float part[sums];
#pragma unroll
  for (int i = 0; i < sums; ++i) total[i] = 0.0F;
  int previous = -1;
  for (int kt = 0; kt < k_tiles; ++kt, at.advance()) {
    wait(shared.full[at.index], at.parity);
    const Stage& stage = shared.stage[at.index];
    const int rows = consumer * 64 * row_bytes;
    const auto a_high = tile_at<A_MN_MAJOR>(stage.a_high + rows);
    const auto a_low = tile_at<A_MN_MAJOR>(stage.a_low + rows);
    const auto b_high = tile_at<B_MN_MAJOR>(stage.b_high), b_low = tile_at<B_MN_MAJOR>(stage.b_low);
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      pin(part);
      pin(mixed);
      begin_products();
      Products<tile_n>::add<A_MN_MAJOR, B_MN_MAJOR>(part, advanced(a_high, a_step * step),
                                                    advanced(b_high, b_step * step), 0);
      commit_products();
      Products<tile_n>::add<A_MN_MAJOR, B_MN_MAJOR>(mixed, advanced(a_high, a_step * step),
                                                    advanced(b_low, b_step * step),
                                                    kt > 0 || step > 0);
      Products<tile_n>::add<A_MN_MAJOR, B_MN_MAJOR>(mixed, advanced(a_low, a_step * step),
                                                    advanced(b_high, b_step * step), 1);
      commit_products();
      // The tensor cores continue with the mixed products while the part is added.
      wait_for_products<1>();
      pin(part);
#pragma unroll
      for (int i = 0; i < sums; ++i) total[i] += part[i];
      // All but this step's mixed products are done, so the stage before this one is unused.
      if (step == 0 && previous >= 0 && threadIdx.x % 128 == 0) arrive(shared.empty[previous]);
    }
    previous = at.index;
  }
  wait_for_products<0>();
  pin(mixed);
  if (threadIdx.x % 128 == 0) arrive(shared.empty[previous]);
}

__device__ inline void store(const float (&total)[sums], const float (&mixed)[sums],
                             const Arguments& p, const WorkUnit& unit, int consumer) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  const int* const b_exponents = p.b_exponents + static_cast<long long>(unit.batch) * p.n;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = unit.tile_m * tile_m + consumer * 64 + 16 * warp + lane / 4 + 8 * h;
    if (row >= p.m) continue;
    const int a_exponent = p.a_exponents[static_cast<long long>(unit.batch) * p.m + row];
    C_TYPE* const c = static_cast<C_TYPE*>(p.c) + unit.batch * p.c_stride + row * p.c_leading;
#pragma unroll
    for (int j = 0; j < tile_n / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int column = unit.tile_n * tile_n + 8 * j + lane % 4 * 2 + e;
        if (column >= p.n) continue;
        const int i = 4 * j + 2 * h + e;
                const float sum = scalbnf(fmaf(mixed[i], low_scale, total[i]),
                                  -(a_exponent + b_exponents[column]));
        if (SPLIT) {
          const long long plane = static_cast<long long>(unit.batch) * p.splits + unit.split;
          p.partial[(plane * p.m + row) * p.partial_pitch + column] = sum;
          continue;
        }
        store_with_epilogue<READS_C, ACTIVATION>(c + column, sum, p.alpha, p.beta,
                                                 bias_at<BIAS>(p.bias, row, column));
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(128 * (consumers + 1), 1)
    gemm(const __grid_constant__ Maps maps, const __grid_constant__ Arguments p) {
  extern __shared__ unsigned char raw[];
  if (does_nothing(p.flag)) return;
  // Swizzled tiles begin at multiples of 1,024 bytes of shared memory.
  const unsigned misaligned = shared_address(raw) % 1024;
  Shared& shared = *reinterpret_cast<Shared*>(raw + (misaligned ? 1024 - misaligned : 0));
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) {
      initialise(shared.full[s], 1);
      initialise(shared.empty[s], consumers);
    }
    publish_barriers();
  }
  __syncthreads();
  await_previous_grid();
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) produce(shared, maps, p);
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  RingPosition<STAGES> at;
  for (int u = blockIdx.x; u < p.units; u += gridDim.x) {
    float total[sums], mixed[sums];
        const WorkUnit unit = work_unit(u, p.tiles_m, p.tiles_n, p.splits, GROUP_ROWS);
    multiply(total, mixed, shared, at, warpgroup - 1,
             last_k_tile(p, unit) - unit.split * p.k_tiles_of_split);
    store(total, mixed, p, unit, warpgroup - 1);
  }
}

// fp32 without tensor cores: the copy engine fills the tiles, the warps do nothing but multiply.
//
// Idea:    one thread starts bulk tensor copies of both tiles into a ring of STAGES buffers;
//          barriers that count bytes tell the warps when a buffer is full, and the copier when it
//          is empty. Hardly an address or predicate and no block-wide barrier is left in the
//          loop, which is short enough for the caches of instructions; a thread's products are
//          ordered, and its sums placed, so that few FFMAs wait for their registers.
// Changes: nearly every instruction of the loop is an FFMA, nearly each takes one cycle, and the
//          warps need not keep in step.
// Counter: the share of issued instructions that are FFMA; TFLOP/s.
//
// A: m x k, B: k x n, C: m x n. The copy engine takes rows of whole 16-byte chunks that lie as the
// tiles do; from other rows a warpgroup copies words (ffma_copies.cuh). What lies outside along k
// arrives as zeros.
//
// A_BY_STEPS: A's tiles lie step after step as B's do, which is faster; boxes want a column-major A
// then. Otherwise its tiles lie row after row, boxes want a row-major A, and a thread reads four
// steps of a row at once.
//
// Constants: BM x BN elements of C per block, RM x RN per thread, LANES_DOWN x (32 / LANES_DOWN)
// lanes of a warp; SLICES parts of each buffer's steps that warps of their own add up; STAGES;
// QUADS_AT_ONCE; GROUP; A_BY_STEPS; A_SOURCE, B_SOURCE (ffma_fragments.cuh); SPLIT (sums go to
// `partial`, and alpha is 1); BLOCKS_PER_SM; READS_C, BIAS, ACTIVATION; RUNS_IF.
// Launch: grid (tiles, splits, batch), `threads` threads, bytes as shared_bytes in the host's plan.
#include "epilogue.cuh"
#include "ffma_copies.cuh"
#include "grid_order.cuh"
#include "prefetch.cuh"
#include "run_condition.cuh"

// An activation that takes many instructions is not written out for every element of a thread.
constexpr bool is_long = !SPLIT && ACTIVATION == gelu;
constexpr int rows_at_once = is_long ? 1 : LANES_DOWN;
constexpr bool reads_c = READS_C && !SPLIT;
// Registers of a thread that multiplies, after the copying warpgroup has given up its own. The
// compiler does not hold the copying code to what it keeps: that code is small enough.
constexpr int registers = warps == 4 && BLOCKS_PER_SM == 2   ? 216
                          : warps == 8 && BLOCKS_PER_SM == 1 ? 224
                                                             : 0;
constexpr int registers_to_copy = warps == 4 ? 40 : 56;
constexpr bool passes_registers = registers > 0;

// Registers change hands between warpgroups; ignored where the kernel has another count at entry.
template <int count>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

// A barrier of the warps that multiply.
__device__ inline void synchronise_warps() {
  asm volatile("bar.sync 1, %0;" ::"n"(32 * warps) : "memory");
}

// Registers lie in two banks, even and odd numbers; a bank gives one operand a cycle, and an
// operand that the instruction before had at the same place is kept.
//
// A step's products, row by row to and fro: each has a factor in common with the one before it. The
// other factors are B's columns, in registers of both banks in turn, and each sum is in the bank
// that its column's factor is not in (swapped()).
__device__ inline void multiply(float (&sum)[RM][RN], const RowsOfA& a, const float (&b)[RN],
                                int step) {
#pragma unroll
  for (int i = 0; i < RM; ++i) {
#pragma unroll
    for (int x = 0; x < RN; ++x) {
      const int j = i % 2 ? RN - 1 - x : x;
      asm volatile("fma.rn.f32 %0, %1, %2, %0;"
                   : "+f"(sum[i][j])
                   : "f"(a.value(i, step)), "f"(b[j]));
    }
  }
}

// Four neighbours of a row of sums as they go through shared memory. Words that are stored together
// have registers in a row, from a multiple of four on, all the time: in this order the sums of even
// columns have odd ones, as the factors that are loaded together have even ones.
__device__ inline float4 swapped(const float* sums) {
  return {sums[1], sums[0], sums[3], sums[2]};
}
__device__ constexpr int swapped(int column) { return column ^ 1; }

// The warp's sums to the matrix. `buffer` is shared memory of this warp, LANES_DOWN x WN elements.
struct Output {
  const Arguments& p;
  int row, column;  // of the tile
  int matrix, split;

  __device__ float result(float sum, float before, int at_row, int at_column) const {
    if (SPLIT) return p.alpha * sum;  // a register of its own, outside the order of swapped()
    return epilogue<ACTIVATION>(sum, p.alpha, p.beta, before,
                                bias_at<BIAS>(p.bias, at_row, at_column));
  }

  __device__ float* row_of_c(int at_row) const {
    if (SPLIT) {
      const long long plane = static_cast<long long>(matrix) * gridDim.y + split;
      return p.partial + (plane * p.m + at_row) * p.partial_pitch;
    }
    return p.c + matrix * p.c_stride + at_row * p.c_leading;
  }

  // Whether rows of C take 16 bytes at a time.
  __device__ bool takes_vectors() const {
    const long long leading = SPLIT ? p.partial_pitch : p.c_leading;
    const float* c = SPLIT ? p.partial : p.c + matrix * p.c_stride;
    return !is_long && leading % 4 == 0 && p.n % 4 == 0 &&
           reinterpret_cast<unsigned long long>(c) % 16 == 0;
  }

  // Both stores read what C held in several rows before they write the first element of these: a
  // read behind a write would wait for it.
  __device__ void store(float (&sum)[RM][RN], int my_row, int my_column) const {
    constexpr int lot = 4;  // rows
    const auto row_at = [&](int i) { return row + my_row + RowsOfA::row(i); };
    const auto column_at = [&](int j) { return column + my_column + j * lanes_across; };
#pragma unroll
    for (int first = 0; first < RM; first += lot) {
      float4 before[lot][RN / 4] = {};
#pragma unroll
      for (int i = 0; reads_c && i < lot; ++i) {
        if (row_at(first + i) >= p.m) break;
        const float* const c = row_of_c(row_at(first + i));
#pragma unroll
        for (int j = 0; j < RN; j += 4) {
          if (column_at(j) < p.n) {
            before[i][j / 4] = *reinterpret_cast<const float4*>(c + column_at(j));
          }
        }
      }
#pragma unroll
      for (int i = 0; i < lot; ++i) {
        const int at_row = row_at(first + i);
        if (at_row >= p.m) break;
        float* const c = row_of_c(at_row);
        const float* const of = sum[first + i];
#pragma unroll
        for (int j = 0; j < RN; j += 4) {
          const int at = column_at(j);
          if (at >= p.n) continue;
          const float4& old = before[i][j / 4];
          *reinterpret_cast<float4*>(c + at) = {
              result(of[j], old.x, at_row, at), result(of[j + 1], old.y, at_row, at + 1),
              result(of[j + 2], old.z, at_row, at + 2), result(of[j + 3], old.w, at_row, at + 3)};
        }
      }
    }
  }

  // The same for rows that begin anywhere: through shared memory, so that the lanes of a warp store
  // neighbours.
  __device__ void store_exchanged(float (&sum)[RM][RN], float* buffer, const Place& warp_at,
                                  const Place& lane_at, int lane) const {
    constexpr int across = (WN + 31) / 32;
    const auto column_at = [&](int x) { return column + warp_at.column + 32 * x + lane; };
    const auto is_mine = [&](int x) { return 32 * x + lane < WN && column_at(x) < p.n; };
#pragma unroll
    for (int i = 0; i < RM; ++i) {
      const auto row_at = [&](int r) {
        return row + warp_at.row + (A_BY_STEPS ? r * 4 : r) + RowsOfA::row(i);
      };
      float before[rows_at_once][across] = {};
      const auto read_c = [&](int first) {
#pragma unroll
        for (int r = 0; r < rows_at_once; ++r) {
          if (row_at(first + r) >= p.m) break;
          const float* const c = row_of_c(row_at(first + r));
#pragma unroll
          for (int x = 0; x < across; ++x) {
            if (is_mine(x)) before[r][x] = c[column_at(x)];
          }
        }
      };
      if (reads_c && rows_at_once == LANES_DOWN) read_c(0);
      __syncwarp();
#pragma unroll
      for (int j = 0; j < RN; j += 4) {
        *reinterpret_cast<float4*>(
            &buffer[lane_at.row * WN + lane_at.column * 4 + j * lanes_across]) =
            swapped(&sum[i][j]);
      }
      __syncwarp();
#pragma unroll rows_at_once
      for (int r = 0; r < LANES_DOWN; ++r) {
        const int at_row = row_at(r);
        if (at_row >= p.m) continue;
        if (reads_c && rows_at_once == 1) read_c(r);
        float* const c = row_of_c(at_row);
#pragma unroll
        for (int x = 0; x < across; ++x) {
          if (!is_mine(x)) continue;
          const float sum_there = buffer[r * WN + swapped(32 * x + lane)];
          c[column_at(x)] = result(sum_there, before[r % rows_at_once][x], at_row, column_at(x));
        }
      }
    }
  }
};

extern "C" __global__ void __launch_bounds__(threads, BLOCKS_PER_SM)
    gemm(const __grid_constant__ Maps maps, const __grid_constant__ Arguments p) {
  extern __shared__ __align__(1024) unsigned char memory[];
  if (does_nothing(p.flag)) return;
  Stage* stages = reinterpret_cast<Stage*>(memory);
  Barrier* full = reinterpret_cast<Barrier*>(stages + STAGES);
  Barrier* empty = full + STAGES;

  // Block number -> tile of C: down GROUP rows of tiles, then on to the next column.
  const int tiles_down = (p.m + BM - 1) / BM, tiles_across = (p.n + BN - 1) / BN;
  const int in_group = GROUP * tiles_across;
  const int group_start = blockIdx.x / in_group * GROUP;
  const int group_rows = min(GROUP, tiles_down - group_start);
  const int tile_row = (group_start + blockIdx.x % in_group % group_rows) * BM;
  const int tile_column = blockIdx.x % in_group / group_rows * BN;

  const int first_phase = blockIdx.y * p.phases_of_split;
  const int phases = min(p.phases_of_split, (p.k + BK - 1) / BK - first_phase);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) {
      initialise(full[s], arrivals_of_copiers);
      initialise(empty[s], arrivals_of_readers);
    }
    publish_barriers();
  }
  __syncthreads();
  const Copier copier{stages,   full,        empty,       maps,   p,
                      tile_row, tile_column, first_phase, phases, static_cast<int>(blockIdx.z)};
  if (warp >= warps) {
    if (passes_registers) give_registers<registers_to_copy>();
    const int thread = threadIdx.x - 32 * warps;
    if (thread < copying_threads) {
      await_previous_grid();
      copier.fill_all(thread);
    }
    return;
  }
  if (passes_registers) take_registers<registers>();

  if (reads_c) {
    prefetch_rows<BM, BN * 4, 32 * warps>(
        p.c + blockIdx.z * p.c_stride + tile_row * p.c_leading + tile_column, 4 * p.c_leading,
        p.m - tile_row, 4 * (p.n - tile_column), threadIdx.x);
  }

  const int slice = warp / warps_of_slice, warp_of_slice = warp % warps_of_slice;
  const Place lane_at = place_of_lane(lane);
  const Place warp_at{warp_of_slice / warps_across * WM, warp_of_slice % warps_across * WN};
  const int my_row = warp_at.row + lane_at.row * (A_BY_STEPS ? 4 : 1);
  const int my_column = warp_at.column + lane_at.column * 4;
  const unsigned a_start = RowsOfA::start(stages[0], warp_at.row, lane_at.row, slice * quads);
  const unsigned b_start =
      shared_address(stages[0].b) + slice * quads * bytes_of_b_quad + my_column * 4;

  float sum[RM][RN] = {};
  RowsOfA a;
  float b[2][RN];
  RingPosition<STAGES> at;
  unsigned a_stage = a_start, a_quad = a_start, b_quad = b_start;
  int quad = 0;  // of this buffer
  wait(full[0], 0);
  a.load_first(a_quad);
  load_step_of_b(b[0], b_quad, 0);

#pragma unroll 1
  for (int left = phases * quads; left > 0; left -= QUADS_AT_ONCE) {
    constexpr int steps = 4 * QUADS_AT_ONCE;
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int next = (step + 1) % steps;
      if (next == 0) {
        quad += QUADS_AT_ONCE;
        b_quad += QUADS_AT_ONCE * bytes_of_b_quad;
        if (quad == quads) {
          // On to the next buffer, which has long been full if the copies keep up. The last buffer
          // has no next one: the reads ahead start over in it, and nothing uses them.
          quad = 0;
          if (left > QUADS_AT_ONCE) {
            if (!has_words) __syncwarp();
            if (has_words || lane == 0) arrive(empty[at.index]);
            at.advance();
            a_stage = a_start + at.index * sizeof(Stage);
            wait(full[at.index], at.parity);
          }
          b_quad = b_start + at.index * sizeof(Stage);
        }
        a_quad = RowsOfA::of_quad(a_stage, quad);
      }
      a.load_before(next, RowsOfA::of_quad(a_quad, next / 4));
      load_step_of_b(b[next % 2], b_quad + next / 4 * bytes_of_b_quad, next % 4);
      multiply(sum, a, b[step % 2], step);
#pragma unroll
      for (int i = 0; i < RM; ++i) {
        a.load_after(i, step, RowsOfA::of_quad(a_quad, (step / 4 + 1) % QUADS_AT_ONCE));
      }
    }
  }

  let_next_grid_begin();
  // From here on the buffers are memory like any other: every copy into them has been waited for.
  synchronise_warps();
  if (SLICES > 1) {
    // Thread by thread, so that nothing conflicts; one slice after the other, so that the order of
    // the additions is fixed.
    float4* theirs = reinterpret_cast<float4*>(memory) + threadIdx.x % (32 * warps_of_slice);
    constexpr int stride = 32 * warps_of_slice;
#pragma unroll 1
    for (int from = 1; from < SLICES; ++from) {
      if (slice == from) {
#pragma unroll
        for (int i = 0; i < RM; ++i) {
#pragma unroll
          for (int j = 0; j < RN; j += 4) {
            theirs[(i * RN + j) / 4 * stride] = swapped(&sum[i][j]);
          }
        }
      }
      synchronise_warps();
      if (slice == 0) {
#pragma unroll
        for (int i = 0; i < RM; ++i) {
#pragma unroll
          for (int j = 0; j < RN; j += 4) {
            const float4 part = theirs[(i * RN + j) / 4 * stride];
            sum[i][j] += part.y;
            sum[i][j + 1] += part.x;
            sum[i][j + 2] += part.w;
            sum[i][j + 3] += part.z;
          }
        }
      }
      synchronise_warps();
    }
    if (slice > 0) return;
  }
  const Output output{p, tile_row, tile_column, static_cast<int>(blockIdx.z),
                      static_cast<int>(blockIdx.y)};
  if (output.takes_vectors()) {
    output.store(sum, my_row, my_column);
  } else {
    float* buffer = reinterpret_cast<float*>(memory) + warp * LANES_DOWN * WN;
    output.store_exchanged(sum, buffer, warp_at, lane_at, lane);
  }
}

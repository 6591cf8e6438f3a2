// Products of few steps of k, or of rows that begin anywhere, by FFMAs: many small blocks.
//
// Idea:    where k is short, a product is the time until the first operands arrive and the time
//          until the last sums are stored. A block here has little to begin: no barriers, no
//          descriptors, no copying warps, and an operand is read where it lies, whatever its order
//          and alignment. Several blocks on an SM hide each other's first loads and last stores.
// Changes: against general, copies run STAGES - 1 stages ahead and take no registers, a thread has
//          up to 8 x 8 sums for 16 words that it reads, and a warp stores whole lines of C.
// Counter: the share of issued instructions that are FFMA; L2 throughput.
//
// A: m x k, B: k x n, C: m x n. In shared memory both operands lie step after step of k. An operand
// that lies so in global memory is copied as it is, in words or in chunks of four; one that lies
// along k is turned on its way, word by word. Elements of 16 bits are widened on their way.
//
// Constants: ELEMENT, the type of A and B; OPERAND (element.cuh): float32 elements as_tf32 are cut,
// as tensor cores cut them; C_TYPE; A_BY_COLUMNS, B_BY_COLUMNS: whether an operand is column-major;
// A_QUADS, B_QUADS: whether its rows begin and end at multiples of 16 bytes; RM x RN sums of a
// thread, 4 or 8 each; WARPS_DOWN x WARPS_ACROSS warps, of 4 x 8 lanes, for the tile; SLICES parts of
// each stage's steps that warps of their own multiply; STAGES of DEPTH steps; BLOCKS_PER_SM; C_QUADS:
// whether rows of C begin and end at multiples of 16 bytes; READS_C, BIAS, ACTIVATION
// (epilogue.cuh); SPLIT: whether blocks share k, and write sums of their parts to `partial`, to which
// nothing is added then.
// Launch: 32 * WARPS_DOWN * WARPS_ACROSS * SLICES threads for each tile of C; columns of tiles
// first, then rows, then the batch; parts of k in y; bytes as shared_bytes in the host's plan.
#include "epilogue.cuh"
#include "grid_order.cuh"
#include "prefetch.cuh"
#include "shared_words.cuh"
#include "short_k_panel.cuh"

constexpr int lanes_down = 4, lanes_across = 8;
constexpr int warp_m = lanes_down * RM, warp_n = lanes_across * RN;
constexpr int tile_m = WARPS_DOWN * warp_m, tile_n = WARPS_ACROSS * warp_n;
constexpr int warps_of_slice = WARPS_DOWN * WARPS_ACROSS;
constexpr int threads = 32 * warps_of_slice * SLICES;
constexpr int depth = DEPTH;
constexpr int steps_of_slice = depth / SLICES;
static_assert(RM % 4 == 0 && RN % 4 == 0, "four sums at a time");
static_assert(steps_of_slice % 4 == 0, "slices of whole groups of steps");
// Copies are spread over the products of a stage: all at once they keep each other waiting, and the
// loads behind them. Threads with few sums have few products to spread them over.
constexpr int steps_of_piece = RM * RN == 64 ? 4 : steps_of_slice;

using PanelA = Panel<tile_m, !A_BY_COLUMNS, A_QUADS, threads>;
using PanelB = Panel<tile_n, B_BY_COLUMNS, B_QUADS, threads>;
constexpr bool is_async = PanelA::is_async;
static_assert(is_async || STAGES == 2, "one is written while the other is read");
constexpr int stage_bytes = PanelA::bytes + PanelB::bytes;

// Rows and columns of a thread come in groups of four: the first of a group.
__device__ constexpr int group_row(int i) { return i / 4 * 4 * lanes_down; }
__device__ constexpr int group_column(int j) { return j / 4 * 4 * lanes_across; }

// `count` words of shared memory in groups of four, `apart` words between the groups.
template <int count, int apart>
__device__ inline void read_groups(float (&to)[count], unsigned from) {
#pragma unroll
  for (int i = 0; i < count; i += 4) load_words<4>(&to[i], from + i * apart);
  if (OPERAND == as_tf32) {
#pragma unroll
    for (int i = 0; i < count; ++i) to[i] = __uint_as_float(__float_as_uint(to[i]) & 0xFFFFE000U);
  }
}

extern "C" __global__ __launch_bounds__(threads, BLOCKS_PER_SM) void gemm(
    const ELEMENT* A, const ELEMENT* B, C_TYPE* C, const float* bias, int m, int n, int k,
    long long a_leading, long long b_leading, long long c_leading, long long a_stride,
    long long b_stride, long long c_stride, float alpha, float beta, float* partial,
    long long partial_pitch, int k_of_part) {
  extern __shared__ __align__(16) float memory[];
  const int tiles_across = (n + tile_n - 1) / tile_n, tiles_down = (m + tile_m - 1) / tile_m;
  const int tile = blockIdx.x % (tiles_across * tiles_down);
  const long long matrix = blockIdx.x / (tiles_across * tiles_down);
  const int row = tile / tiles_across * tile_m, column = tile % tiles_across * tile_n;

  if (SPLIT) {
    const int first_k = blockIdx.y * k_of_part;
    A += A_BY_COLUMNS ? first_k * a_leading : first_k;
    B += B_BY_COLUMNS ? first_k : first_k * b_leading;
    C = reinterpret_cast<C_TYPE*>(partial);
    c_leading = partial_pitch;
    c_stride = m * partial_pitch;
    k = min(k - first_k, k_of_part);
  }
  PanelA a_panel(A + matrix * a_stride, a_leading, row, m, shared_address(memory));
  PanelB b_panel(B + matrix * b_stride, b_leading, column, n,
                 shared_address(memory) + PanelA::bytes);
  int copied = 0;  // steps of k
  // Piece `piece` of `pieces` of the copies of a stage.
  const auto copy_piece = [&](int stage, int piece, int pieces) {
    const auto share = [&](int all, int of) { return all * of / pieces; };
    if constexpr (is_async) {
      a_panel.copy(stage * stage_bytes, k - copied, share(PanelA::of_thread, piece),
                   share(PanelA::of_thread, piece + 1));
      b_panel.copy(stage * stage_bytes, k - copied, share(PanelB::of_thread, piece),
                   share(PanelB::of_thread, piece + 1));
    } else if (piece == 0) {
      a_panel.load(k - copied);
      b_panel.load(k - copied);
    }
  };
  const auto close_stage = [&] {
    if (is_async) commit_copies();
    a_panel.advance();
    b_panel.advance();
    copied += depth;
  };
  await_previous_grid();
#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) {
    if (copied < k) copy_piece(stage, 0, 1);
    close_stage();
  }

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int slice = warp / warps_of_slice, warp_of_slice = warp % warps_of_slice;
  const int warp_row = warp_of_slice / WARPS_ACROSS * warp_m;
  const int warp_column = warp_of_slice % WARPS_ACROSS * warp_n;
  const int lane_row = lane / lanes_across, lane_column = lane % lanes_across;
  C += (SPLIT ? matrix * gridDim.y + blockIdx.y : matrix) * c_stride + row * c_leading + column;
  if (READS_C) {
    constexpr int element = sizeof(C_TYPE);
    prefetch_rows<tile_m, element * tile_n, threads>(C, element * c_leading, m - row,
                                                     element * (n - column), threadIdx.x);
  }

  const unsigned a_start = shared_address(memory) +
                           4 * (slice * steps_of_slice * PanelA::pitch + warp_row + 4 * lane_row);
  const unsigned b_start =
      shared_address(memory) + PanelA::bytes +
      4 * (slice * steps_of_slice * PanelB::pitch + warp_column + 4 * lane_column);
  float sum[RM][RN] = {};
  int stage = 0;
#pragma unroll 1
  for (int done = 0; done < k; done += depth) {
    if constexpr (is_async) {
      wait_for_copies<STAGES - 2>();
    } else {
      a_panel.store(stage * stage_bytes);
      b_panel.store(stage * stage_bytes);
    }
    __syncthreads();  // all threads' copies are there, and all have read the stage before
    const int free_stage = stage == 0 ? STAGES - 1 : stage - 1;
    const bool refills = copied < k;
    const unsigned a_at = a_start + stage * stage_bytes, b_at = b_start + stage * stage_bytes;
    float a[2][RM], b[2][RN];
    const auto read_step = [&](int step, int into) {
      read_groups<RM, 4 * lanes_down>(a[into], a_at + 4 * step * PanelA::pitch);
      read_groups<RN, 4 * lanes_across>(b[into], b_at + 4 * step * PanelB::pitch);
    };
    const auto multiply_step = [&](int from) {
#pragma unroll
      for (int i = 0; i < RM; ++i) {
#pragma unroll
        for (int j = 0; j < RN; ++j) sum[i][j] = fmaf(a[from][i], b[from][j], sum[i][j]);
      }
    };
    // The last stage may have fewer steps; those behind its last are zeros.
    const int left = k - done - slice * steps_of_slice;
    if (left >= steps_of_slice) {
      read_step(0, 0);
#pragma unroll
      for (int step = 0; step < steps_of_slice; ++step) {
        if (step + 1 < steps_of_slice) read_step(step + 1, (step + 1) % 2);
        if (refills && step % steps_of_piece == 0) {
          copy_piece(free_stage, step / steps_of_piece, steps_of_slice / steps_of_piece);
        }
        multiply_step(step % 2);
      }
    } else {
      if (refills) copy_piece(free_stage, 0, 1);
      constexpr int group = 4;
#pragma unroll 1
      for (int first = 0; first < left; first += group) {
        read_step(first, 0);
#pragma unroll
        for (int step = 0; step < group; ++step) {
          if (step + 1 < group) read_step(first + step + 1, (step + 1) % 2);
          multiply_step(step % 2);
        }
      }
    }
    close_stage();
    stage = stage == STAGES - 1 ? 0 : stage + 1;
  }

  let_next_grid_begin();
  const int rows_left = m - row - warp_row, columns_left = n - column - warp_column;
  C += warp_row * c_leading + warp_column;
  if (BIAS == bias_of_row) bias += row + warp_row;
  if (BIAS == bias_of_column) bias += column + warp_column;
  const int apart = static_cast<int>(sizeof(C_TYPE)) * static_cast<int>(c_leading);  // bytes
  const auto rows_on = [&](C_TYPE* from, int rows) {
    return reinterpret_cast<C_TYPE*>(reinterpret_cast<char*>(from) +
                                     static_cast<long long>(rows) * apart);
  };
  const auto result = [&](float of, float before, float of_bias) {
    if (SPLIT) return of;
    const float added = READS_C ? multiply_add(beta, before, of_bias) : of_bias;
    return activated<ACTIVATION>(multiply_add(alpha, of, added));
  };
  // An activation that takes many instructions is not written out for every element of a thread.
  constexpr bool is_long = ACTIVATION == gelu;
  if constexpr (C_QUADS && SLICES == 1 && !is_long) {
    const int own_row = 4 * lane_row, own_column = 4 * lane_column;
    C_TYPE* const own = C + own_row * c_leading + own_column;
    float of_column[RN] = {};
    int there[RN / 4];  // rows of C from the lane's first on, of each group of columns
#pragma unroll
    for (int j = 0; j < RN; j += 4) {
      const bool exists = own_column + group_column(j) < columns_left;
      there[j / 4] = exists ? rows_left - own_row : 0;
#pragma unroll
      for (int e = 0; BIAS == bias_of_column && e < 4; ++e) {
        if (exists) of_column[j + e] = bias[own_column + group_column(j) + e];
      }
    }
    // Elements of C are read before the first one of them is written, since a read behind a write
    // waits for it.
    constexpr int lot = 4;
#pragma unroll
    for (int first = 0; first < RM; first += lot) {
      float before[lot][RN] = {}, of_row[lot] = {};
#pragma unroll
      for (int i = 0; i < lot; ++i) {
        const int at_row = group_row(first) + i;
        if (BIAS == bias_of_row && own_row + at_row < rows_left) of_row[i] = bias[own_row + at_row];
#pragma unroll
        for (int j = 0; READS_C && j < RN; j += 4) {
          if (at_row >= there[j / 4]) continue;
          const float4 old =
              *reinterpret_cast<const float4*>(rows_on(own, at_row) + group_column(j));
          before[i][j] = old.x, before[i][j + 1] = old.y;
          before[i][j + 2] = old.z, before[i][j + 3] = old.w;
        }
      }
#pragma unroll
      for (int i = 0; i < lot; ++i) {
        const int at_row = group_row(first) + i;
        const auto at = [&](int j) {
          const float of_bias = BIAS == bias_of_row ? of_row[i] : of_column[j];
          return result(sum[first + i][j], before[i][j], of_bias);
        };
#pragma unroll
        for (int j = 0; j < RN; j += 4) {
          if (at_row >= there[j / 4]) continue;
          // The compiler would store some of them word by word.
          __stwb(reinterpret_cast<float4*>(rows_on(own, at_row) + group_column(j)),
                 float4{at(j), at(j + 1), at(j + 2), at(j + 3)});
        }
      }
    }
  } else {
    // Through shared memory, so that the lanes of a warp store neighbours: a row of each lane at a
    // time, or all of them where slices add up theirs, the first one's sum first.
    constexpr int rows_at_once = SLICES == 1 ? 1 : RM;
    constexpr int rows = rows_at_once * lanes_down, rows_of_slice = rows / SLICES;
    constexpr int across = warp_n / 32;
    float* const mine = memory + warp * rows * warp_n;
    const auto synchronise = [] {
      if constexpr (SLICES == 1) {
        __syncwarp();
      } else {
        __syncthreads();
      }
    };
    // Row r of a warp's as they are exchanged: r's bits in another order.
    const auto row_at = [](int r) {
      const int i = r / lanes_down;
      return group_row(i) + 4 * (r % lanes_down) + i % 4;
    };
    const int own_row = row_at(slice * rows_of_slice);
    C_TYPE* const own = C + own_row * c_leading + lane;
    const float* const of_parts =
        memory + warp_of_slice * rows * warp_n + slice * rows_of_slice * warp_n + lane;
    float of_column[across] = {};
    int there[across];  // rows of C from the lane's first on, of each of its columns
#pragma unroll
    for (int x = 0; x < across; ++x) {
      const bool exists = 32 * x + lane < columns_left;
      there[x] = exists ? rows_left - own_row : 0;
      if (BIAS == bias_of_column && exists) of_column[x] = bias[32 * x + lane];
    }
    __syncthreads();  // all have read the last stage
#pragma unroll
    for (int first = 0; first < RM; first += rows_at_once) {
      synchronise();
#pragma unroll
      for (int i = 0; i < rows_at_once; ++i) {
#pragma unroll
        for (int j = 0; j < RN; j += 4) {
          const float* const of = &sum[first + i][j];
          *reinterpret_cast<float4*>(&mine[(i * lanes_down + lane_row) * warp_n +
                                           4 * lane_column + group_column(j)]) = {of[0], of[1],
                                                                                  of[2], of[3]};
        }
      }
      constexpr int kept = is_long ? 1 : rows_of_slice;
      float before[kept][across] = {}, of_row[kept] = {};
      // Reads the addends of row r into place `to` of those that are kept.
      const auto read_row = [&](int r, int to) {
        const int at_row = row_at(first * lanes_down + r);
        if (BIAS == bias_of_row && own_row + at_row < rows_left) of_row[to] = bias[own_row + at_row];
#pragma unroll
        for (int x = 0; READS_C && x < across; ++x) {
          if (at_row < there[x]) {
            before[to][x] = widen(rows_on(own, at_row)[32 * x]);
          }
        }
      };
#pragma unroll
      for (int r = 0; !is_long && r < rows_of_slice; ++r) read_row(r, r);
      synchronise();
#pragma unroll(is_long ? 1 : rows_of_slice)
      for (int r = 0; r < rows_of_slice; ++r) {
        if (is_long) read_row(r, 0);
        const int at_row = row_at(first * lanes_down + r), from = is_long ? 0 : r;
#pragma unroll
        for (int x = 0; x < across; ++x) {
          const float* const part = of_parts + r * warp_n + 32 * x;
          float of = *part;
#pragma unroll
          for (int s = 1; s < SLICES; ++s) of += part[s * warps_of_slice * rows * warp_n];
          if (at_row < there[x]) {
            rows_on(own, at_row)[32 * x] = narrow<C_TYPE>(
                result(of, before[from][x], BIAS == bias_of_row ? of_row[from] : of_column[x]));
          }
        }
      }
    }
  }
}

// fp32 products of few steps of k, or of rows that begin anywhere: many small blocks.
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
// along k is turned on its way, word by word.
//
// Constants: A_BY_COLUMNS, B_BY_COLUMNS: whether an operand is column-major; A_QUADS, B_QUADS:
// whether its rows begin and end at multiples of 16 bytes; RM x RN sums of a thread, 4 or 8 each;
// WARPS_DOWN x WARPS_ACROSS warps, of 4 x 8 lanes, for the tile; SLICES parts of each stage's steps
// that warps of their own multiply; STAGES of DEPTH steps; BLOCKS_PER_SM; C_QUADS: whether rows of
// C begin and end at multiples of 16 bytes; READS_C, BIAS, ACTIVATION (epilogue.cuh).
// Launch: 32 * WARPS_DOWN * WARPS_ACROSS * SLICES threads for each tile of C; columns of tiles
// first, then rows, then the batch; bytes as shared_bytes in the host's plan.
#include "async_copy.cuh"
#include "epilogue.cuh"
#include "grid_order.cuh"
#include "prefetch.cuh"
#include "shared_words.cuh"

constexpr int lanes_down = 4, lanes_across = 8;
constexpr int warp_m = lanes_down * RM, warp_n = lanes_across * RN;
constexpr int tile_m = WARPS_DOWN * warp_m, tile_n = WARPS_ACROSS * warp_n;
constexpr int warps_of_slice = WARPS_DOWN * WARPS_ACROSS;
constexpr int threads = 32 * warps_of_slice * SLICES;
constexpr int depth = DEPTH;
constexpr int steps_of_slice = depth / SLICES;
static_assert(RM % 4 == 0 && RN % 4 == 0, "four sums at a time");
static_assert(steps_of_slice % 4 == 0, "slices of whole groups of steps");

// Copies `width` elements along m or n of an operand, `depth` steps of k, to shared memory.
// `along_k`: whether k is the index that runs fastest in global memory.
template <int width, bool along_k, bool quads>
struct Panel {
  // Lanes of a warp copy to different banks: eight steps of k beside each other are a pitch of four
  // banks apart.
  static constexpr int steps_beside = 8;
  static constexpr int pitch = along_k ? width + 4 : width;
  static constexpr int at_once = quads && !along_k ? 4 : 1;
  // Copies in a row: along the memory order, or of `steps_beside` steps of every element.
  static constexpr int in_row = along_k ? steps_beside * width : width / at_once;
  static constexpr int copies = width * depth / at_once;
  static constexpr int of_thread = (copies + threads - 1) / threads;
  static constexpr bool has_idle_threads = copies < threads;
  static_assert(has_idle_threads || copies % threads == 0, "threads share copies evenly");
  static_assert(threads % in_row == 0 || in_row % threads == 0, "and rows");
  static constexpr int bytes = 4 * pitch * depth;

  // Where copy i of this thread is in its row of copies, and which row that is.
  __device__ static int place(int i) {
    return threadIdx.x % in_row + (in_row > threads ? i * threads % in_row : 0);
  }
  __device__ static int row(int i) {
    return in_row > threads ? i * threads / in_row : threadIdx.x / in_row + i * (threads / in_row);
  }
  // Its element along m or n, and its step of k.
  __device__ static int element(int i) {
    return along_k ? place(i) / steps_beside : place(i) * at_once;
  }
  __device__ static int step(int i) {
    return along_k ? row(i) * steps_beside + place(i) % steps_beside : row(i);
  }

  const float* from;  // of the next stage
  int leading;        // elements between rows of memory
  int inside;         // elements of the operand along m or n from the tile's first on
  unsigned to;        // of stage 0

  // `start`: the tile's first element along m or n, of `count`.
  __device__ Panel(const float* matrix, long long leading, int start, int count, unsigned to)
      : from(matrix + (along_k ? start * leading : start)),
        leading(static_cast<int>(leading)),
        inside(count - start),
        to(to) {}

  // The next `depth` steps, of which `steps` exist; zeros for the others.
  __device__ void copy(int stage, int stage_bytes, int steps) {
    if (has_idle_threads && threadIdx.x >= copies) return;
    const unsigned stage_at = to + stage * stage_bytes;
    int apart = leading;
    asm volatile("" : "+r"(apart));  // else the compiler keeps each copy's offset
#pragma unroll
    for (int i = 0; i < of_thread; ++i) {
      const int x = element(i), k = step(i);
      const long long rows = along_k ? x : k;
      const float* const at = from + rows * apart + (along_k ? k : x);
      copy_async<4 * at_once>(stage_at + 4 * (k * pitch + x), at, x < inside && k < steps);
    }
    from += along_k ? depth : static_cast<long long>(leading) * depth;
  }
};

using PanelA = Panel<tile_m, !A_BY_COLUMNS, A_QUADS>;
using PanelB = Panel<tile_n, B_BY_COLUMNS, B_QUADS>;
constexpr int stage_bytes = PanelA::bytes + PanelB::bytes;

// Rows and columns of a thread come in groups of four: the first of a group.
__device__ constexpr int group_row(int i) { return i / 4 * 4 * lanes_down; }
__device__ constexpr int group_column(int j) { return j / 4 * 4 * lanes_across; }

// `count` words of shared memory in groups of four, `apart` words between the groups.
template <int count, int apart>
__device__ inline void read_groups(float (&to)[count], unsigned from) {
#pragma unroll
  for (int i = 0; i < count; i += 4) load_words<4>(&to[i], from + i * apart);
}

extern "C" __global__ __launch_bounds__(threads, BLOCKS_PER_SM) void gemm(
    const float* A, const float* B, float* C, const float* bias, int m, int n, int k,
    long long a_leading, long long b_leading, long long c_leading, long long a_stride,
    long long b_stride, long long c_stride, float alpha, float beta) {
  extern __shared__ __align__(16) float memory[];
  const int tiles_across = (n + tile_n - 1) / tile_n, tiles_down = (m + tile_m - 1) / tile_m;
  const int tile = blockIdx.x % (tiles_across * tiles_down);
  const long long matrix = blockIdx.x / (tiles_across * tiles_down);
  const int row = tile / tiles_across * tile_m, column = tile % tiles_across * tile_n;

  PanelA a_panel(A + matrix * a_stride, a_leading, row, m, shared_address(memory));
  PanelB b_panel(B + matrix * b_stride, b_leading, column, n,
                 shared_address(memory) + PanelA::bytes);
  int copied = 0;  // steps of k
  const auto copy_stage = [&](int stage) {
    if (copied < k) {
      a_panel.copy(stage, stage_bytes, k - copied);
      b_panel.copy(stage, stage_bytes, k - copied);
    }
    copied += depth;
    commit_copies();
  };
  await_previous_grid();
#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) copy_stage(stage);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int slice = warp / warps_of_slice, warp_of_slice = warp % warps_of_slice;
  const int warp_row = warp_of_slice / WARPS_ACROSS * warp_m;
  const int warp_column = warp_of_slice % WARPS_ACROSS * warp_n;
  const int lane_row = lane / lanes_across, lane_column = lane % lanes_across;
  C += matrix * c_stride + row * c_leading + column;
  if (READS_C) {
    prefetch_rows<tile_m, 4 * tile_n, threads>(C, 4 * c_leading, m - row, 4 * (n - column),
                                               threadIdx.x);
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
    wait_for_copies<STAGES - 2>();
    __syncthreads();  // all threads' copies are there, and all have read the stage before
    copy_stage(stage == 0 ? STAGES - 1 : stage - 1);
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
        multiply_step(step % 2);
      }
    } else {
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
    stage = stage == STAGES - 1 ? 0 : stage + 1;
  }

  let_next_grid_begin();
  const int rows_left = m - row - warp_row, columns_left = n - column - warp_column;
  C += warp_row * c_leading + warp_column;
  const auto result = [&](float of, float before, int at_row, int at_column) {
    return epilogue<ACTIVATION>(
        of, alpha, beta, before,
        bias_at<BIAS>(bias, row + warp_row + at_row, column + warp_column + at_column));
  };
  // An activation that takes many instructions is not written out for every element of a thread.
  constexpr bool is_long = ACTIVATION == gelu;
  if constexpr (C_QUADS && SLICES == 1 && !is_long) {
    // Elements of C are read before the first one of them is written, since a read behind a write
    // waits for it.
    constexpr int lot = 4;
#pragma unroll
    for (int first = 0; first < RM; first += lot) {
      const int first_row = 4 * lane_row + group_row(first);
      float before[lot][RN] = {};
#pragma unroll
      for (int i = 0; READS_C && i < lot; ++i) {
#pragma unroll
        for (int j = 0; j < RN; j += 4) {
          const int at = 4 * lane_column + group_column(j);
          if (first_row + i >= rows_left || at >= columns_left) continue;
          const float4 old =
              *reinterpret_cast<const float4*>(C + (first_row + i) * c_leading + at);
          before[i][j] = old.x, before[i][j + 1] = old.y;
          before[i][j + 2] = old.z, before[i][j + 3] = old.w;
        }
      }
#pragma unroll
      for (int i = 0; i < lot; ++i) {
        const int at_row = first_row + i;
        const float* const of = sum[first + i];
#pragma unroll
        for (int j = 0; j < RN; j += 4) {
          const int at = 4 * lane_column + group_column(j);
          if (at_row >= rows_left || at >= columns_left) continue;
          const float4 four = {result(of[j], before[i][j], at_row, at),
                               result(of[j + 1], before[i][j + 1], at_row, at + 1),
                               result(of[j + 2], before[i][j + 2], at_row, at + 2),
                               result(of[j + 3], before[i][j + 3], at_row, at + 3)};
          // The compiler would store some of them word by word.
          __stwb(reinterpret_cast<float4*>(C + at_row * c_leading + at), four);
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
    const float* const first_slice = memory + warp_of_slice * rows * warp_n;
    const auto synchronise = [] {
      if constexpr (SLICES == 1) {
        __syncwarp();
      } else {
        __syncthreads();
      }
    };
    __syncthreads();  // all have read the last stage
#pragma unroll
    for (int first = 0; first < RM; first += rows_at_once) {
      // Row r of those that are exchanged.
      const auto row_at = [&](int r) {
        const int i = first + r / lanes_down;
        return group_row(i) + 4 * (r % lanes_down) + i % 4;
      };
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
      float before[rows_of_slice][across] = {};
      const auto read_c = [&](int r) {
        const int at_row = row_at(slice * rows_of_slice + r);
#pragma unroll
        for (int x = 0; x < across; ++x) {
          const int at = 32 * x + lane;
          if (at_row < rows_left && at < columns_left) {
            before[is_long ? 0 : r][x] = C[at_row * c_leading + at];
          }
        }
      };
#pragma unroll
      for (int r = 0; READS_C && !is_long && r < rows_of_slice; ++r) read_c(r);
      synchronise();
#pragma unroll(is_long ? 1 : rows_of_slice)
      for (int r = 0; r < rows_of_slice; ++r) {
        if (READS_C && is_long) read_c(r);
        const int from_row = slice * rows_of_slice + r, at_row = row_at(from_row);
#pragma unroll
        for (int x = 0; x < across; ++x) {
          const int at = 32 * x + lane;
          float of = 0.0F;
#pragma unroll
          for (int part = 0; part < SLICES; ++part) {
            of += first_slice[part * warps_of_slice * rows * warp_n + from_row * warp_n + at];
          }
          if (at_row < rows_left && at < columns_left) {
            C[at_row * c_leading + at] = result(of, before[is_long ? 0 : r][x], at_row, at);
          }
        }
      }
    }
  }
}

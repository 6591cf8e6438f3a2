// fp32 products of few steps of k: many small blocks instead of a pipeline.
//
// Idea:    where k is short, a product is the time until the first operands arrive and the time
//          until the last sums are stored. A block here has little to begin: no barriers, no
//          descriptors, no copying warps. Several blocks on an SM hide each other's loads and
//          stores, and an operand is read where it lies, whatever its order and alignment.
// Changes: against general, a warp stores whole lines of C, shared memory is read 16 bytes at a
//          time without conflicts, and the next steps of k are loaded during the products.
// Counter: L2 throughput; achieved occupancy.
//
// Constants: A_BY_COLUMNS, B_BY_COLUMNS: whether an operand is column-major; A_QUADS, B_QUADS:
// whether its rows begin and end at multiples of 16 bytes, and a tile has as many as threads load;
// ROWS: rows of C of a warp, 4 or 8; ACROSS: columns of C of a lane, 1, 2 or 4; READS_C, BIAS,
// ACTIVATION (epilogue.cuh).
// Launch: 256 threads for each tile of 8 * ROWS x 32 * ACROSS elements of C; columns of tiles first,
// then rows, then the batch.
#include "epilogue.cuh"
#include "prefetch.cuh"

constexpr int warps = 8, threads = 32 * warps;
constexpr int depth = 16;  // steps of k at a time
constexpr int across = ACROSS;  // columns of a lane: lane, lane + 32, ...
constexpr int tile_m = warps * ROWS, tile_n = 32 * across;
static_assert(ROWS % 4 == 0, "rows are read four at a time");

template <bool quads>
struct Loaded {
  using Type = float;
};
template <>
struct Loaded<true> {
  using Type = float4;
};

// Elements of an operand on their way to shared memory: `width` along m or n and `depth` steps of k.
// `along_k`: whether k is the index that runs fastest in memory; `quads`: whether four elements can
// be loaded at once; `reads_quads`: whether they are read so.
template <int width, bool along_k, bool quads, bool reads_quads>
struct Panel {
  static constexpr int at_once = quads ? 4 : 1;
  static constexpr int fast = (along_k ? depth : width) / at_once;  // loads along the memory order
  static constexpr int loads = width * depth / at_once / threads;
  static constexpr int apart = threads / fast;  // of the other index, from one load to the next
  static_assert(loads * at_once * threads == width * depth && apart * fast == threads,
                "threads share loads evenly");

  using Load = typename Loaded<quads>::Type;
  Load held[loads];

  // Where step k of element x lies. Elements of several steps are stored at once where k runs
  // fastest: they are exchanged, so that few share a bank.
  __device__ static int place(int k, int x) {
    if (!along_k) return k * width + x;
    constexpr int banks = 32;
    return k * width + (x ^ (reads_quads ? k / 4 * (4 * banks / depth) : k * (banks / depth)));
  }
  __device__ static int fast_index() { return threadIdx.x % fast * at_once; }
  __device__ static int slow_index(int i) { return threadIdx.x / fast + i * apart; }

  const float* from;
  int row_apart;  // elements from one load to the next
  int inside;     // elements of the operand from `from` on, along m or n

  // `start`: the first element along m or n, of `count`.
  __device__ Panel(const float* matrix, long long leading, int start, int count)
      : row_apart(static_cast<int>(apart * leading)),
        inside(count - start - (along_k ? slow_index(0) : fast_index())) {
    const long long x = start + (along_k ? slow_index(0) : fast_index());
    const int k = along_k ? fast_index() : slow_index(0);
    from = matrix + (along_k ? x * leading + k : k * leading + x);
    asm volatile("" : "+r"(row_apart));  // else the compiler keeps each load's offset
  }

  // The next `depth` steps, of which `steps` exist.
  __device__ void load(int steps) {
    const int left = steps - (along_k ? fast_index() : slow_index(0));
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      const float* const at = from + static_cast<long long>(row_apart) * i;
      const bool exists =
          along_k ? i * apart < inside && left > 0 : inside > 0 && i * apart < left;
      if constexpr (quads) {
        held[i] = exists ? __ldg(reinterpret_cast<const float4*>(at)) : make_float4(0, 0, 0, 0);
      } else {
        held[i] = exists ? __ldg(at) : 0.0F;
      }
    }
    from += along_k ? depth : static_cast<long long>(row_apart) * loads;
  }

  __device__ void store(float* to) const {
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      const int fast = fast_index(), slow = slow_index(i);
      if constexpr (!along_k) {
        *reinterpret_cast<Load*>(&to[place(slow, fast)]) = held[i];
      } else if constexpr (quads) {
        to[place(fast, slow)] = held[i].x;
        to[place(fast + 1, slow)] = held[i].y;
        to[place(fast + 2, slow)] = held[i].z;
        to[place(fast + 3, slow)] = held[i].w;
      } else {
        to[place(fast, slow)] = held[i];
      }
    }
  }
};

extern "C" __global__ __launch_bounds__(threads, ROWS* across > 16 ? 2 : 3) void gemm(
    const float* A, const float* B, float* C, const float* bias, int m, int n, int k,
    long long a_leading, long long b_leading, long long c_leading, long long a_stride,
    long long b_stride, long long c_stride, float alpha, float beta) {
  using PanelA = Panel<tile_m, !A_BY_COLUMNS, A_QUADS, true>;
  using PanelB = Panel<tile_n, B_BY_COLUMNS, B_QUADS, false>;
  __shared__ __align__(16) float a_tile[depth * tile_m];
  __shared__ __align__(16) float b_tile[depth * tile_n];

  const int tiles_across = (n + tile_n - 1) / tile_n, tiles_down = (m + tile_m - 1) / tile_m;
  const int tile = blockIdx.x % (tiles_across * tiles_down);
  const long long matrix = blockIdx.x / (tiles_across * tiles_down);
  const int row = tile / tiles_across * tile_m, column = tile % tiles_across * tile_n;
  A += matrix * a_stride;
  B += matrix * b_stride;
  C += matrix * c_stride;

  const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * ROWS;
  PanelA of_a(A, a_leading, row, m);
  PanelB of_b(B, b_leading, column, n);
  of_a.load(k);
  of_b.load(k);
  const int my_column = column + lane, rows_left = m - row - warp_row;
  C += (row + warp_row) * c_leading + my_column;
  // Elements of C are read before the first one of them is written, since a read behind a write
  // waits for it: all at the begin where registers hold them, else some rows at the end.
  constexpr int lot = ROWS * across <= 8 ? ROWS : 4;
  float before[lot][across] = {};
  const auto read_c = [&](int first) {
#pragma unroll
    for (int i = 0; i < lot; ++i) {
#pragma unroll
      for (int j = 0; j < across; ++j) {
        if (first + i < rows_left && my_column + 32 * j < n) {
          before[i][j] = C[i * c_leading + 32 * j];
        }
      }
    }
  };
  if (READS_C && lot == ROWS) read_c(0);
  if (READS_C && lot < ROWS) {
    prefetch_rows<ROWS, 128 * across, 32>(C - lane, 4 * c_leading, rows_left,
                                          4 * (n - column), lane);
  }
  float sums[ROWS][across] = {};
#pragma unroll 1
  for (int step = 0; step < k; step += depth) {
    of_a.store(a_tile);
    of_b.store(b_tile);
    __syncthreads();
    if (step + depth < k) {
      of_a.load(k - step - depth);
      of_b.load(k - step - depth);
    }
    // Steps behind the last are zeros.
    const int groups = (min(depth, k - step) + 3) / 4;
#pragma unroll 1
    for (int group = 0; group < groups; ++group) {
#pragma unroll
      for (int s = 4 * group; s < 4 * group + 4; ++s) {
        float b[across];
#pragma unroll
        for (int j = 0; j < across; ++j) b[j] = b_tile[PanelB::place(s, lane + 32 * j)];
#pragma unroll
        for (int i = 0; i < ROWS; i += 4) {
          const float4 a =
              *reinterpret_cast<const float4*>(&a_tile[PanelA::place(s, warp_row + i)]);
          const float four[4] = {a.x, a.y, a.z, a.w};
#pragma unroll
          for (int r = 0; r < 4; ++r) {
#pragma unroll
            for (int j = 0; j < across; ++j) sums[i + r][j] = fmaf(four[r], b[j], sums[i + r][j]);
          }
        }
      }
    }
    __syncthreads();  // all have read the tiles
  }

#pragma unroll
  for (int first = 0; first < ROWS; first += lot) {
    if (READS_C && lot < ROWS) read_c(first);
#pragma unroll
    for (int i = 0; i < lot; ++i) {
#pragma unroll
      for (int j = 0; j < across; ++j) {
        const int at = my_column + 32 * j;
        if (first + i >= rows_left || at >= n) continue;
        C[i * c_leading + 32 * j] =
            epilogue<ACTIVATION>(sums[first + i][j], alpha, beta, before[i][j],
                                 bias_at<BIAS>(bias, row + warp_row + first + i, at));
      }
    }
    C += lot * c_leading;
  }
}

// Tensor cores, warp by warp: mma.sync on tiles that cp.async brings in.
//
// Idea:    a warp multiplies 16 x 8 elements of C by 32 bytes of k in one instruction, whose
//          operands lie spread over the registers of its lanes. ldmatrix spreads them so, straight
//          from rows of 16 bytes in shared memory, transposed if k does not run along the rows.
//          STAGES tiles are in flight, copied past the registers; copies that reach beyond an
//          operand fill up with zeros.
// Changes: against matmul/17_warp_tiles, a product of 16 x 8 x 16 takes one instruction instead of
//          64 FFMAs of a warp, and operands of 16 bits are half of the bytes.
// Counter: the tensor pipe's share of cycles; no bank conflicts on ldmatrix.
//
// Tiles lie in shared memory as in global memory, in rows along the order of the operand. So that
// the 8 rows of a small matrix lie in different banks, the 16-byte chunks of a row along k, of
// which there are 4, are exchanged (two rows fill the banks, and every two rows have an order of
// their own), and other rows are padded. Where rows of an operand do not begin at multiples of 16
// bytes, a thread loads the elements of its 16 bytes one by one. Offsets are 64-bit: the matrices
// may have more than 2^31 elements.
//
// Constants: ELEMENT, the type of A and B: bfloat16, float16 or float32; INSTRUCTION: shape and
// types of mma.sync; A_BY_COLUMNS, B_BY_COLUMNS: whether an operand is column-major; C_TYPE,
// READS_C, BIAS, ACTIVATION (epilogue.cuh); BM x BN: the tile of C of a block, WM x WN of a warp;
// STAGES.
// Launch: 32 * (BM / WM) * (BN / WN) threads, one block per tile of C, the matrices of the batch
//         one after the other, in x; STAGES * sizeof(Stage) dynamic bytes.
#include "epilogue.cuh"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

constexpr int threads = 32 * (BM / WM) * (BN / WN);
constexpr int chunk_bytes = 16;  // what one copy moves
constexpr int per_chunk = chunk_bytes / sizeof(ELEMENT);
constexpr int depth = 4 * per_chunk;            // of k in one stage
constexpr int multiply_k = 2 * per_chunk;       // of k in one mma.sync
constexpr int down = WM / 16, across = WN / 8;  // mma.syncs of a warp
constexpr int sums_apart = WN + 8;  // floats between rows of sums: no two of a store's share a bank
static_assert(WM % 16 == 0 && WN == 32, "a lane stores one column");

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// 16 bytes, of which `bytes` are read and the rest is zero.
__device__ inline void copy_chunk(void* to_shared, const void* from_global, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to_shared)),
               "l"(from_global), "r"(bytes)
               : "memory");
}
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int pending>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// Four matrices of 8 rows of 16 bytes; lane l names row l % 8 of matrix l / 8. Register i of a lane
// is its 4 bytes of matrix i: those at (lane / 4, lane % 4), or of 2-byte elements transposed.
template <bool transposed>
__device__ inline void load_matrices(unsigned (&to)[4], const void* row) {
  if (transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row))
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row))
                 : "memory");
  }
}

// sum (16 x 8) += a (16 x multiply_k) * b (multiply_k x 8).
__device__ inline void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b_low,
                                unsigned b_high) {
  asm volatile("mma.sync.aligned." TEXT(INSTRUCTION) " {%0, %1, %2, %3}, {%4, %5, %6, %7},"
               " {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
}

// A tile of an operand: `width` along m or n, `depth` along k. `along_k`: whether k is the index
// that runs fastest in memory, so that a row of the tile is one m or n.
template <int width, bool along_k>
struct Tile {
  static constexpr int rows = along_k ? width : depth;
  static constexpr int chunks = (along_k ? depth : width) / per_chunk;  // of a row
  // Without ldmatrix, which exchanges no 4-byte elements, lanes read 8 elements of 4 rows.
  static constexpr int padding = along_k ? 0 : sizeof(ELEMENT) == 4 ? 32 : 16;
  static constexpr int row_bytes = chunks * chunk_bytes + padding;
  static constexpr int copies = rows * chunks / threads;  // of a thread
  static_assert(rows * chunks % threads == 0, "tiles divide evenly");

  alignas(16) unsigned char bytes[rows * row_bytes];

  __device__ static int offset(int row, int index) {
    return row * row_bytes + (along_k ? index ^ row / 2 % 4 : index) * chunk_bytes;
  }
  __device__ unsigned word(int row, int column) const {
    return *reinterpret_cast<const unsigned*>(bytes + row * row_bytes + 4 * column);
  }

  // The four 8 x 16-byte quarters of 16 elements from `x` along m or n and two chunks from `k`
  // along k, in the order (x, k), (x + 8, k), (x, k'), (x + 8, k'), where k' is the second chunk;
  // with `k_first` in the order (x, k), (x, k'), (x + 8, k), (x + 8, k').
  template <bool k_first>
  __device__ void load(unsigned (&to)[4], int x, int k) const {
    const int lane = threadIdx.x % 32;
    const int quarter = lane / 8;
    const int second_x = k_first ? quarter / 2 : quarter % 2;
    const int second_k = k_first ? quarter % 2 : quarter / 2;
    if (along_k) {
      load_matrices<false>(to,
                           bytes + offset(x + 8 * second_x + lane % 8, k / per_chunk + second_k));
    } else if (sizeof(ELEMENT) == 2) {
      load_matrices<true>(to,
                          bytes + offset(k + 8 * second_k + lane % 8, x / per_chunk + second_x));
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        to[i] = word(k + 4 * (k_first ? i % 2 : i / 2) + lane % 4,
                     x + 8 * (k_first ? i / 2 : i % 2) + lane / 4);
      }
    }
  }
};

// The share of a thread in copying the tiles of an operand, one stage after the other: the same
// chunk of every `rows_apart`-th row.
template <int width, bool along_k>
class Copier {
 public:
  using Tiles = Tile<width, along_k>;
  static constexpr int rows_apart = threads / Tiles::chunks;
  static_assert(threads % Tiles::chunks == 0, "a row of chunks has its own threads");

  // `start`: the tile's first element along m or n, of `count`.
  __device__ Copier(const ELEMENT* matrix, long long leading, long long start, long long count)
      : leading_(leading), aligned_(is_aligned(matrix, leading)) {
    const long long x = start + (along_k ? row() : first());
    from_ = matrix + (along_k ? x * leading + first() : row() * leading + x);
    // The elements of a chunk, or the rows from the first one.
    constexpr long long most = along_k ? width : per_chunk;
    inside_ = static_cast<int>(max(0LL, min(count - x, most)));
  }

  // Starts the copies of the next stage; `left`: of k, from there on.
  __device__ void next(Tiles& to, long long left) {
    const int steps = static_cast<int>(min(left, static_cast<long long>(depth)));
#pragma unroll
    for (int i = 0; i < Tiles::copies; ++i) {
      const int beyond = i * rows_apart;
      int elements = 0;
      if (along_k) {
        if (beyond < inside_) elements = max(0, min(steps - first(), per_chunk));
      } else if (row() + beyond < steps) {
        elements = inside_;
      }
      unsigned char* const chunk = to.bytes + Tiles::offset(row() + beyond, first() / per_chunk);
      const ELEMENT* const from = from_ + beyond * leading_;
      if (aligned_) {
        copy_chunk(chunk, from, elements * static_cast<int>(sizeof(ELEMENT)));
      } else {
        load_chunk(chunk, from, elements);
      }
    }
    from_ += along_k ? depth : depth * leading_;
  }

 private:
  __device__ static int row() {
    return threadIdx.x / Tiles::chunks;
  }
  // The first element of the thread's chunk of a row.
  __device__ static int first() {
    return threadIdx.x % Tiles::chunks * per_chunk;
  }

  // Tiles begin at multiples of a chunk, so it is the rows that matter.
  __device__ static bool is_aligned(const ELEMENT* matrix, long long leading) {
    return reinterpret_cast<unsigned long long>(matrix) % chunk_bytes == 0 &&
           leading % per_chunk == 0;
  }

  __device__ static void load_chunk(unsigned char* to, const ELEMENT* from, int elements) {
    union {
      uint4 whole;
      ELEMENT each[per_chunk];
    } chunk;
    chunk.whole = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int e = 0; e < per_chunk; ++e) {
      if (e < elements) chunk.each[e] = from[e];
    }
    *reinterpret_cast<uint4*>(to) = chunk.whole;
  }

  const ELEMENT* from_;
  long long leading_;
  int inside_;  // along m or n: elements of a chunk, or rows from the thread's first
  bool aligned_;
};

using TileA = Tile<BM, !A_BY_COLUMNS>;
using TileB = Tile<BN, B_BY_COLUMNS>;
struct Stage {
  TileA a;
  TileB b;
};
static_assert(STAGES * sizeof(Stage) >= threads / 32 * 16 * sums_apart * sizeof(float),
              "the sums of 16 rows of each warp find room");

// The block's tile of C. Down the rows first, in groups of 8: blocks that run together then share
// their tiles of A and B in the L2 cache.
struct Place {
  long long row, column, matrix;
};
__device__ inline Place place_of_block(long long m, long long n) {
  constexpr long long group = 8;
  const long long tiles_down = (m + BM - 1) / BM, tiles_across = (n + BN - 1) / BN;
  const long long tile = blockIdx.x % (tiles_down * tiles_across);
  const long long first = tile / (group * tiles_across) * group;
  const long long in_group = tile % (group * tiles_across);
  const long long rows = min(group, tiles_down - first);
  return {(first + in_group % rows) * BM, in_group / rows * BN,
          blockIdx.x / (tiles_down * tiles_across)};
}

extern "C" __global__ __launch_bounds__(threads, 2) void gemm(
    const ELEMENT* A, const ELEMENT* B, C_TYPE* C, const float* bias, long long m, long long n,
    long long k, long long a_leading, long long b_leading, long long c_leading, long long a_stride,
    long long b_stride, long long c_stride, float alpha, float beta) {
  extern __shared__ __align__(16) unsigned char memory[];
  Stage* const stages = reinterpret_cast<Stage*>(memory);

  const Place place = place_of_block(m, n);
  Copier<BM, !A_BY_COLUMNS> copy_a(A + place.matrix * a_stride, a_leading, place.row, m);
  Copier<BN, B_BY_COLUMNS> copy_b(B + place.matrix * b_stride, b_leading, place.column, n);
  // Every step closes a group, even without copies, so that the count of groups gives their age.
  const auto start = [&](Stage& stage) {
    if (k > 0) {  // what is left of it
      copy_a.next(stage.a, k);
      copy_b.next(stage.b, k);
      k -= depth;
    }
    commit_copies();
  };
  const int steps = static_cast<int>((k + depth - 1) / depth);
  for (int s = 0; s < STAGES - 1; ++s) start(stages[s]);

  const int warp = threadIdx.x / 32;
  const int warp_row = warp / (BN / WN) * WM;
  const int warp_column = warp % (BN / WN) * WN;
  float sums[down][across][4] = {};
  int filled = 0, emptied = STAGES - 1;
  for (int step = 0; step < steps; ++step) {
    wait_for_copies<STAGES - 2>();
    __syncthreads();  // all see this stage, and all are done with the one that is filled next
    start(stages[emptied]);
    const Stage& stage = stages[filled];
#pragma unroll
    for (int inner = 0; inner < depth; inner += multiply_k) {
      unsigned a[down][4], b[across / 2][4];
#pragma unroll
      for (int i = 0; i < down; ++i) stage.a.load<false>(a[i], warp_row + 16 * i, inner);
#pragma unroll
      for (int j = 0; j < across / 2; ++j) stage.b.load<true>(b[j], warp_column + 16 * j, inner);
#pragma unroll
      for (int i = 0; i < down; ++i) {
#pragma unroll
        for (int j = 0; j < across; ++j) {
          multiply(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
    emptied = filled;
    filled = filled + 1 < STAGES ? filled + 1 : 0;
  }

  // Register e of a lane is row lane / 4 (+ 8 for the upper two), column 2 * (lane % 4) + e % 2.
  // The sums go through shared memory, so that a warp stores whole rows of its tile.
  __syncthreads();  // all are done with the stages
  float(*const sums_by_row)[sums_apart] =
      reinterpret_cast<float(*)[sums_apart]>(memory) + 16 * warp;
  const int lane = threadIdx.x % 32;
  const long long column = place.column + warp_column + lane;
  C += place.matrix * c_stride;
#pragma unroll
  for (int i = 0; i < down; ++i) {
    __syncwarp();
#pragma unroll
    for (int j = 0; j < across; ++j) {
      float* const first = &sums_by_row[lane / 4][8 * j + lane % 4 * 2];
      *reinterpret_cast<float2*>(first) = make_float2(sums[i][j][0], sums[i][j][1]);
      *reinterpret_cast<float2*>(first + 8 * sums_apart) =
          make_float2(sums[i][j][2], sums[i][j][3]);
    }
    __syncwarp();
#pragma unroll 4
    for (int r = 0; r < 16; ++r) {
      const long long row = place.row + warp_row + 16 * i + r;
      if (row >= m || column >= n) continue;
      store_with_epilogue<READS_C, ACTIVATION>(&C[row * c_leading + column], sums_by_row[r][lane],
                                               alpha, beta, bias_at<BIAS>(bias, row, column));
    }
  }
}

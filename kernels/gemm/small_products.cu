// Many small products: blocks that take whole ones, one after the other.
//
// Idea:    thousands of small products take as long as their operands take through memory. So a
//          block stays on its SM and multiplies every gridDim.x-th product. Copies run STAGES - 1
//          stages ahead, into the next products too: memory is busy while sums are multiplied and
//          stored, and nothing begins anew between two products.
// Changes: against mma_sync and short_k, a block is as small as one product, of one warp even, and
//          as many blocks as an SM holds hide each other's waits.
// Counter: memory throughput; no bank conflicts of shared loads (mma_fragments.cuh says why).
//
// Constants: ELEMENT, the type of A and B, and SUM, that of the sums; BY_FFMA: whether FFMAs multiply
// (small_ffma.cuh) or tensor cores, with the INSTRUCTION of mma_multiply.cuh; A_BY_COLUMNS,
// B_BY_COLUMNS: whether an operand is column-major; A_ROWS_BY, B_ROWS_BY: how its rows lie
// (mma_fragments.cuh); C_TYPE, READS_C, BIAS, ACTIVATION (epilogue.cuh); C_QUADS: whether rows of C
// begin and end at multiples of four elements; BM x BN: the tile of a block, no smaller than C, WM x
// WN of a warp; DEPTH: steps of k in a stage; STAGES; BLOCKS_PER_SM.
// Launch: 32 * (BM / WM) * (BN / WN) threads; as many blocks as the GPU holds, or products if these
//         are fewer; the bytes of STAGES stages and of a Store for each warp.
#include "grid_order.cuh"
#if BY_FFMA
#include "small_ffma.cuh"
#else
#include "small_mma.cuh"
#endif
#include "warp_store.cuh"

using Sum = SUM;
constexpr int threads = 32 * (BM / WM) * (BN / WN);
constexpr bool a_along_k = !A_BY_COLUMNS, b_along_k = B_BY_COLUMNS;
using Stages = Stage<a_along_k, b_along_k, A_ROWS_BY, B_ROWS_BY>;
constexpr int bytes_of_a = Tile<BM, a_along_k>::bytes;
constexpr int stage_bytes = Stages::bytes;
using Store = WarpStore<Sum, WN, !C_QUADS ? 1 : sizeof(C_TYPE) == 8 ? 2 : 4, READS_C>;

// How far the block's next product is from aligned chunks, if this one is `skipped` bytes from them.
__device__ inline unsigned skipped_after(unsigned skipped, long long stride) {
  const auto bytes = static_cast<unsigned>(gridDim.x * stride * sizeof(ELEMENT));
  return (skipped + bytes) % chunk_bytes;
}

extern "C" __global__ __launch_bounds__(threads, BLOCKS_PER_SM) void gemm(
    const ELEMENT* A, const ELEMENT* B, C_TYPE* C, const float* bias, int m, int n, int k,
    long long a_leading, long long b_leading, long long c_leading, long long a_stride,
    long long b_stride, long long c_stride, Sum alpha, Sum beta, int products) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const unsigned first_stage = shared_address(memory);
  const unsigned end = first_stage + STAGES * stage_bytes;
  const auto after = [&](unsigned stage) {
    return stage + stage_bytes == end ? first_stage : stage + stage_bytes;
  };

  // The product and the steps of k that are copied next, to `free_stage`.
  int copied = blockIdx.x, left = k;
  unsigned free_stage = first_stage;
  Copier<BM, a_along_k, A_ROWS_BY, threads> copy_a(A + copied * a_stride, a_leading, 0, m,
                                                   Stages::first_a_end);
  Copier<BN, b_along_k, B_ROWS_BY, threads> copy_b(B + copied * b_stride, b_leading, 0, n,
                                                   Stages::first_b_end);
  // Of the product that is multiplied; the copiers are ahead.
  unsigned skipped_of_a = copy_a.skipped(), skipped_of_b = copy_b.skipped();
  // From the last stage of a product to the first of the block's next.
  const int steps_before = (k - 1) / DEPTH * DEPTH;
  const long long next_a = gridDim.x * a_stride - steps_before * (a_along_k ? 1 : a_leading);
  const long long next_b = gridDim.x * b_stride - steps_before * (b_along_k ? 1 : b_leading);
  const auto begin_copies = [&] {
    if (copied >= products) return;
    copy_a.begin(left);
    copy_b.begin(left);
#pragma unroll
    for (int i = 0; i < copy_a.copies; ++i) copy_a.copy(free_stage, i);
#pragma unroll
    for (int i = 0; i < copy_b.copies; ++i) copy_b.copy(free_stage + bytes_of_a, i);
  };
  // Every stage closes a group, even without copies, so that the count of groups gives their age.
  const auto end_copies = [&] {
    if (copied < products) {
      copy_a.end(free_stage);
      copy_b.end(free_stage + bytes_of_a);
      left -= DEPTH;
      if (left > 0) {
        copy_a.advance();
        copy_b.advance();
      } else {
        copied += static_cast<int>(gridDim.x);
        left = k;
        copy_a.jump(next_a);
        copy_b.jump(next_b);
      }
    }
    commit_copies();
    free_stage = after(free_stage);
  };
  await_previous_grid();
  for (int s = 0; s < STAGES - 1; ++s) {
    begin_copies();
    end_copies();
  }

  const int warp = threadIdx.x / 32;
  const int warp_row = warp / (BN / WN) * WM, warp_column = warp % (BN / WN) * WN;
  Store& store = reinterpret_cast<Store*>(memory + STAGES * stage_bytes)[warp];
  WarpSums<a_along_k, b_along_k> sums(warp_row, warp_column);
  unsigned stage = first_stage;
#pragma unroll 1
  for (int product = blockIdx.x; product < products; product += gridDim.x) {
    sums.clear();
#pragma unroll 1
    for (int step = 0; step < k; step += DEPTH) {
      wait_for_copies<STAGES - 2>();
      copy_a.settle(stage, skipped_of_a);
      copy_b.settle(stage + bytes_of_a, skipped_of_b);
      __syncthreads();  // all see this stage, and all have read the one before
      begin_copies();
      sums.add_stage(stage);
      stage = after(stage);
      if (step + DEPTH >= k) {
        C_TYPE* const c = C + product * c_stride;
#pragma unroll
        for (int lot = 0; lot < WM / 16; ++lot) {
          const int first_row = warp_row + 16 * lot;
          if (first_row >= m || warp_column >= n) continue;
          sums.put(store, lot);
          store.to_c([&](int r) { return first_row + r; }, warp_column, c, c_leading, m, n, bias,
                     alpha, beta);
        }
      }
      end_copies();
    }
    skipped_of_a = skipped_after(skipped_of_a, a_stride);
    skipped_of_b = skipped_after(skipped_of_b, b_stride);
  }
  let_next_grid_begin();
}

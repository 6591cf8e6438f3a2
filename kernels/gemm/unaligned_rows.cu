// 16-bit products on tensor cores whose B has rows that begin at any byte, read where they lie and
// multiplied from registers.
//
// Idea:    C^T = B^T A^T: a wgmma takes B^T from registers, which a thread fills with words that
//          begin anywhere in a row in shared memory. So the copy engine brings rows of B as they
//          lie, and what is left of a shift is part of an address that is computed once.
// Changes: B is neither copied in memory first nor written to shared memory a second time.
// Counter: DRAM throughput, or the share of cycles in which the tensor cores work.
//
// The copy engine's rows are multiples of 16 bytes apart, as every 16th row of B is: 16 maps, one
// for each class of rows k mod 16. It is fast where boxes begin with a sector of 32 bytes, so they
// begin up to 15 elements before the columns that are needed. Products may take k in any order:
// that in which neighbouring lanes read neighbouring rows of one class, shifted alike and in
// different banks. sort_columns.cu brings the columns of A, which may have either order, into that
// order, and its rows to multiples of 16 bytes, while B's first tiles are on their way.
//
// Where rows of B lie along k (B_ALONG_K), classes are those of columns: each warp has two, and k keeps
// its order, so A is copied only if it must be.
//
// A block has TILE_M x 128 of C over half of k; the other block of its cluster has the other half.
// At the end each sends half of the rows to the other, and stores the half that it keeps.
//
// Constants: TILE_M (64 or 128), STAGES, B_IS_ODD and C_IS_ODD (the pitch of rows, in elements),
// B_ALONG_K (B is column-major), TRANSPOSED (C is column-major: the problem is the transposed one),
// OPERAND, C_TYPE, BIAS, READS_C, ACTIVATION, GROUP_ROWS. Launch: 320 threads, clusters of 2 blocks,
// a cluster a tile, sizeof(Shared) + 1,024 bytes.
#define STEP 16
#define CLUSTER 2
#include "grid_order.cuh"
#include "unaligned_store.cuh"
#include "unaligned_tile.cuh"
#include "wgmma.cuh"

// By a warp. Copies are started by an elected thread: 16 cycles each.
__device__ inline void produce_a(Shared& shared, const Maps& maps, const Arguments& p) {
  const BlockTile tile = tile_of_block(p);
  await_previous_grid();  // it sorts or copies A
  RingPosition<STAGES> stage;
#pragma unroll 1
  for (int i = 0; i < tile.count; ++i, stage.advance()) {
    wait(shared.empty[stage.index], stage.parity ^ 1);
    if (is_elected()) {
      Barrier& full = shared.full_a[stage.index];
      arrive_expecting(full, a_bytes);
      load_box(shared.stage[stage.index].a, maps.a, full, (tile.first + i) * tile_k, tile.row,
               tile.batch);
    }
    __syncwarp();
  }
  let_next_grid_begin();
}

__device__ inline void produce_b(Shared& shared, const Maps& maps, const Arguments& p) {
  const BlockTile tile = tile_of_block(p);
  RingPosition<STAGES> stage;
#pragma unroll 1
  for (int i = 0; i < tile.count; ++i, stage.advance()) {
    wait(shared.empty[stage.index], stage.parity ^ 1);
    if (is_elected()) {
      Barrier& full = shared.full_b[stage.index];
      arrive_expecting(full, b_bytes);
#pragma unroll
      for (int c = 0; c < classes; ++c) {
        // A map begins with a chunk of 16 bytes, perhaps the second of its sector.
        const int k = (tile.first + i) * tile_k, early = p.shift[c] & 8;
        load_box(shared.stage[stage.index].b + c * class_bytes, maps.b[c], full,
                 (B_ALONG_K ? k : tile.column) - early, (B_ALONG_K ? tile.column : k) / classes,
                 tile.batch);
      }
    }
    __syncwarp();
  }
}

using Fragments = unsigned[steps][4];  // of one stage
// Where a thread's words lie in B's part of a stage: two neighbouring columns of row lane % 4 of each
// class; with B_ALONG_K two neighbouring steps of row lane / 4 of the warp's two classes.
constexpr int rows_of_thread = B_ALONG_K ? 2 : classes;
using Offsets = unsigned[rows_of_thread];

__device__ inline void find_words(Offsets& offsets, const Arguments& p) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < rows_of_thread; ++i) {
    const int c = B_ALONG_K ? 2 * warp + i : i, row = B_ALONG_K ? lane / 4 : lane % 4;
    const int word = B_ALONG_K ? lane % 4 : 8 * warp + lane / 4;
    offsets[i] = c * class_bytes + row * b_row_bytes + 4 * (word + p.shift[c] / 2);
  }
}

// A word of a row of an odd class, whose rows begin at an odd element where B's pitch is odd: halves
// of a word and of the next.
__device__ inline unsigned word_of_odd(const unsigned* at) {
  return B_IS_ODD ? __funnelshift_r(at[0], at[1], 16) : at[0];
}

__device__ inline void load_fragments(Fragments& fragments, const unsigned char* b,
                                      const Offsets& offsets) {
  const auto row = [&](int i) { return reinterpret_cast<const unsigned*>(b + offsets[i]); };
#pragma unroll
  for (int g = 0; g < tile_k / 8; ++g) {
    unsigned& first = fragments[g / 2][g % 2 * 2];
    unsigned& second = fragments[g / 2][g % 2 * 2 + 1];
    if (B_ALONG_K) {
      // Rows i and 8 + i of a fragment are row i of an even class and of the odd one behind it.
      first = row(0)[4 * g];
      second = word_of_odd(row(1) + 4 * g);
    } else {
      // Element 8 g + 2 t + e of a tile's k is row t of class 2 g + e.
      const unsigned low = row(2 * g)[0], high = word_of_odd(row(2 * g + 1));
      first = __byte_perm(low, high, 0x5410);
      second = __byte_perm(low, high, 0x7632);
    }
  }
}

// Products read their fragments until they are waited for: no register may be taken before.
__device__ inline void pin(Fragments& fragments) {
#pragma unroll
  for (int i = 0; i < steps * 4; ++i) {
    asm volatile("" : "+r"(fragments[i / 4][i % 4])::"memory");
  }
}

__device__ inline void multiply(Sums& sum, Shared& shared, const Arguments& p, int count) {
  Offsets offsets;
  find_words(offsets, p);
#pragma unroll
  for (int i = 0; i < tile_m / 2; ++i) sum[i] = 0.0F;
  if (count == 0) return;
  RingPosition<STAGES> stage;
  int previous = -1;
  const auto fetch = [&](Fragments& fragments) {
    wait(shared.full_b[stage.index], stage.parity);
    load_fragments(fragments, shared.stage[stage.index].b, offsets);
  };
  // Starts the products of a stage, waits for those before, and releases their stage. True if
  // there is another stage, which is the current one then.
  const auto advance = [&](Fragments& fragments, Fragments& before) {
    wait(shared.full_a[stage.index], stage.parity);
    const unsigned long long a = k_major_tile(shared.stage[stage.index].a);
    pin(sum);
    begin_products();
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      Products<tile_m>::template add<false>(sum, fragments[step], advanced(a, step * 32), 1);
    }
    commit_products();
    pin(sum);
    wait_for_products<1>();
    pin(before);
    if (previous >= 0 && threadIdx.x % 32 == 0) arrive(shared.empty[previous]);
    previous = stage.index;
    stage.advance();
    return --count > 0;
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

__device__ inline void consume(Shared& shared, const Arguments& p) {
  const BlockTile tile = tile_of_block(p);
  Sums sum;
  multiply(sum, shared, p, tile.count);
  if (cluster_rank() == 0) {
    exchange_and_store<0>(sum, shared, p, tile);
  } else {
    exchange_and_store<1>(sum, shared, p, tile);
  }
}

extern "C" __global__ void __launch_bounds__(32 * (warps_of_consumers + 2), 1)
    gemm(const __grid_constant__ Maps maps, const __grid_constant__ Arguments p) {
  extern __shared__ unsigned char raw[];
  // Swizzled tiles begin at multiples of 1,024 bytes of shared memory.
  const unsigned misaligned = shared_address(raw) % 1024;
  Shared& shared = *reinterpret_cast<Shared*>(raw + (misaligned ? 1024 - misaligned : 0));
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 32 * warps_of_consumers) {
    for (int s = 0; s < STAGES; ++s) {
      initialise(shared.full_a[s], 1);
      initialise(shared.full_b[s], 1);
      initialise(shared.empty[s], warps_of_consumers);
    }
    for (int i = 0; i < parcels; ++i) {
      initialise(shared.is_received[i], 1);
      arrive_expecting(shared.is_received[i], sizeof(shared.received) / parcels);
    }
    publish_barriers();
  }
  __syncwarp();
  arrive_in_cluster();
  // The warp that has prepared the barriers need not wait for the others.
  if (warp == warps_of_consumers) produce_b(shared, maps, p);
  wait_for_cluster();
  if (warp > warps_of_consumers) {
    produce_a(shared, maps, p);
  } else if (warp < warps_of_consumers) {
    consume(shared, p);
  }
}

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
// OPERAND, C_TYPE, BIAS, READS_C, ACTIVATION, GROUP_ROWS. Launch: 320 threads, clusters of 2 blocks, a cluster a tile,
// sizeof(Shared) + 1,024 bytes.
#define STEP 16
#define CLUSTER 2
#include "bulk_copy.cuh"
#include "cluster.cuh"
#include "epilogue.cuh"
#include "grid_order.cuh"
#include "tile_order.cuh"
#include "wgmma.cuh"

constexpr int tile_m = TILE_M, tile_n = 128, tile_k = 64, steps = tile_k / STEP;
constexpr int consumers = 2, warps_of_consumers = 4 * consumers;
// Rows of B in memory, of which a tile has some: steps of k, or with B_ALONG_K columns.
constexpr int classes = 16, b_rows = B_ALONG_K ? tile_n : tile_k, rows_of_class = b_rows / classes;
constexpr int row_bytes = 128, a_bytes = tile_m * row_bytes;
// Lanes read 32 words in 32 banks: eight of each of four rows, 288 bytes apart, or four of each of
// eight, 176 bytes apart, of which 160 would be enough.
constexpr int box_columns = B_ALONG_K ? tile_k + 24 : tile_n + 16, b_row_bytes = 2 * box_columns;
constexpr int class_bytes = rows_of_class * b_row_bytes, b_bytes = classes * class_bytes;

struct Stage {
  unsigned char a[a_bytes];
  unsigned char b[b_bytes];
};
static_assert(sizeof(Stage) % 1024 == 0, "swizzled tiles begin at multiples of 1,024 bytes");

// Registers of a thread that hold sums: four for eight rows of C, of which it keeps half.
constexpr int groups_kept = tile_m / 16, parcels = 2, groups_of_parcel = groups_kept / parcels;

struct Shared {
  Stage stage[STAGES];
  float4 received[groups_kept][128 * consumers];
  Barrier full_a[STAGES], full_b[STAGES], empty[STAGES];
  Barrier is_received[parcels];  // the other block's sums
};

struct Maps {
  TensorMap a, b[classes];
};

struct Arguments {
  int m, n, tiles_m, tiles_n, k_tiles;
  int shift[classes];  // elements between a sector's begin and a row's, less than 16
  float alpha, beta;
  long long c_leading, c_stride;
  void* c;
  const float* bias;
};

struct BlockTile {
  int row, column, batch;
  int first, count;  // tiles of k; the second block has none where there is one
};

__device__ inline BlockTile tile_of_block(const Arguments& p) {
  const WorkUnit unit = work_unit(blockIdx.x / CLUSTER, p.tiles_m, p.tiles_n, 1, GROUP_ROWS);
  const int half = (p.k_tiles + 1) / 2, first = cluster_rank() * half;
  return {unit.tile_m * tile_m, unit.tile_n * tile_n, unit.batch, first,
          min(p.k_tiles - first, half)};
}

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

using Sums = float[tile_m / 2];
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

// The sums of the other block's half of the rows, to that block.
template <int rank>
__device__ inline void send_sums(const Sums& sum, Shared& shared) {
#pragma unroll
  for (int i = 0; i < groups_kept; ++i) {
    const float* const of = sum + (rank ^ 1) * (tile_m / 4) + 4 * i;
    const float values[4] = {of[0], of[1], of[2], of[3]};
    send(shared.received[i][threadIdx.x], values, shared.is_received[i / groups_of_parcel],
         rank ^ 1);
  }
}

// Where an element of C lies, counted from another so many rows above it and columns before it.
__device__ inline long long offset_in_c(const Arguments& p, int rows, int columns) {
  return TRANSPOSED ? columns * p.c_leading + rows : rows * p.c_leading + columns;
}

// The place of a thread's sums in C: of rows `row` and the next, and of those 8, 16, ... further
// on; of two columns.
struct Place {
  int row, column, columns;  // how many columns there are from `column` on
  C_TYPE* at;
};

__device__ inline Place place_of(const Arguments& p, const BlockTile& tile, int rank) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = tile.row + rank * (tile_m / 2) + lane % 4 * 2;
  const int column = tile.column + 2 * (B_ALONG_K ? warp + 8 * (lane / 4) : 8 * warp + lane / 4);
  return {row, column, p.n - column,
          static_cast<C_TYPE*>(p.c) + tile.batch * p.c_stride + offset_in_c(p, row, column)};
}

__device__ inline float bias_of(const Arguments& p, int row, int column) {
  return BIAS && row < p.m && column < p.n ? bias_at<BIAS>(p.bias, row, column) : 0.0F;
}

// Calls visit(i, where it lies, row, column) for those of rows r and r + 1 of two columns each that
// exist.
template <typename Visit>
__device__ inline void each_element(const Arguments& p, const Place& place, int group,
                                    const Visit& visit) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int e = i % 2, h = i / 2, row = place.row + 8 * group + e;
    if (row < p.m && h < place.columns) {
      visit(i, place.at + offset_in_c(p, 8 * group + e, h), row, place.column + h);
    }
  }
}

// What C holds where a thread will store, read before its first store: a read behind a write waits.
struct Addend {
  C_TYPE of[READS_C ? groups_kept : 1][4];

  __device__ Addend(const Arguments& p, const Place& place) {
#pragma unroll
    for (int group = 0; READS_C && group < groups_kept; ++group) {
      each_element(p, place, group,
                   [&](int i, const C_TYPE* at, int, int) { of[group][i] = *at; });
    }
  }
};

// One element at a time.
__device__ inline void store_each(const Arguments& p, const Place& place, int group,
                                  const float (&total)[4], const Addend& addend) {
  each_element(p, place, group, [&](int i, C_TYPE* at, int row, int column) {
    const float before = READS_C ? static_cast<float>(widen(addend.of[group][i])) : 0.0F;
    *at = narrow<C_TYPE>(epilogue<ACTIVATION>(total[i], p.alpha, READS_C ? p.beta : 0.0F, before,
                                              bias_of(p, row, column)));
  });
}

// Two elements of C may be stored at once.
constexpr bool has_words = !READS_C && sizeof(C_TYPE) == 2;
// Whether the neighbour of a thread's two elements in memory is no neighbouring thread's.
constexpr bool pairs_are_apart = TRANSPOSED || B_ALONG_K;

// Two columns of a row of 16-bit elements, stored at once. Where the row begins at an odd element,
// the word to store has the second of them and the first of the neighbour's, four lanes further on;
// eight neighbours have a row's columns of a warp.
struct WordStore {
  C_TYPE* to;
  int rows;                // from this one on
  bool whole, tail, head;  // stores the word, its first half alone, what is before it
};

template <bool odd>
__device__ inline WordStore word_store(const Arguments& p, const Place& place, bool is_second) {
  const int lane = threadIdx.x % 32, columns = place.columns;
  const bool whole = odd ? lane < 28 && columns > 2 : columns > 1;
  return {place.at + (is_second ? p.c_leading : 0) + odd, p.m - place.row - is_second, whole,
          odd ? !whole && columns > 1 : columns == 1, odd && lane < 4 && columns > 0};
}

__device__ inline void store_half(C_TYPE* to, unsigned bits) {
  *reinterpret_cast<unsigned short*>(to) = static_cast<unsigned short>(bits);
}

template <bool odd>
__device__ inline void store_word(const WordStore& store, C_TYPE* to, int group, unsigned own) {
  const bool is_row = store.rows > 8 * group;
  unsigned word = own;
  if (odd) word = __funnelshift_r(own, __shfl_down_sync(~0U, own, 4), 16);
  if (is_row && store.whole) *reinterpret_cast<unsigned*>(to) = word;
  if (is_row && store.tail) store_half(to, odd ? own >> 16 : own);
  if (odd && is_row && store.head) store_half(to - 1, own);
}

// An element of C, where C is not read.
template <typename Element>
__device__ inline unsigned bits_of(const Arguments& p, int row, int column, float total) {
  const float bias = bias_of(p, row, column);
  return narrow<Element>(epilogue<ACTIVATION>(total, p.alpha, 0.0F, 0.0F, bias)).bits;
}

template <typename Element>
__device__ inline unsigned pair_of(const Arguments& p, const Place& place, int row, float first,
                                   float second) {
  return bits_of<Element>(p, row, place.column, first) |
         bits_of<Element>(p, row, place.column + 1, second) << 16;
}

// The same as words of two neighbours in memory, of a column or of a row, where they are one.
template <typename Element>
__device__ inline void store_pairs(const Arguments& p, const Place& place, int group,
                                   const float (&total)[4]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = place.row + 8 * group + (TRANSPOSED ? 0 : i), h = TRANSPOSED ? i : 0;
    if (row >= p.m || h >= place.columns) continue;
    Element* const to = place.at + offset_in_c(p, row - place.row, h);
    const int column = place.column + h;
    const unsigned first = bits_of<Element>(p, row, column, total[TRANSPOSED ? 2 * i : i]);
    const unsigned second =
        TRANSPOSED ? bits_of<Element>(p, row + 1, column, total[2 * i + 1])
                   : bits_of<Element>(p, row, column + 1, total[2 + i]);
    const bool has_second = TRANSPOSED ? row + 1 < p.m : place.columns > 1;
    if (has_second && reinterpret_cast<unsigned long long>(to) % sizeof(unsigned) == 0) {
      *reinterpret_cast<unsigned*>(to) = first | second << 16;
    } else {
      store_half(to, first);
      if (has_second) store_half(to + 1, second);
    }
  }
}

// Adds what the other block sends to what this one keeps, and stores it: one way to store in a
// loop, since nothing runs beside this.
template <int rank, bool in_words>
__device__ inline void finish(const Sums& sum, Shared& shared, const Arguments& p,
                              const Place& place, const Addend& addend, bool second_is_even) {
  const WordStore even = word_store<false>(p, place, second_is_even);
  const WordStore other_row = word_store<C_IS_ODD>(p, place, !second_is_even);
  C_TYPE *to_even = even.to, *to_other = other_row.to;
  const long long step = 8 * p.c_leading;
#pragma unroll
  for (int i = 0; i < groups_kept; ++i) {
    if (i % groups_of_parcel == 0) wait(shared.is_received[i / groups_of_parcel], 0);
    const float4 other = shared.received[i][threadIdx.x];
    const float* const own = sum + rank * (tile_m / 4) + 4 * i;
    const float total[4] = {own[0] + other.x, own[1] + other.y, own[2] + other.z,
                            own[3] + other.w};
    if constexpr (in_words) {
      const int row = place.row + 8 * i;
      const unsigned first = pair_of<C_TYPE>(p, place, row, total[0], total[2]);
      const unsigned second = pair_of<C_TYPE>(p, place, row + 1, total[1], total[3]);
      store_word<false>(even, to_even, i, second_is_even ? second : first);
      store_word<C_IS_ODD>(other_row, to_other, i, second_is_even ? first : second);
      to_even += step;
      to_other += step;
    } else if constexpr (pairs_are_apart && has_words) {
      store_pairs<C_TYPE>(p, place, i, total);
    } else {
      store_each(p, place, i, total, addend);
    }
  }
}

template <int rank>
__device__ inline void exchange_and_store(const Sums& sum, Shared& shared, const Arguments& p,
                                          const BlockTile& tile) {
  constexpr bool fits_words = has_words && !pairs_are_apart;
  const Place place = place_of(p, tile, rank);
  const Addend addend(p, place);
  send_sums<rank>(sum, shared);
  // Where C's pitch is odd, one of two rows begins at an odd element; else none should.
  const bool begins_odd = reinterpret_cast<unsigned long long>(place.at) / sizeof(C_TYPE) % 2;
  if (fits_words && (C_IS_ODD || !begins_odd)) {
    finish<rank, fits_words>(sum, shared, p, place, addend, C_IS_ODD && begins_odd);
  } else {
    finish<rank, false>(sum, shared, p, place, addend, false);
  }
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

// Records what the copy engine of a GPU does with random tensor maps: tests/data/emulator/
// tensor_copies.txt is its output on an H200. Needs compute capability 9.0:
//
//     nvcc -std=c++17 -arch=sm_90a -o recorder bench/tensor_copy_recorder.cu
//     until ./recorder cases.txt details.bin; do :; done
//
// A copy that the GPU refuses ends the context, so the program then stops with status 1 and goes on
// behind that case when it is started again. A line of cases.txt has the numbers of Case in order,
// then the driver's verdict on the map (0: accepted), the outcome (0: done, else CUDA's error) and
// a hash (FNV-1a) of the bytes that the copy left: shared memory after a load, the tensor after a
// store. details.bin has those bytes themselves, each behind the case's number and their count.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

namespace {

constexpr unsigned kShared = 20480, kTensor = 1 << 16;

enum Operation : int { load, store, reduce };
enum Mode : int { tile, im2col };

struct Case {
  int operation, mode, reduction, rank, type, interleave, swizzle, fill;
  long long dims[5], strides[4];
  int box[5], element_strides[5], lower[3], upper[3], channels, pixels;
  int coordinates[5], offsets[3];
  unsigned shared_offset;
};

// --- the device side
// ------------------------------------------------------------------------------

__host__ __device__ unsigned mixed(unsigned i) {
  unsigned x = i * 0x9e3779b1u + 0x7f4a7c15u;
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  x ^= x >> 16;
  // Among the numbers of 32 bits: subnormal ones, ties of TF32, NaN and infinities.
  if (i % 5 == 0) x &= 0x807fffffu;
  if (i % 11 == 4) x = (x & 0xffffe000u) | 0x1000u;
  if (i % 23 == 7) x |= 0x7f800000u;
  if (i % 41 == 9) x = (x & 0x80000000u) | 0x7f800000u;
  return x;
}

__device__ unsigned shared_address(const void* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

#define COORDINATES_1 "{%2}"
#define COORDINATES_2 "{%2, %3}"
#define COORDINATES_3 "{%2, %3, %4}"
#define COORDINATES_4 "{%2, %3, %4, %5}"
#define COORDINATES_5 "{%2, %3, %4, %5, %6}"
#define OFFSETS_3 "{%8}"
#define OFFSETS_4 "{%8, %9}"
#define OFFSETS_5 "{%8, %9, %10}"
#define OPERANDS                                                                                 \
  ::"r"(at), "l"(map), "r"(c.coordinates[0]), "r"(c.coordinates[1]), "r"(c.coordinates[2]),      \
      "r"(c.coordinates[3]), "r"(c.coordinates[4]), "r"(barrier),                                \
      "h"(static_cast<short>(c.offsets[0])), "h"(static_cast<short>(c.offsets[1])),              \
      "h"(static_cast<short>(c.offsets[2]))                                                      \
      : "memory"

#define LOAD(rank)                                                                               \
  asm volatile("cp.async.bulk.tensor." #rank                                                     \
               "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "               \
               "[%1, " COORDINATES_##rank "], [%7];" OPERANDS)
#define LOAD_IM2COL(rank)                                                                        \
  asm volatile("cp.async.bulk.tensor." #rank                                                     \
               "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], "             \
               "[%1, " COORDINATES_##rank "], [%7], " OFFSETS_##rank ";" OPERANDS)
#define STORE(rank)                                                                              \
  asm volatile("cp.async.bulk.tensor." #rank "d.global.shared::cta.tile.bulk_group "             \
               "[%1, " COORDINATES_##rank "], [%0];" OPERANDS)
#define STORE_IM2COL(rank)                                                                       \
  asm volatile("cp.async.bulk.tensor." #rank "d.global.shared::cta.im2col_no_offs.bulk_group "   \
               "[%1, " COORDINATES_##rank "], [%0];" OPERANDS)
#define REDUCE_AS(rank, name)                                                                    \
  asm volatile("cp.reduce.async.bulk.tensor." #rank "d.global.shared::cta." name                 \
               ".tile.bulk_group [%1, " COORDINATES_##rank "], [%0];" OPERANDS)
#define REDUCE(rank)                                                                             \
  switch (c.reduction) {                                                                         \
    case 0: REDUCE_AS(rank, "add"); break;                                                       \
    case 1: REDUCE_AS(rank, "min"); break;                                                       \
    case 2: REDUCE_AS(rank, "max"); break;                                                       \
    case 3: REDUCE_AS(rank, "inc"); break;                                                       \
    case 4: REDUCE_AS(rank, "dec"); break;                                                       \
    case 5: REDUCE_AS(rank, "and"); break;                                                       \
    case 6: REDUCE_AS(rank, "or"); break;                                                        \
    default: REDUCE_AS(rank, "xor"); break;                                                      \
  }
#define BY_RANK(form)                \
  switch (c.rank) {                  \
    case 1: form(1); break;          \
    case 2: form(2); break;          \
    case 3: form(3); break;          \
    case 4: form(4); break;          \
    default: form(5); break;         \
  }
#define BY_HIGH_RANK(form)           \
  switch (c.rank) {                  \
    case 3: form(3); break;          \
    case 4: form(4); break;          \
    default: form(5); break;         \
  }

__device__ void start(const Case& c, const CUtensorMap* map, unsigned at, unsigned barrier) {
  if (c.operation == load) {
    if (c.mode == tile) {
      BY_RANK(LOAD)
    } else {
      BY_HIGH_RANK(LOAD_IM2COL)
    }
  } else if (c.operation == store) {
    if (c.mode == tile) {
      BY_RANK(STORE)
    } else {
      BY_HIGH_RANK(STORE_IM2COL)
    }
  } else {
    BY_RANK(REDUCE)
  }
}

__global__ void perform(const __grid_constant__ CUtensorMap map, const __grid_constant__ Case c,
                        unsigned bytes, unsigned char* out) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ unsigned long long barrier;
  auto* const words = reinterpret_cast<unsigned*>(memory);
  for (unsigned i = threadIdx.x; i < kShared / 4; i += blockDim.x) {
    words[i] = c.operation == load ? 0xa5a5a5a5u : mixed(i + 12345);
  }
  const unsigned bar = shared_address(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    if (c.operation == load) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
                   : "memory");
    }
    start(c, &map, shared_address(memory) + c.shared_offset, bar);
    if (c.operation == load) {
      unsigned done = 0;
      for (int i = 0; i < 1000 && done == 0; ++i) {
        asm volatile(
            "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
            "selp.u32 %0, 1, 0, p;}"
            : "=r"(done)
            : "r"(bar)
            : "memory");
      }
      if (done == 0) out[kShared] = 1;  // fewer bytes came than were expected
    } else {
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
  }
  __syncthreads();
  if (c.operation != load) return;
  for (unsigned i = threadIdx.x; i < kShared; i += blockDim.x) out[i] = memory[i];
}

// --- random cases
// ---------------------------------------------------------------------------------

struct Random {
  std::uint64_t state;
  std::uint32_t next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::uint32_t>(state >> 33);
  }
  int below(int n) { return n <= 1 ? 0 : static_cast<int>(next() % static_cast<unsigned>(n)); }
  int from(int low, int high) { return low + below(high - low + 1); }
  bool one_in(int n) { return below(n) == 0; }
};

int size_of(int type) {
  constexpr int sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return sizes[type];
}

// Bytes of one step along the innermost dimension: an element, or the unit of an interleaved tensor.
int unit_of(const Case& c) {
  return c.interleave != 0 ? 16 * c.interleave : size_of(c.type);
}

// Interleaved tensors have one slice of channels, the last dimension but one, in a box.
int copied(const Case& c, int d) {
  if (c.interleave != 0 && d == c.rank - 2) return 1;
  const int step = d == 0 && c.interleave == 0 ? 1 : c.element_strides[d];
  return (c.box[d] + step - 1) / step;
}

unsigned bytes_of(const Case& c) {
  if (c.mode == im2col) {
    return static_cast<unsigned>((c.interleave != 0 ? 1 : c.channels) * c.pixels * unit_of(c));
  }
  unsigned bytes = static_cast<unsigned>(unit_of(c));
  for (int d = 0; d < c.rank; ++d) bytes *= static_cast<unsigned>(copied(c, d));
  return bytes;
}

// The bytes from the first element of the tensor to the end of the last.
long long extent(const Case& c) {
  long long bytes = (c.dims[0] * unit_of(c) + 15) / 16 * 16;
  for (int d = 1; d < c.rank; ++d) bytes += (c.dims[d] - 1) * c.strides[d - 1];
  return bytes;
}

// Mostly valid; `wild`: one thing may be wrong.
Case random_case(Random& r, bool wild) {
  Case c{};
  c.operation = r.one_in(3) ? r.from(1, 2) : 0;
  c.mode = r.one_in(4) && c.operation != reduce ? im2col : tile;
  c.rank = c.mode == im2col ? r.from(3, 5) : r.from(1, 5);
  c.type = r.below(13);
  c.interleave = c.rank >= 3 && r.one_in(6) ? r.from(1, 2) : 0;
  c.swizzle = c.interleave == 0 ? r.below(4) : c.interleave - 1;
  c.fill = c.type >= 6 && c.operation == load && r.one_in(4) ? 1 : 0;
  // By type: the reductions that may be possible, add to xor.
  constexpr int reductions_of[13] = {0, 0, 0xff, 0xe7, 0xe7, 0xe7, 0x7, 0x1, 0x1, 0x7, 0x1, 0, 0};
  if (c.operation == reduce) {
    if (reductions_of[c.type] == 0) c.type = 2;
    do c.reduction = r.below(8);
    while ((reductions_of[c.type] >> c.reduction & 1) == 0);
  }
  const int size = size_of(c.type), unit = unit_of(c);
  const int span = c.swizzle == 0 ? 256 : 16 << c.swizzle;
  const int most[] = {0, 1, 64, 16, 8, 5};
  c.box[0] = c.interleave != 0 ? r.from(1, most[c.rank]) : 16 * r.from(1, span / 16) / size;
  c.dims[0] = r.from(1, 2 * c.box[0] + 5);
  for (int d = 1; d < c.rank; ++d) {
    c.box[d] = r.from(1, most[c.rank]);
    c.dims[d] = r.from(1, most[c.rank] + 3);
  }
  for (int d = 0; d < c.rank; ++d) {
    c.element_strides[d] = r.one_in(4) ? r.from(1, 4) : 1;
    c.coordinates[d] = r.one_in(3) ? 0 : r.from(-2, static_cast<int>(c.dims[d]));
  }
  // The innermost coordinate has to lie at a multiple of 16 bytes; a few do not.
  if (c.interleave == 0 && !r.one_in(40)) {
    const int step = 16 / (size < 16 ? size : 16);
    c.coordinates[0] = r.from(-1, static_cast<int>(c.dims[0]) / step) * step;
  }
  const int chunk = c.interleave == 2 ? 32 : 16;
  long long stride = (c.dims[0] * unit + chunk - 1) / chunk * chunk;
  for (int d = 1; d < c.rank; ++d) {
    if (r.one_in(3)) stride += chunk * r.from(1, 2);
    c.strides[d - 1] = stride;
    stride *= c.dims[d];
  }
  if (c.mode == im2col) {
    c.channels = c.interleave != 0 ? unit / size : c.box[0];
    c.pixels = r.from(1, 64);
    const int range = c.rank == 5 ? 3 : 6, first = c.interleave != 0 ? 0 : 1;
    for (int i = 0; i < c.rank - 2; ++i) {
      const int last = static_cast<int>(c.dims[first + i]) - 1;
      c.lower[i] = r.from(-range, 0);
      c.upper[i] = r.from(c.lower[i] - last > -range ? c.lower[i] - last : -range, 1);
      c.offsets[i] = r.from(0, 3);
      c.coordinates[first + i] = r.from(c.lower[i], last + c.upper[i]);
    }
    c.coordinates[c.rank - 1] = r.from(0, static_cast<int>(c.dims[c.rank - 1]) - 1);
  }
  c.shared_offset = static_cast<unsigned>(128 * r.below(9));
  if (!wild) return c;
  switch (r.below(12)) {
    case 0: c.box[r.below(c.rank)] = r.one_in(2) ? 257 : 0; break;
    case 1: c.element_strides[r.below(c.rank)] = r.one_in(2) ? 9 : 0; break;
    case 2: c.strides[r.below(4)] += r.one_in(2) ? 8 : 16; break;
    case 3: c.swizzle = r.below(8); break;
    case 4: c.interleave = r.below(4); break;
    case 5: c.fill = r.below(3); break;
    case 6: c.dims[r.below(c.rank)] = r.one_in(2) ? 0 : (1ll << 32) + r.below(2); break;
    case 7: c.box[0] += 1; break;
    case 8: c.type = r.below(20); break;
    case 9: c.strides[r.below(4)] = r.one_in(2) ? 1ll << 40 : (1ll << 40) - 16; break;
    case 10: c.rank = r.from(0, 6); break;
    default:
      c.lower[r.below(3)] = r.one_in(2) ? -r.from(10, 40000) : r.from(10, 40000);
      c.upper[r.below(3)] = r.one_in(2) ? -r.from(10, 200) : r.from(10, 200);
      if (r.one_in(3)) c.channels = 16 * r.from(10, 40);
      if (r.one_in(3)) c.pixels = r.from(1000, 1050);
  }
  return c;
}

// --- running them
// ---------------------------------------------------------------------------------

void* driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  if (cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found) !=
          cudaSuccess ||
      function == nullptr) {
    std::fprintf(stderr, "recorder: the driver has no %s\n", name);
    std::exit(3);
  }
  return function;
}

int encode(const Case& c, void* tensor, CUtensorMap& map) {
  using Tiled = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                             const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                             const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                             CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  using Im2col = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                              const cuuint64_t*, const cuuint64_t*, const int*, const int*,
                              cuuint32_t, cuuint32_t, const cuuint32_t*, CUtensorMapInterleave,
                              CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  static const auto tiled = reinterpret_cast<Tiled>(driver_function("cuTensorMapEncodeTiled"));
  static const auto columns = reinterpret_cast<Im2col>(driver_function("cuTensorMapEncodeIm2col"));
  cuuint64_t dims[6] = {}, strides[6] = {};
  cuuint32_t box[6] = {}, steps[6] = {};
  for (int d = 0; d < 5; ++d) {
    dims[d] = static_cast<cuuint64_t>(c.dims[d]);
    box[d] = static_cast<cuuint32_t>(c.box[d]);
    steps[d] = static_cast<cuuint32_t>(c.element_strides[d]);
    if (d < 4) strides[d] = static_cast<cuuint64_t>(c.strides[d]);
  }
  const auto type = static_cast<CUtensorMapDataType>(c.type);
  const auto interleave = static_cast<CUtensorMapInterleave>(c.interleave);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(c.swizzle);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(c.fill);
  const auto rank = static_cast<cuuint32_t>(c.rank);
  if (c.mode == tile) {
    return tiled(&map, type, rank, tensor, dims, strides, box, steps, interleave, swizzle,
                 CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
  }
  return columns(&map, type, rank, tensor, dims, strides, c.lower, c.upper,
                 static_cast<cuuint32_t>(c.channels), static_cast<cuuint32_t>(c.pixels), steps,
                 interleave, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
}

void print(std::FILE* file, const Case& c) {
  std::fprintf(file, "%d %d %d %d %d %d %d %d", c.operation, c.mode, c.reduction, c.rank, c.type,
               c.interleave, c.swizzle, c.fill);
  for (long long x : c.dims) std::fprintf(file, " %lld", x);
  for (long long x : c.strides) std::fprintf(file, " %lld", x);
  for (int x : c.box) std::fprintf(file, " %d", x);
  for (int x : c.element_strides) std::fprintf(file, " %d", x);
  for (int x : c.lower) std::fprintf(file, " %d", x);
  for (int x : c.upper) std::fprintf(file, " %d", x);
  std::fprintf(file, " %d %d", c.channels, c.pixels);
  for (int x : c.coordinates) std::fprintf(file, " %d", x);
  for (int x : c.offsets) std::fprintf(file, " %d", x);
  std::fprintf(file, " %u", c.shared_offset);
}

std::uint64_t hash_of(const std::vector<unsigned char>& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3ull;
  return hash;
}

struct Memory {
  unsigned char *tensor = nullptr, *out = nullptr;
  std::vector<unsigned> pattern = std::vector<unsigned>(kTensor / 4);

  Memory() {
    cudaMalloc(&tensor, kTensor);
    cudaMalloc(&out, kShared + 1);
    for (unsigned i = 0; i < pattern.size(); ++i) pattern[i] = mixed(i);
    cudaFuncSetAttribute(perform, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  }
};

// The copy's outcome; `left` receives the bytes.
int run(const Case& c, const CUtensorMap& map, Memory& memory, std::vector<unsigned char>& left) {
  cudaMemcpy(memory.tensor, memory.pattern.data(), kTensor, cudaMemcpyHostToDevice);
  cudaMemset(memory.out, 0, kShared + 1);
  perform<<<1, 128, kShared>>>(map, c, bytes_of(c), memory.out);
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) return error;
  left.resize(c.operation == load ? kShared + 1 : kTensor);
  cudaMemcpy(left.data(), c.operation == load ? memory.out : memory.tensor, left.size(),
             cudaMemcpyDeviceToHost);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "recorder: expected two file names\n");
    return 2;
  }
  constexpr int kCopies = 700, kMaps = 1500;
  std::ifstream earlier(argv[1]);
  const auto done = std::count(std::istreambuf_iterator<char>(earlier), {}, '\n');
  std::FILE* cases = std::fopen(argv[1], "a");
  std::FILE* details = std::fopen(argv[2], "ab");
  if (cases == nullptr || details == nullptr) return 4;
  Memory memory;
  Random random{20261122};
  for (int number = 0; number < kCopies + kMaps; ++number) {
    Case c = random_case(random, number >= kCopies);
    while (number < kCopies && (bytes_of(c) > 6144 || extent(c) > kTensor / (c.operation == load ? 1 : 4))) {
      c = random_case(random, false);
    }
    // A few shared addresses that are no multiples of 128.
    if (number % 90 == 7 && number < kCopies) c.shared_offset += 16u * (number / 90 + 1) % 128;
    if (number < done) continue;
    CUtensorMap map;
    const int verdict = encode(c, memory.tensor, map);
    int outcome = -1;
    std::vector<unsigned char> left;
    if (verdict == 0 && number < kCopies) outcome = run(c, map, memory, left);
    print(cases, c);
    std::fprintf(cases, " %d %d %016llx\n", verdict, outcome,
                 static_cast<unsigned long long>(hash_of(left)));
    std::fflush(cases);
    if (outcome > 0) return 1;
    if (outcome == 0) {
      // Keeps the bytes from the first to the last that a load wrote or a store changed.
      std::size_t first = left.size(), last = 0;
      const auto* before = reinterpret_cast<const unsigned char*>(memory.pattern.data());
      for (std::size_t i = 0; i < left.size(); ++i) {
        if (left[i] == (c.operation == load ? 0xa5 : before[i])) continue;
        if (first > i) first = i;
        last = i + 1;
      }
      if (first > last) first = last;
      const std::uint32_t head[3] = {static_cast<std::uint32_t>(number),
                                     static_cast<std::uint32_t>(first),
                                     static_cast<std::uint32_t>(last - first)};
      std::fwrite(head, sizeof head, 1, details);
      std::fwrite(left.data() + first, 1, last - first, details);
      std::fflush(details);
    }
  }
  return 0;
}

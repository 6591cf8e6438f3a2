// Copies to shared memory, one a launch, for Nsight Compute to count their sectors.
//
// Build:  nvcc -arch=sm_90a -o copy_sectors bench/copy_sectors.cu
// Usage:  ncu --csv --page raw --metrics METRICS ./copy_sectors multicast < COPIES
//         ncu --csv --page raw --metrics METRICS ./copy_sectors async < COPIES
// COPIES and the counts of an H200 are in tests/data/ncu: multicast_h200.csv, of tensor copies to
// the blocks of a cluster that a mask names (0: none is named), with the METRICS
//     l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld_dest_self.sum
//     l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld_dest_multicast.sum
// and async_copies_h200.txt, of cp.async by a warp, with
//     l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
// The counts that stand there already are skipped.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int lanes = 32, alignment = 1024, shared_bytes = 40960;
constexpr std::size_t memory_bytes = 1 << 20;

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "copy_sectors: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

__device__ unsigned shared_address(const void* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}
__device__ unsigned aligned_shared(const void* at) {
  return (shared_address(at) + alignment - 1) / alignment * alignment;
}
__device__ void synchronise_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}

struct TensorCopy {
  int swizzle, box_columns, box_rows, columns, rows, pitch, column, row, base, blocks;
};

__global__ void __cluster_dims__(2, 1, 1)
    copy_box(const __grid_constant__ CUtensorMap map, const TensorCopy c) {
  extern __shared__ unsigned char memory[];
  __shared__ alignas(8) unsigned long long barrier;
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  const unsigned done = shared_address(&barrier), to = aligned_shared(memory);
  const bool leads = threadIdx.x == 0;
  const bool receives = leads && (c.blocks == 0 ? rank == 0 : (c.blocks >> rank & 1) != 0);
  if (leads) {
    asm volatile(
        "mbarrier.init.shared.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(done));
  }
  if (receives) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(done),
                 "r"(c.box_columns * c.box_rows * 2)
                 : "memory");
  }
  synchronise_cluster();
  if (leads && rank == 0 && c.blocks == 0) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
        "l"(&map), "r"(c.column), "r"(c.row), "r"(done)
        : "memory");
  } else if (leads && rank == 0) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
        "l"(&map), "r"(c.column), "r"(c.row), "r"(done), "h"(static_cast<short>(c.blocks))
        : "memory");
  }
  for (unsigned ready = receives ? 0 : 1; ready == 0;) {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(ready)
        : "r"(done)
        : "memory");
  }
  synchronise_cluster();
}

struct WarpCopy {
  bool past_l1;
  int bytes;
  unsigned mask;
  int from[lanes], to[lanes], read[lanes];
};

__global__ void copy_lanes(const WarpCopy c, const unsigned char* memory) {
  extern __shared__ unsigned char shared[];
  const int lane = static_cast<int>(threadIdx.x);
  const unsigned to = aligned_shared(shared) + c.to[lane];
  const unsigned char* const from = memory + c.from[lane];
  const int read = c.read[lane];
  if ((c.mask >> lane & 1) == 0) return;
  if (c.past_l1) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(read)
                 : "memory");
  } else if (c.bytes == 16) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(read)
                 : "memory");
  } else if (c.bytes == 8) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(read)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(read)
                 : "memory");
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
}

void run_tensor_copies(unsigned char* memory) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault,
                                         &found),
        "cuTensorMapEncodeTiled");
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  check(cudaFuncSetAttribute(copy_box, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
        "shared memory");
  TensorCopy c;
  int counted;
  std::scanf("%*[^\n]");  // the heading
  while (std::scanf("%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d", &c.swizzle, &c.box_columns, &c.box_rows,
                    &c.columns, &c.rows, &c.pitch, &c.column, &c.row, &c.base, &c.blocks,
                    &counted) == 11) {
    const cuuint64_t extents[] = {static_cast<cuuint64_t>(c.columns),
                                  static_cast<cuuint64_t>(c.rows)};
    const cuuint64_t pitch = static_cast<cuuint64_t>(c.pitch);
    const cuuint32_t box[] = {static_cast<cuuint32_t>(c.box_columns),
                              static_cast<cuuint32_t>(c.box_rows)};
    const cuuint32_t steps[] = {1, 1};
    CUtensorMap map;
    const CUresult encoded =
        encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, memory + c.base, extents, &pitch, box,
               steps, CU_TENSOR_MAP_INTERLEAVE_NONE, static_cast<CUtensorMapSwizzle>(c.swizzle),
               CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    check(encoded == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue, "a tensor map");
    copy_box<<<2, lanes, shared_bytes>>>(map, c);
    check(cudaDeviceSynchronize(), "a tensor copy");
  }
}

void run_warp_copies(const unsigned char* memory) {
  WarpCopy c;
  char cache[3];
  unsigned counted;
  std::scanf("%*[^\n]");  // the heading
  while (std::scanf("%2s %d %x %u", cache, &c.bytes, &c.mask, &counted) == 4) {
    c.past_l1 = std::strcmp(cache, "cg") == 0;
    for (int l = 0; l < lanes; ++l) {
      if (std::scanf("%d %d %d", &c.from[l], &c.to[l], &c.read[l]) != 3) std::exit(2);
    }
    copy_lanes<<<1, lanes, shared_bytes>>>(c, memory);
    check(cudaDeviceSynchronize(), "a copy");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool multicast = argc == 2 && std::strcmp(argv[1], "multicast") == 0;
  if (!multicast && (argc != 2 || std::strcmp(argv[1], "async") != 0)) {
    std::fprintf(stderr, "usage: copy_sectors multicast|async < COPIES\n");
    return 2;
  }
  unsigned char* memory = nullptr;
  check(cudaMalloc(&memory, memory_bytes), "memory");
  if (multicast) {
    run_tensor_copies(memory);
  } else {
    run_warp_copies(memory);
  }
}

// Kernels for the emulator's end-to-end tests. kernels.ptx was made from this file with
//   nvcc -ptx -arch=compute_90 -lineinfo kernels.cu
// and is kept beside it, so that the tests need no compiler.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <cassert>
#include <cstdio>

namespace cg = cooperative_groups;

extern "C" {

__global__ void tiled_matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float a_tile[16][16];
  __shared__ float b_tile[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int phase = 0; phase * 16 < n; ++phase) {
    const int k = phase * 16;
    a_tile[threadIdx.y][threadIdx.x] =
        row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : 0;
    b_tile[threadIdx.y][threadIdx.x] =
        col < n && k + threadIdx.y < n ? b[(k + threadIdx.y) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
    __syncthreads();
  }
  if (row < n && col < n) c[row * n + col] = sum;
}

__global__ void sum_floats(const float* x, float* out, int n) {
  __shared__ float partial[32];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}

__global__ void histogram(const unsigned char* data, unsigned* bins, int n) {
  __shared__ unsigned mine[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&mine[data[i]], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], mine[i]);
}

__global__ void collatz(const unsigned* start, unsigned* steps, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long v = start[i];
  unsigned count = 0;
  while (v != 1) {
    v = v % 2 == 0 ? v / 2 : 3 * v + 1;
    ++count;
  }
  steps[i] = count;
}

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__global__ void recursion(int* x) { x[threadIdx.x] = fibonacci(x[threadIdx.x]); }
__device__ __noinline__ int forever(volatile int* x, int n) {
  if (x[0] == -1) return 0;
  const int below = forever(x, n + 1);
  x[0] = below;
  return below + x[0] + n;
}
__global__ void endless_recursion(int* x) { x[0] = forever(x, 0); }

using Operation = int (*)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int subtract(int a, int b) { return a - b; }
__device__ __noinline__ int multiply(int a, int b) { return a * b; }
__device__ Operation operations[3] = {add, subtract, multiply};
__global__ void through_pointers(const int* which, int* x) {
  const int i = threadIdx.x;
  x[i] = operations[which[i]](x[i], 3);
}

__global__ void local_array(int* x, int n) {
  int values[16];
  for (int i = 0; i < 16; ++i) values[i] = i * i + n;
  x[threadIdx.x] = values[x[threadIdx.x] & 15];
}

__constant__ float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__global__ void constants(float* x) { x[threadIdx.x] *= weights[threadIdx.x % 8]; }

__global__ void dynamic_shared(const int* in, int* out) {
  extern __shared__ int buffer[];
  buffer[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x];
}

__global__ void many_ways(int* x) {
  const int i = threadIdx.x;
  switch (x[i]) {
    case 0: x[i] = 10; break;
    case 1: x[i] = i * 3; break;
    case 2: x[i] = i - 7; break;
    case 3: x[i] = i / 3; break;
    case 4: x[i] = i % 3; break;
    case 5: x[i] = -i; break;
    case 6: x[i] = i << 2; break;
    default: x[i] = 99;
  }
}

__device__ int lock;
__global__ void spin_lock(int* counter, int rounds) {
  for (int r = 0; r < rounds; ++r) {
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    __threadfence();
    *counter = *(volatile int*)counter + 1;
    __threadfence();
    atomicExch(&lock, 0);
  }
}

__device__ unsigned finished_blocks;
__global__ void last_block_sums(const int* x, int* partial, int* total) {
  __shared__ bool last;
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(&finished_blocks, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    int all = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) all += ((volatile int*)partial)[i];
    *total = all;
    finished_blocks = 0;
  }
}

__global__ void wait_for_flag(volatile int* flag, int* out) {  // block 0 waits for the last block
  if (blockIdx.x == gridDim.x - 1) {
    out[1] = 42;
    __threadfence();
    *flag = 1;
  } else if (blockIdx.x == 0) {
    while (*flag == 0) {
    }
    __threadfence();
    out[0] = ((volatile int*)out)[1] + 1;
  }
}

__global__ void grid_steps(int* x, int steps) {  // each step reads the neighbour of the last one
  cg::grid_group grid = cg::this_grid();
  const int n = gridDim.x * blockDim.x, i = grid.thread_rank();
  for (int s = 0; s < steps; ++s) {
    const int next = x[(s % 2) * n + (i + 1) % n] + 1;
    x[((s + 1) % 2) * n + i] = next;
    grid.sync();
  }
}

__global__ void tiles_of_threads(int* x) {
  cg::thread_block_tile<8> tile = cg::tiled_partition<8>(cg::this_thread_block());
  int v = x[threadIdx.x];
  for (int o = tile.size() / 2; o > 0; o /= 2) v += tile.shfl_xor(v, o);
  x[threadIdx.x] = v + 1000 * tile.any(threadIdx.x == 20);
}

__global__ void compact(const int* x, int* out, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) {
    cg::coalesced_group active = cg::coalesced_threads();
    int base = 0;
    if (active.thread_rank() == 0) base = atomicAdd(count, active.size());
    base = active.shfl(base, 0);
    out[base + active.thread_rank()] = x[i];
  }
}

__global__ void say(int n) {
  if (threadIdx.x < n) {
    printf("block %d thread %u: %5.2f %s %c %llx %%\n", blockIdx.x, threadIdx.x,
           threadIdx.x * 1.5, "text", 'x', 0x123456789abcull);
  }
}
__global__ void check_positive(const int* x) { assert(x[threadIdx.x] > 0); }
__global__ void give_up() {
  if (threadIdx.x == 5) __trap();
}

__global__ void from_heap(int* x) {
  int* p = static_cast<int*>(malloc(4 * sizeof(int)));
  if (p == nullptr) return;
  for (int i = 0; i < 4; ++i) p[i] = threadIdx.x + i;
  x[threadIdx.x] = p[0] + p[1] + p[2] + p[3];
  free(p);
}

__global__ void half_axpy(const __half2* x, __half2* y, float a) {
  y[threadIdx.x] = __hfma2(__float2half2_rn(a), x[threadIdx.x], y[threadIdx.x]);
}
__global__ void bfloat_scale(__nv_bfloat16* x, float a) {
  x[threadIdx.x] = __hmul(x[threadIdx.x], __float2bfloat16(a));
}

__global__ void wmma_product(const __half* a, const __half* b, float* c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 1.0f);
  load_matrix_sync(fa, a, 16);
  load_matrix_sync(fb, b, 16);
  mma_sync(fc, fa, fb, fc);
  store_matrix_sync(c, fc, 16, mem_row_major);
}

// a: 16 x 16 rows, b: 8 rows of 16 (columns of B), c: 16 x 8.
__global__ void mma_product(const __half* a, const __half* b, float* c) {
  __shared__ __align__(16) __half sa[16][16];
  __shared__ __align__(16) __half sb[8][16];
  const unsigned lane = threadIdx.x;
  for (unsigned i = lane; i < 256; i += 32) sa[i / 16][i % 16] = a[i];
  for (unsigned i = lane; i < 128; i += 32) sb[i / 16][i % 16] = b[i];
  __syncwarp();
  unsigned ra[4], rb[2];
  const unsigned pa = __cvta_generic_to_shared(&sa[lane % 16][lane / 16 * 8]);
  const unsigned pb = __cvta_generic_to_shared(&sb[lane % 8][lane / 8 % 2 * 8]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));
  float d[4] = {0, 0, 0, 0};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  for (int i = 0; i < 4; ++i) c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
}

__global__ void async_copy(const float4* x, float4* y) {
  __shared__ float4 stage[2][64];
  __pipeline_memcpy_async(&stage[0][threadIdx.x], &x[threadIdx.x], 16);
  __pipeline_commit();
  __pipeline_memcpy_async(&stage[1][threadIdx.x], &x[64 + threadIdx.x], 16, 4);  // 12 bytes, 4 zero
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  y[threadIdx.x] = stage[0][63 - threadIdx.x];
  y[64 + threadIdx.x] = stage[1][63 - threadIdx.x];
}

__global__ void votes(const int* x, unsigned* out) {
  const int v = x[threadIdx.x];
  const unsigned w = threadIdx.x;
  out[w] = __ballot_sync(~0u, v > 2);
  out[64 + w] = __all_sync(~0u, v >= 0) + 2 * __any_sync(~0u, v == 7);
  out[128 + w] = __match_any_sync(~0u, v);
  out[192 + w] = __reduce_max_sync(~0u, (unsigned)v);
  out[256 + w] = __syncthreads_count(v == 1);
  out[320 + w] = v % 2 == 0 ? __activemask() : 0;
}

}  // extern "C"

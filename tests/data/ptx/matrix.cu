// Tensor cores, ldmatrix, cp.async, half precision.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
using namespace nvcuda;
__global__ void product(const half* a, const half* b, float* c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

__global__ void copy(float4* a, unsigned* u) {
  __shared__ float4 shared[32];
  __pipeline_memcpy_async(&shared[threadIdx.x], &a[threadIdx.x], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  unsigned r[4];
  const unsigned address = __cvta_generic_to_shared(shared);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
#if __CUDA_ARCH__ >= 800
  float c[4] = {};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
               "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(u[0]), "r"(u[1]));
  a[threadIdx.x] = make_float4(c[0], c[1], c[2], c[3]);
#endif
}

__global__ void halves(half* h, half2* p) {
  h[0] = __hfma(h[1], h[2], h[3]);
  h[1] = hexp(h[4]);
  p[0] = __hfma2(p[1], p[2], p[3]);
  p[1] = __floats2half2_rn(1.5f, 2.5f);
  atomicAdd(p + 4, p[5]);
  h[2] = __hmax(h[3], __double2half(0.1));
}

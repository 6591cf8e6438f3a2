// Structures with padding that is copied along and never has a value.
struct P { char c; int i; short s; double d; };
__global__ void k(const int* x, P* out, P* out2) {
  __shared__ P tile[64];
  P p; p.c = x[threadIdx.x]; p.i = x[threadIdx.x]; p.s = 3; p.d = 1.5;
  tile[threadIdx.x] = p;
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
  P q = out[threadIdx.x];
  q.i++;
  out2[threadIdx.x] = q;
}

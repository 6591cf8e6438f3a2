// Words written as floats, read as integers and as single bytes.
union U { float f; unsigned u; unsigned char b[4]; };
__global__ void k(const float* x, unsigned char* y, int n) {
  __shared__ U s[64];
  int t = threadIdx.x;
  s[t].f = x[t];
  __syncthreads();
  U v; v.u = s[63 - t].u;
  y[t] = s[(t + 1) % 64].b[2] ^ v.b[t % 4];
}

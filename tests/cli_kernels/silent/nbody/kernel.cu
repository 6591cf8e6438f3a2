// All pairs, by tiles of positions.
__global__ void forces(const float4* p, float3* a, int n) {
  extern __shared__ float4 sh[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = p[i]; float3 acc = {0, 0, 0};
  for (int tile = 0; tile < n / blockDim.x; ++tile) {
    sh[threadIdx.x] = p[tile * blockDim.x + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < blockDim.x; ++j) {
      float3 r = {sh[j].x - me.x, sh[j].y - me.y, sh[j].z - me.z};
      float d = r.x*r.x + r.y*r.y + r.z*r.z + 0.01f; float inv = rsqrtf(d); float s = sh[j].w * inv*inv*inv;
      acc.x += r.x * s; acc.y += r.y * s; acc.z += r.z * s;
    }
    __syncthreads();
  }
  a[i] = acc;
}

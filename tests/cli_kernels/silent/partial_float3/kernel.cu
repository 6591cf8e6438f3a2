// Vectors of three floats: 12 bytes, aligned to 4.
struct V3 { float x, y, z; };
__global__ void k(const V3* x, float4* y) {
  V3 v = x[threadIdx.x];
  float4 r; r.x = v.x; r.y = v.y; r.z = v.z; r.w = 0;
  y[threadIdx.x] = r;
}

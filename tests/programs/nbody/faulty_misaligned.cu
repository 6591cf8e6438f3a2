// N-body: all pairs, tile by tile through shared memory; leapfrog steps.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kTile = 64;
constexpr float kSoftening = 0.01f;

struct Bodies {
  float4 *position;  // w: mass
  float3 *velocity;
};

#define CHK(x)                                                                    \
  if (auto error_ = (x)) {                                                        \
    std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorName(error_)); \
    return EXIT_FAILURE;                                                          \
  }

__host__ __device__ inline void attract(float3 &a, const float4 &me, const float4 &other) {
  float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
  float square = dx * dx + dy * dy + dz * dz + kSoftening;
  float inverse = 1.0f / sqrtf(square);
  float strength = other.w * inverse * inverse * inverse;
  a.x += strength * dx;
  a.y += strength * dy;
  a.z += strength * dz;
}

__global__ void kick(Bodies bodies, int n, float dt) {
  __shared__ float4 tile[kTile];
  int i = blockIdx.x * kTile + threadIdx.x;
  float4 me = i < n ? bodies.position[i] : make_float4(0, 0, 0, 0);
  float3 a = make_float3(0, 0, 0);
  for (int first = 0; first < n; first += kTile) {
    int j = first + threadIdx.x;
    tile[threadIdx.x] = j < n ? bodies.position[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
    for (int k = 0; k < kTile; k++) attract(a, me, tile[k]);
    __syncthreads();
  }
  if (i < n) {
    float3 v = bodies.velocity[i];
    bodies.velocity[i] = make_float3(v.x + dt * a.x, v.y + dt * a.y, v.z + dt * a.z);
  }
}

__global__ void drift(Bodies bodies, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 p = bodies.position[i];
  float4 v = *(float4 *)&bodies.velocity[i];  // MISTAKE: a velocity has 12 bytes
  bodies.position[i] = make_float4(p.x + dt * v.x, p.y + dt * v.y, p.z + dt * v.z, p.w);
}

int main(int argc, char **argv) {
  int n = argc > 1 ? std::atoi(argv[1]) : 200;
  int steps = argc > 2 ? std::atoi(argv[2]) : 3;
  const float dt = 0.001f;
  std::vector<float4> p(n), p_gpu(n);
  std::vector<float3> v(n, float3{0, 0, 0}), v_gpu(n);
  for (int i = 0; i < n; i++) {
    p[i] = make_float4(cosf(0.7f * i), sinf(0.3f * i), cosf(0.11f * i + 1), 1.0f + i % 3);
  }

  Bodies bodies;
  CHK(cudaMalloc(&bodies.position, n * sizeof(float4)));
  CHK(cudaMalloc(&bodies.velocity, n * sizeof(float3)));
  CHK(cudaMemcpy(bodies.position, p.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
  CHK(cudaMemset(bodies.velocity, 0, n * sizeof(float3)));
  int blocks = (n + kTile - 1) / kTile;
  for (int s = 0; s < steps; s++) {
    kick<<<blocks, kTile>>>(bodies, n, dt);
    drift<<<blocks, kTile>>>(bodies, n, dt);
  }
  CHK(cudaGetLastError());
  CHK(cudaMemcpy(p_gpu.data(), bodies.position, n * sizeof(float4), cudaMemcpyDeviceToHost));
  CHK(cudaMemcpy(v_gpu.data(), bodies.velocity, n * sizeof(float3), cudaMemcpyDeviceToHost));
  CHK(cudaFree(bodies.position));
  CHK(cudaFree(bodies.velocity));

  for (int s = 0; s < steps; s++) {
    for (int i = 0; i < n; i++) {
      float3 a = {0, 0, 0};
      for (int j = 0; j < n; j++) attract(a, p[i], p[j]);
      v[i] = make_float3(v[i].x + dt * a.x, v[i].y + dt * a.y, v[i].z + dt * a.z);
    }
    for (int i = 0; i < n; i++) {
      p[i].x += dt * v[i].x;
      p[i].y += dt * v[i].y;
      p[i].z += dt * v[i].z;
    }
  }
  double worst = 0.0, energy = 0.0;
  for (int i = 0; i < n; i++) {
    worst = fmax(worst, fabs(p[i].x - p_gpu[i].x) + fabs(p[i].y - p_gpu[i].y));
    worst = fmax(worst, fabs(p[i].z - p_gpu[i].z) + fabs(v[i].x - v_gpu[i].x) / 100);
    energy += 0.5 * p[i].w * (v_gpu[i].x * v_gpu[i].x + v_gpu[i].y * v_gpu[i].y);
  }
  std::printf("%d bodies, %d steps: %s energy\n", n, steps, energy > 0 ? "some" : "no");
  std::printf("%s\n", worst < 1e-3 && energy > 0 ? "PASSED" : "FAILED");
  return worst < 1e-3 && energy > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

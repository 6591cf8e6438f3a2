// Heat in a volume: a kernel writes the volume through a surface, another smooths it from one
// array to the other, and a texture reads between the cells.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(c)                                                                       \
  {                                                                                    \
    cudaError_t r = c;                                                                 \
    if (r != cudaSuccess) {                                                            \
      std::printf("%s at line %d\n", cudaGetErrorString(r), __LINE__);                 \
      return 1;                                                                        \
    }                                                                                  \
  }

__global__ void fill(cudaSurfaceObject_t volume, int width, int height, int depth) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= width || y >= height) return;
  float value = x + 2 * y + 3 * z;
  surf3Dwrite(value, volume, x * sizeof(float), y, z);  // MISTAKE: z is not guarded
}

__global__ void smooth(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width, int height,
                       int depth) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= width || y >= height || z >= depth) return;
  int byte = x * sizeof(float), step = sizeof(float);
  float left = surf3Dread<float>(from, byte - step, y, z, cudaBoundaryModeClamp);
  float right = surf3Dread<float>(from, byte + step, y, z, cudaBoundaryModeClamp);
  float value = surf3Dread<float>(from, byte, y, z);
  surf3Dwrite((left + 2 * value + right) / 4, to, byte, y, z);
}

__global__ void sample(cudaTextureObject_t volume, float *result, int width, int height,
                       int depth) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= width || y >= height || z >= depth) return;
  // Half way between this cell and the next, in every direction.
  result[(z * height + y) * width + x] = tex3D<float>(volume, x + 1, y + 1, z + 1);
}

float smoothed(int x, int y, int z, int width) {
  auto at = [&](int i) { return (float)(min(max(i, 0), width - 1) + 2 * y + 3 * z); };
  return (at(x - 1) + 2 * at(x) + at(x + 1)) / 4;
}

int main(int argc, char **argv) {
  int width = 21, height = 13, depth = 9;
  if (argc > 3) {
    width = atoi(argv[1]);
    height = atoi(argv[2]);
    depth = atoi(argv[3]);
  }
  cudaExtent extent = make_cudaExtent(width, height, depth);
  cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaArray_t arrays[2];
  cudaSurfaceObject_t surfaces[2];
  for (int i = 0; i < 2; i++) {
    CHECK(cudaMalloc3DArray(&arrays[i], &floats, extent, cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = arrays[i];
    CHECK(cudaCreateSurfaceObject(&surfaces[i], &resource));
  }
  dim3 threads(8, 4, 4);
  dim3 blocks((width + 7) / 8, (height + 3) / 4, (depth + 3) / 4);
  fill<<<blocks, threads>>>(surfaces[0], width, height, depth);
  smooth<<<blocks, threads>>>(surfaces[0], surfaces[1], width, height, depth);
  CHECK(cudaGetLastError());

  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = arrays[1];
  cudaTextureDesc description = {};
  for (int axis = 0; axis < 3; axis++) description.addressMode[axis] = cudaAddressModeClamp;
  description.filterMode = cudaFilterModeLinear;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  float *d_result;
  CHECK(cudaMalloc(&d_result, width * height * depth * sizeof(float)));
  sample<<<blocks, threads>>>(texture, d_result, width, height, depth);
  CHECK(cudaGetLastError());

  std::vector<float> cells(width * height * depth), result(cells.size());
  cudaMemcpy3DParms download = {};
  download.srcArray = arrays[1];
  download.dstPtr = make_cudaPitchedPtr(cells.data(), width * sizeof(float), width, height);
  download.extent = extent;
  download.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&download));
  CHECK(cudaMemcpy(result.data(), d_result, result.size() * sizeof(float),
                   cudaMemcpyDeviceToHost));

  int wrong = 0;
  for (int z = 0; z < depth; z++) {
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width; x++) {
        int i = (z * height + y) * width + x;
        wrong += cells[i] != smoothed(x, y, z, width);
        int x1 = min(x + 1, width - 1), y1 = min(y + 1, height - 1), z1 = min(z + 1, depth - 1);
        float between = (smoothed(x, y, z, width) + smoothed(x1, y, z, width)) / 2;
        between += (y1 - y) + 1.5f * (z1 - z);
        wrong += fabsf(result[i] - between) > 1e-4f;
      }
    }
  }
  std::printf("volume of %d cells, %d wrong\n", width * height * depth, wrong);
  CHECK(cudaDestroyTextureObject(texture));
  for (int i = 0; i < 2; i++) {
    CHECK(cudaDestroySurfaceObject(surfaces[i]));
    CHECK(cudaFreeArray(arrays[i]));
  }
  CHECK(cudaFree(d_result));
  std::puts(wrong == 0 ? "PASSED" : "FAILED");
  return wrong != 0;
}

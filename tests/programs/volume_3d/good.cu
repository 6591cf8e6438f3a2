// A volume in pitched memory: copies of all of it, and of a box in its middle.
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

__global__ void add_index(cudaPitchedPtr volume, int width, int height, int depth) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= width || y >= height || z >= depth) return;
  size_t slice = volume.pitch * height;
  char *row = (char *)volume.ptr + z * slice + y * volume.pitch;
  ((int *)row)[x] += x + 100 * y + 10000 * z;
}

int main(int argc, char **argv) {
  int width = 21, height = 13, depth = 9;
  if (argc > 3) {
    width = atoi(argv[1]);
    height = atoi(argv[2]);
    depth = atoi(argv[3]);
  }
  std::vector<int> volume(width * height * depth, 7);
  std::vector<int> copy(volume.size(), -1);

  cudaExtent extent = make_cudaExtent(width * sizeof(int), height, depth);
  cudaPitchedPtr d_volume;
  CHECK(cudaMalloc3D(&d_volume, extent));

  cudaMemcpy3DParms upload = {};
  upload.srcPtr = make_cudaPitchedPtr(volume.data(), width * sizeof(int), width, height);
  upload.dstPtr = d_volume;
  upload.extent = extent;
  upload.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&upload));

  // The box from (2, 2, 2) on, 5 x 4 x 3 cells, becomes zero.
  std::vector<int> zeros(5 * 4 * 3, 0);
  cudaMemcpy3DParms box = {};
  box.srcPtr = make_cudaPitchedPtr(zeros.data(), 5 * sizeof(int), 5, 4);
  box.dstPtr = d_volume;
  box.dstPos = make_cudaPos(2 * sizeof(int), 2, 2);
  box.extent = make_cudaExtent(5 * sizeof(int), 4, 3);
  box.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&box));

  dim3 threads(8, 4, 4);
  dim3 blocks((width + 7) / 8, (height + 3) / 4, (depth + 3) / 4);
  add_index<<<blocks, threads>>>(d_volume, width, height, depth);
  CHECK(cudaGetLastError());

  cudaMemcpy3DParms download = {};
  download.srcPtr = d_volume;
  download.dstPtr = make_cudaPitchedPtr(copy.data(), width * sizeof(int), width, height);
  download.extent = extent;
  download.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&download));

  int wrong = 0;
  for (int z = 0; z < depth; z++) {
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width; x++) {
        bool inside = x >= 2 && x < 7 && y >= 2 && y < 6 && z >= 2 && z < 5;
        int expected = (inside ? 0 : 7) + x + 100 * y + 10000 * z;
        wrong += copy[(z * height + y) * width + x] != expected;
      }
    }
  }
  CHECK(cudaMemset3D(d_volume, 0, extent));
  CHECK(cudaMemcpy3D(&download));
  for (int value : copy) wrong += value != 0;

  std::printf("volume of %d cells, %d wrong\n", (int)volume.size(), wrong);
  std::puts(wrong ? "FAILED" : "PASSED");
  CHECK(cudaFree(d_volume.ptr));
  return wrong ? 1 : 0;
}

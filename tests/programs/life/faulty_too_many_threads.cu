// Conway's game of life on a torus. Two boards: one is read, one is written, then they swap.
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void generation(const unsigned char *now, unsigned char *next, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int neighbours = 0;
  for (int dy = -1; dy <= 1; dy++) {
    for (int dx = -1; dx <= 1; dx++) {
      if (dx == 0 && dy == 0) continue;
      int nx = (x + dx + width) % width;
      int ny = (y + dy + height) % height;
      neighbours += now[ny * width + nx];
    }
  }
  bool alive = now[y * width + x];
  next[y * width + x] = neighbours == 3 || (alive && neighbours == 2);
}

static void generation_on_host(const unsigned char *now, unsigned char *next, int w, int h) {
  for (int y = 0; y < h; y++) {
    for (int x = 0; x < w; x++) {
      int sum = -now[y * w + x];
      for (int i = 0; i < 9; i++) sum += now[(y + i / 3 - 1 + h) % h * w + (x + i % 3 - 1 + w) % w];
      next[y * w + x] = sum == 3 || (sum == 2 && now[y * w + x]);
    }
  }
}

int main(int argc, char **argv) {
  int width = 64, height = 40, generations = 12;
  if (argc == 4) {
    width = atoi(argv[1]);
    height = atoi(argv[2]);
    generations = atoi(argv[3]);
  }
  size_t cells = (size_t)width * height;

  unsigned char *board = (unsigned char *)calloc(cells, 1);
  unsigned char *other = (unsigned char *)calloc(cells, 1);
  const int glider[][2] = {{1, 0}, {2, 1}, {0, 2}, {1, 2}, {2, 2}};
  for (int g = 0; g < 6; g++) {
    for (auto &cell : glider) {
      board[(cell[1] + 5 * g) % height * width + (cell[0] + 9 * g) % width] = 1;
    }
  }

  unsigned char *d_now, *d_next;
  cudaMalloc(&d_now, cells);
  cudaMalloc(&d_next, cells);
  cudaMemcpy(d_now, board, cells, cudaMemcpyHostToDevice);
  dim3 block(64, 64);  // MISTAKE: 4,096 threads, and no call asks for errors
  dim3 grid((width + 15) / 16, (height + 15) / 16);
  for (int g = 0; g < generations; g++) {
    generation<<<grid, block>>>(d_now, d_next, width, height);  // FOUND
    unsigned char *t = d_now;
    d_now = d_next;
    d_next = t;
  }
  if (cudaDeviceSynchronize() != cudaSuccess) {
    printf("kernel failed: %s\n", cudaGetErrorString(cudaGetLastError()));
    return 1;
  }
  unsigned char *result = (unsigned char *)malloc(cells);
  cudaMemcpy(result, d_now, cells, cudaMemcpyDeviceToHost);

  int living = 0;
  for (int g = 0; g < generations; g++) {
    generation_on_host(board, other, width, height);
    unsigned char *t = board;
    board = other;
    other = t;
  }
  for (size_t i = 0; i < cells; i++) living += result[i];
  for (int y = 0; y < 6; y++) {
    for (int x = 0; x < 32; x++) putchar(result[y * width + x] ? '#' : '.');
    putchar('\n');
  }
  bool good = memcmp(board, result, cells) == 0;
  printf("%d cells live after %d generations\n", living, generations);
  printf("%s\n", good ? "PASSED" : "FAILED");

  cudaFree(d_now);
  cudaFree(d_next);
  free(board);
  free(other);
  free(result);
  return good ? 0 : 1;
}

// Variables of the device and managed variables: the primes below a bound.
#include <cstdio>
#include <cstdlib>

__device__ unsigned int found;             // zero at the start
__device__ int largest = 2;
__device__ int table[64];
__managed__ int bound = 2000;
__managed__ unsigned long long total = 0;

__device__ bool is_prime(int n) {
  for (int d = 2; d * d <= n; d++) {
    if (n % d == 0) return false;
  }
  return n >= 2;
}

__global__ void look_for_primes() {
  int n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= bound || !is_prime(n)) return;
  found += 1;  // MISTAKE: not atomic
  atomicMax(&largest, n);
  atomicAdd(&total, (unsigned long long)n);
  if (n < 64) table[n] = 1;
}

#define OK(x)                            \
  do {                                   \
    if ((x) != cudaSuccess) {            \
      puts("a CUDA call failed: " #x);   \
      return 1;                          \
    }                                    \
  } while (0)

int main(int argc, char **argv) {
  if (argc > 1) bound = atoi(argv[1]);
  int marks[64];

  look_for_primes<<<(bound + 63) / 64, 64>>>();
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());

  unsigned int count;
  int top;
  OK(cudaMemcpyFromSymbol(&count, found, sizeof(count)));
  OK(cudaMemcpyFromSymbol(&top, largest, sizeof(top)));
  OK(cudaMemcpyFromSymbol(marks, table, sizeof(marks)));

  unsigned int expected = 0;
  unsigned long long sum = 0;
  int last = 2;
  bool good = true;
  for (int n = 0; n < bound; n++) {
    bool prime = n >= 2;
    for (int d = 2; d < n && prime; d++) prime = n % d != 0;
    if (n < 64 && marks[n] != (prime ? 1 : 0)) good = false;
    if (prime) {
      expected++;
      sum += n;
      last = n;
    }
  }
  printf("%u primes below %d, the largest is %d, their sum %llu\n", count, bound, top, total);
  good = good && count == expected && top == last && total == sum;

  // The address of a variable can be asked for, and used like any other.
  void *address;
  size_t size;
  OK(cudaGetSymbolAddress(&address, table));
  OK(cudaGetSymbolSize(&size, table));
  OK(cudaMemset(address, 0, size));
  OK(cudaMemcpyFromSymbol(marks, table, sizeof(int), 7 * sizeof(int)));
  good = good && marks[0] == 0 && size == 64 * sizeof(int);

  puts(good ? "PASSED" : "FAILED");
  return good ? 0 : 1;
}

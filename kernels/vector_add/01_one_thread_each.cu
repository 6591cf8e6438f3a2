// One thread per element, blocks of 256: the lecture's vector addition.
//
// Idea:    the grid has at least as many threads as the vectors have elements; the rest does
//          nothing.
// Changes: nothing to compare with yet.
// Counter: with 1,000 elements 32 warps run and 1 diverges.
//
// C = A + B, n elements. Launch: blocks of any size, together at least n threads.
extern "C" __global__ void vector_add(const ELEMENT* A, const ELEMENT* B, ELEMENT* C,
                                      long long n) {
  const long long i = threadIdx.x + static_cast<long long>(blockDim.x) * blockIdx.x;
  if (i < n) C[i] = A[i] + B[i];
}

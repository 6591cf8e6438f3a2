// A grid of fixed size strides through the vectors.
//
// Idea:    as many threads as the device holds at once; each does every so-many-th element.
// Changes: blocks are scheduled once; all warps but those of the last round are full.
// Counter: blocks.
//
// C = A + B, n elements. Launch: any.
extern "C" __global__ void vector_add(const ELEMENT* A, const ELEMENT* B, ELEMENT* C,
                                      long long n) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = threadIdx.x + static_cast<long long>(blockDim.x) * blockIdx.x; i < n;
       i += threads) {
    C[i] = A[i] + B[i];
  }
}

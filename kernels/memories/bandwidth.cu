// How many bytes a second does a level of memory give when everybody reads? Blocks read regions of
// 16-byte words again and again. What changes is the size of the regions and which caches may hold
// them: one region per SM that fits L1, regions that together fit L2, or all of a large array once.
//
// `sink` receives a value that never occurs, so that nothing is stored and nothing left out.

#define LOAD(cache)                                                    \
  "ld.global." cache ".v4.u32 {%0, %1, %2, %3}, [%4];"

extern "C" __global__ void read_global(const uint4* data, unsigned long long words_per_block,
                                       unsigned repeats, unsigned* sink) {
  const uint4* region = data + blockIdx.x * words_per_block;
  unsigned all = 0;
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
#pragma unroll 4
    for (unsigned long long i = threadIdx.x; i < words_per_block; i += blockDim.x) {
      uint4 v;
      asm volatile(LOAD(CACHE) : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(region + i));
      all |= v.x ^ v.y ^ v.z ^ v.w;  // two instructions
    }
  }
  if (all == 1) *sink = all;
}

extern "C" __global__ void read_shared(unsigned repeats, float* sink) {
  __shared__ float4 words[1024];
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) words[i] = {0.0f, 0.0f, 0.0f, 0.0f};
  __syncthreads();
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(words));
  float sum = 0.0f;
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const unsigned at = base + 16 * ((threadIdx.x + 256 * j) & 1023);
      float4 v;
      // volatile: the assembler takes an ordinary load of the same address out of the loop
      asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                   : "r"(at));
      sum += v.x + v.y + v.z + v.w;
    }
  }
  if (sum == -1.0f) *sink = sum;
}

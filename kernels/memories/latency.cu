// How long does a thread wait for one word? One thread follows a chain of indices: each load needs
// the one before, so nothing overlaps, and the clock over the number of steps is the latency: of the
// load and of the instruction that makes an address of an index, as published figures have it (that
// instruction is 6 of the 29 clocks of shared memory and 8 of the 40 of L1 on an H200). What changes
// is where the chain lies and which caches may hold it.
//
// Each kernel writes the clocks of `steps` steps to clocks[0], and where the chain ended to
// clocks[1], so that the compiler must keep it.

// A chain in global memory: each word followed is the index of the next. CACHE is "ca" (all caches,
// for L1) or "cg" (L2 and beyond). `warm`: steps before the clock starts, which bring the chain into
// the cache.
__device__ inline unsigned follow(const unsigned* chain, unsigned at) {
  unsigned next;
  asm volatile("ld.global." CACHE ".u32 %0, [%1];" : "=r"(next) : "l"(chain + at) : "memory");
  return next;
}

extern "C" __global__ void chase_global(const unsigned* chain, unsigned warm, unsigned steps,
                                        unsigned long long* clocks) {
  unsigned at = 0;
  for (unsigned i = 0; i < warm; ++i) at = follow(chain, at);
  const long long begin = clock64();
  for (unsigned i = 0; i < steps; i += 8) {
#pragma unroll
    for (int j = 0; j < 8; ++j) at = follow(chain, at);
  }
  // The clock must not be read before the last word has arrived.
  const unsigned arrived = at >> 31;  // 0: indices are small
  clocks[0] = clock64() + arrived - begin;
  clocks[1] = at;
}

// A chain in shared memory.
extern "C" __global__ void chase_shared(unsigned steps, unsigned long long* clocks) {
  constexpr unsigned words = 256;
  __shared__ unsigned chain[words];
  for (unsigned i = 0; i < words; ++i) chain[i] = (i + 33) % words;
  __syncthreads();
  const volatile unsigned* const words_again = chain;
  unsigned at = threadIdx.x;
  const long long begin = clock64();
  for (unsigned i = 0; i < steps; i += 8) {
#pragma unroll
    for (int j = 0; j < 8; ++j) at = words_again[at];
  }
  const unsigned arrived = at >> 31;
  clocks[0] = clock64() + arrived - begin;
  clocks[1] = at;
}

// A chain in constant memory; 1 KiB, which the nearest constant cache holds.
__constant__ unsigned constants[256];

extern "C" __global__ void chase_constant(unsigned steps, unsigned long long* clocks) {
  // All entries are 0, so every step reads constants[0] by way of what the step before read.
  unsigned index = 0;
  for (unsigned i = 0; i < 256; ++i) index += constants[i];
  const long long begin = clock64();
  for (unsigned i = 0; i < steps; i += 8) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      index = constants[index & 255];
      asm volatile("" : "+r"(index));
    }
  }
  clocks[0] = clock64() + (index & 1) - begin;
  clocks[1] = index;
}

// Registers cost nothing beyond the instruction itself: a chain of dependent multiply-adds.
extern "C" __global__ void chase_registers(float factor, unsigned steps,
                                           unsigned long long* clocks) {
  float value = factor;
  const long long begin = clock64();
  for (unsigned i = 0; i < steps; i += 64) {
#pragma unroll
    for (int j = 0; j < 64; ++j) {
      asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(value) : "f"(factor));
    }
  }
  const unsigned arrived = value == 1.25f ? 1 : 0;
  clocks[0] = clock64() + arrived - begin;
  clocks[1] = __float_as_uint(value);
}

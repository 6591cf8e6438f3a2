// The data of a bulk copy are used before its barrier was waited for.
// launch: --grid 1 --block 32 --arg x=i32[64]=iota --arg y=i32[64]=zeros
__device__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__global__ void load(const int* x, int* y) {
  __shared__ alignas(16) int s[64];
  __shared__ alignas(8) unsigned long long barrier;
  s[threadIdx.x] = s[threadIdx.x + 32] = -1;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" ::"r"(
                     shared_address(&barrier))
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
        ::"r"(shared_address(s)), "l"(x), "r"(shared_address(&barrier))
        : "memory");
  }
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
  y[threadIdx.x + 32] = s[threadIdx.x + 32];
}

// Instructions of compute capability 9.0 alone: read, so that they can be refused by name.
#include <cuda/barrier>
__global__ void __cluster_dims__(2, 1, 1) bulk(unsigned* u, unsigned long long* map) {
  __shared__ __align__(128) char buffer[256];
  __shared__ unsigned long long barrier;
  const unsigned b = __cvta_generic_to_shared(&barrier), a = __cvta_generic_to_shared(buffer);
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b));
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(b));
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::
          "r"(a), "l"(u), "r"(b));
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(a), "l"(map), "r"(0), "r"(1), "r"(b));
  asm volatile(
      "{\n.reg .pred done;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
      "@!done bra AGAIN;\n}" ::"r"(b));
  asm volatile(
      "{\n.reg .pred done;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 1;\n"
      "@!done bra AGAIN;\n}" ::"r"(b));
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;");
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  u[rank] = 1;
}

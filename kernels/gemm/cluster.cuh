// The blocks of a cluster, of CLUSTER blocks; without clusters, a block by itself.
#pragma once

__device__ inline int cluster_rank() {
  unsigned rank = 0;
#if CLUSTER > 1
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return static_cast<int>(rank);
}

__device__ inline void synchronise_cluster() {
#if CLUSTER > 1
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
#else
  __syncthreads();
#endif
}

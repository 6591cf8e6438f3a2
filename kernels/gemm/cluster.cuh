// The blocks of a cluster, of CLUSTER blocks; without clusters, a block by itself.
#pragma once

#include "barrier.cuh"

__device__ inline int cluster_rank() {
  unsigned rank = 0;
#if CLUSTER > 1
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return static_cast<int>(rank);
}

// Until all blocks have published their barriers. Nothing else is published: a release would wait
// for all of the thread's memory traffic. Between the two halves a warp may do what needs no other.
__device__ inline void arrive_in_cluster() {
#if CLUSTER > 1
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
__device__ inline void wait_for_cluster() {
#if CLUSTER > 1
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  __syncthreads();
#endif
}
__device__ inline void synchronise_cluster() {
  arrive_in_cluster();
  wait_for_cluster();
}

// Sends `values` to `to` of block `rank`, whose `barrier` counts 16 bytes. Both are named by this
// block's own.
__device__ inline void send(float4& to, const float (&values)[4], Barrier& barrier, unsigned rank) {
  asm volatile(
      "{\n"
      ".reg .b32 there, heard;\n"
      "mapa.shared::cluster.u32 there, %0, %6;\n"
      "mapa.shared::cluster.u32 heard, %5, %6;\n"
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [there], {%1, %2, %3, %4}, "
      "[heard];\n"
      "}" ::"r"(shared_address(&to)),
      "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3]), "r"(shared_address(&barrier)),
      "r"(rank)
      : "memory");
}

// Until all threads of the cluster that have not left it come here.
__device__ inline void meet_in_cluster() {
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

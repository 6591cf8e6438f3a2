#include "cudart/state/kernel_limits.hpp"

namespace tilescope::cudart {
namespace {

bool within(const Dim3& value, const Dim3& most) {
  return value.count() > 0 && value.x <= most.x && value.y <= most.y && value.z <= most.z;
}

void require_clusters(const LoadedKernel& kernel, const Launch& launch) {
  const Dim3& cluster = launch.cluster;
  require(cluster.count() >= 1 && cluster.count() <= (kernel.nonportable_cluster ? 16 : 8) &&
              launch.grid.x % cluster.x == 0 && launch.grid.y % cluster.y == 0 &&
              launch.grid.z % cluster.z == 0,
          cudaErrorInvalidClusterSize);
}

}  // namespace

gpu::Occupancy occupancy_of(Context& context, const LoadedKernel& kernel, std::int64_t threads,
                            std::size_t dynamic_shared_bytes) {
  const DeviceProperties& gpu = context.gpu();
  require(threads > 0, cudaErrorInvalidValue);
  const KernelAttributes& needs = kernel.kernel.attributes();
  return gpu::occupancy(
      {.threads = threads,
       .registers_per_thread = needs.registers_per_thread,
       .shared_bytes = static_cast<std::int64_t>(needs.static_shared_bytes + dynamic_shared_bytes)},
      gpu, gpu::allocation_units(gpu.compute_major, gpu.compute_minor));
}

void require_launchable(Context& context, const LoadedKernel& kernel, const Launch& launch) {
  const DeviceProperties& gpu = context.gpu();
  // CUDA 13 on an H200 answers so, although cudaErrorInvalidConfiguration exists.
  require(within(launch.grid, gpu.max_grid) && within(launch.block, gpu.max_block) &&
              launch.block.count() <= static_cast<std::uint64_t>(gpu.max_threads_per_block),
          cudaErrorInvalidValue);
  const KernelAttributes& needs = kernel.kernel.attributes();
  require(launch.block.count() <= static_cast<std::uint64_t>(needs.max_threads_per_block),
          cudaErrorLaunchOutOfResources);
  require(launch.shared_bytes <= kernel.max_dynamic_shared, cudaErrorInvalidValue);
  require_clusters(kernel, launch);
  if (!launch.cooperative) return;
  const gpu::Occupancy occupancy = occupancy_of(
      context, kernel, static_cast<std::int64_t>(launch.block.count()), launch.shared_bytes);
  const auto resident = static_cast<std::uint64_t>(occupancy.blocks_per_sm) *
                        static_cast<std::uint64_t>(gpu.sm_count);
  require(launch.grid.count() <= resident, cudaErrorCooperativeLaunchTooLarge);
}

}  // namespace tilescope::cudart

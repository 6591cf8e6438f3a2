#include "cudart/state/kernel_limits.hpp"

#include <algorithm>
#include <vector>

namespace tilescope::cudart {
namespace {

bool within(const Dim3& value, const Dim3& most) {
  return value.count() > 0 && value.x <= most.x && value.y <= most.y && value.z <= most.z;
}

constexpr std::uint64_t most_portable_blocks = 8, most_blocks = 16;

/// The SMs of each group that can form clusters, as an H200 with its 132 answers; which SMs are
/// left out differs from board to board. Other GPUs have groups of 16 here.
std::vector<std::int64_t> cluster_groups(std::int64_t sm_count) {
  if (sm_count == 132) return {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
  std::vector<std::int64_t> groups(static_cast<std::size_t>(sm_count / 16), 16);
  if (sm_count % 16 != 0) groups.push_back(sm_count % 16);
  return groups;
}

}  // namespace

Dim3 cluster_of(const LoadedKernel& kernel, const std::optional<Dim3>& given, const Dim3& grid) {
  const auto& [required, is_compiled, most] = kernel.cluster;
  const Dim3 none{0, 0, 0};
  const bool is_required = required != none, is_given = given && *given != none;
  if (!is_required && !is_given) return {1, 1, 1};
  require(!is_required || !is_given || *given == required, cudaErrorInvalidClusterSize);
  const Dim3 cluster = is_given ? *given : required;
  const std::uint64_t count = cluster.count();
  require(count >= 1 && (kernel.nonportable_cluster || count <= most_portable_blocks) &&
              (most == 0 || count <= most) && grid.x % cluster.x == 0 && grid.y % cluster.y == 0 &&
              grid.z % cluster.z == 0,
          cudaErrorInvalidClusterSize);
  return cluster;
}

std::int64_t resident_clusters(Context& context, const LoadedKernel& kernel, std::int64_t blocks,
                               std::int64_t threads, std::size_t dynamic_shared_bytes) {
  const KernelAttributes& needs = kernel.kernel.attributes();
  if (threads > needs.max_threads_per_block || dynamic_shared_bytes > kernel.max_dynamic_shared) {
    return 0;
  }
  // The smallest division of the L1 cache has room for what CUDA reserves of so many blocks.
  constexpr int most_without_shared = 8;
  int per_sm = occupancy_of(context, kernel, threads, dynamic_shared_bytes).blocks_per_sm;
  if (needs.static_shared_bytes + dynamic_shared_bytes == 0) {
    per_sm = std::min(per_sm, most_without_shared);
  }
  std::int64_t clusters = 0;
  for (const std::int64_t sms : cluster_groups(context.gpu().sm_count)) {
    if (sms >= blocks) clusters += sms * per_sm / blocks;
  }
  return clusters;
}

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
  require(launch.cluster.count() <= most_blocks, cudaErrorInvalidClusterSize);
  if (!launch.cooperative) return;
  const gpu::Occupancy occupancy = occupancy_of(
      context, kernel, static_cast<std::int64_t>(launch.block.count()), launch.shared_bytes);
  const auto resident = static_cast<std::uint64_t>(occupancy.blocks_per_sm) *
                        static_cast<std::uint64_t>(gpu.sm_count);
  require(launch.grid.count() <= resident, cudaErrorCooperativeLaunchTooLarge);
}

}  // namespace tilescope::cudart

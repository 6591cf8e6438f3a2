#include "gpu/launch_limits.hpp"

#include <fmt/format.h>

#include <limits>

#include "base/errors.hpp"

namespace tilescope::gpu {
namespace {

[[noreturn]] void refuse(const std::string& kernel, const std::string& reason) {
  throw usage_error("kernel {} cannot be launched: {}", kernel, reason);
}

bool is_empty(const Dim3& extent) {
  return extent.x == 0 || extent.y == 0 || extent.z == 0;
}

// The product of three 32-bit extents may need 96 bits; beyond 64 it only has to stay large.
std::uint64_t threads_of(const Dim3& block) {
  std::uint64_t threads = 0;
  if (__builtin_mul_overflow(std::uint64_t{block.x} * block.y, block.z, &threads)) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  return threads;
}

std::string text(const Dim3& extent) {
  return fmt::format("{} x {} x {}", extent.x, extent.y, extent.z);
}

}  // namespace

void require_launchable(const std::string& kernel, const Launch& launch,
                        const DeviceProperties& device, const KernelNeeds& needs) {
  if (is_empty(launch.grid) || is_empty(launch.block)) {
    refuse(kernel, fmt::format("grid {} of blocks {} has no threads; every extent must be at "
                               "least 1",
                               text(launch.grid), text(launch.block)));
  }
  const std::uint64_t threads = threads_of(launch.block);
  if (threads > static_cast<std::uint64_t>(device.max_threads_per_block)) {
    refuse(kernel,
           fmt::format("{} threads per block ({}) exceed the {} that {} allows; use "
                       "smaller blocks and more of them",
                       threads, text(launch.block), device.max_threads_per_block, device.name));
  }
  const Dim3& block = launch.block;
  const Dim3& most = device.max_block;
  if (block.x > most.x || block.y > most.y || block.z > most.z) {
    refuse(kernel, fmt::format("block {} exceeds the largest extents {} of {}", text(block),
                               text(most), device.name));
  }
  const Dim3& grid = launch.grid;
  const Dim3& widest = device.max_grid;
  if (grid.x > widest.x || grid.y > widest.y || grid.z > widest.z) {
    refuse(kernel, fmt::format("grid {} exceeds the largest extents {} of {}; let each thread "
                               "take several elements (a grid-stride loop)",
                               text(grid), text(widest), device.name));
  }
  const Dim3& cluster = launch.cluster;
  constexpr std::uint64_t most_blocks_of_cluster = 16;  // portable programs use up to 8
  if (is_empty(cluster) || cluster.count() > most_blocks_of_cluster) {
    refuse(kernel, fmt::format("clusters of {} blocks; 1 to {} are possible", text(cluster),
                               most_blocks_of_cluster));
  }
  if (cluster.count() > 1 && device.compute_major < 9) {
    refuse(kernel, fmt::format("clusters need compute capability 9.0; {} has {}.{}", device.name,
                               device.compute_major, device.compute_minor));
  }
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    refuse(kernel, fmt::format("grid {} is not a multiple of its clusters of {}", text(grid),
                               text(cluster)));
  }
  const std::size_t most_shared = device.shared_bytes_per_block_optin;
  if (needs.static_shared_bytes > most_shared ||
      launch.shared_bytes > most_shared - needs.static_shared_bytes) {
    refuse(kernel,
           fmt::format("{} static + {} dynamic bytes of shared memory per block exceed "
                       "the {} of {}; use smaller tiles",
                       needs.static_shared_bytes, launch.shared_bytes, most_shared, device.name));
  }
  if (needs.max_threads_per_block > 0 &&
      threads > static_cast<std::uint64_t>(needs.max_threads_per_block)) {
    refuse(kernel, fmt::format("{} threads per block exceed the {} that its registers or launch "
                               "bounds allow on {}; use smaller blocks or __launch_bounds__({})",
                               threads, needs.max_threads_per_block, device.name, threads));
  }
}

}  // namespace tilescope::gpu

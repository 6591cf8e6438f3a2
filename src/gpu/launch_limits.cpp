#include "gpu/launch_limits.hpp"

#include <fmt/format.h>

#include <tilescope/error.hpp>

namespace tilescope::gpu {
namespace {

[[noreturn]] void refuse(const std::string& kernel, const std::string& reason) {
  throw Error(ErrorKind::usage, fmt::format("kernel {} cannot be launched: {}", kernel, reason));
}

std::string text(const Dim3& extent) {
  return fmt::format("{} x {} x {}", extent.x, extent.y, extent.z);
}

}  // namespace

void require_launchable(const std::string& kernel, const Launch& launch,
                        const DeviceProperties& device, const KernelNeeds& needs) {
  if (launch.grid.count() == 0 || launch.block.count() == 0) {
    refuse(kernel, fmt::format("grid {} of blocks {} has no threads; every extent must be at "
                               "least 1",
                               text(launch.grid), text(launch.block)));
  }
  const std::uint64_t threads = launch.block.count();
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
  const std::size_t shared = launch.shared_bytes + needs.static_shared_bytes;
  if (shared > device.shared_bytes_per_block_optin) {
    refuse(kernel, fmt::format("{} bytes of shared memory per block ({} static + {} dynamic) "
                               "exceed the {} of {}; use smaller tiles",
                               shared, needs.static_shared_bytes, launch.shared_bytes,
                               device.shared_bytes_per_block_optin, device.name));
  }
  if (needs.max_threads_per_block > 0 &&
      threads > static_cast<std::uint64_t>(needs.max_threads_per_block)) {
    refuse(kernel, fmt::format("{} threads per block exceed the {} that its registers or launch "
                               "bounds allow on {}; use smaller blocks or __launch_bounds__({})",
                               threads, needs.max_threads_per_block, device.name, threads));
  }
}

}  // namespace tilescope::gpu

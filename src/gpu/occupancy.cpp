#include <fmt/format.h>

#include <algorithm>
#include <tilescope/gpu/occupancy.hpp>

#include "base/errors.hpp"
#include "base/format.hpp"

namespace tilescope::gpu {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

void require_sensible(const BlockNeeds& needs) {
  const auto refuse = [](std::string_view what, std::int64_t value, std::string_view rule) {
    throw usage_error("{} {}: {}", format_count(value), what, rule);
  };
  if (needs.threads < 1) refuse("threads per block", needs.threads, "a block has at least 1");
  if (needs.registers_per_thread < 0) {
    refuse("registers per thread", needs.registers_per_thread, "at least 0");
  }
  if (needs.shared_bytes < 0) refuse("bytes of shared memory", needs.shared_bytes, "at least 0");
}

// Blocks by registers; sets the allocated registers. `unlimited` if none are counted.
int blocks_by_registers(const BlockNeeds& needs, const DeviceProperties& device,
                        const AllocationUnits& units, Occupancy& result) {
  if (needs.registers_per_thread == 0) return unlimited;
  const std::int64_t warps = result.warps_per_block;
  if (units.registers_for_whole_block) {
    result.registers_per_block =
        round_up(round_up(warps, units.warp_unit) * device.warp_size * needs.registers_per_thread,
                 units.register_unit);
    return static_cast<int>(device.registers_per_sm / result.registers_per_block);
  }
  const std::int64_t per_warp =
      round_up(needs.registers_per_thread * device.warp_size, units.register_unit);
  result.registers_per_block = per_warp * warps;
  // The hardware checks a single block as if all parts of the register file got equally many warps.
  if (per_warp * round_up(warps, units.sub_partitions) > device.registers_per_block) return 0;
  const std::int64_t warps_of_a_part = device.registers_per_sm / units.sub_partitions / per_warp;
  return static_cast<int>(warps_of_a_part * units.sub_partitions / warps);
}

std::string why_impossible(const BlockNeeds& needs, const DeviceProperties& device,
                           const AllocationUnits& units, const Occupancy& result) {
  if (result.by_threads == 0) {
    return fmt::format(
        "{} threads per block: {} allows at most {}", format_count(needs.threads), device.name,
        format_count(std::min(device.max_threads_per_block, device.max_threads_per_sm)));
  }
  if (needs.registers_per_thread > units.max_registers_per_thread) {
    return fmt::format("{} registers per thread: {} allows at most {}",
                       format_count(needs.registers_per_thread), device.name,
                       units.max_registers_per_thread);
  }
  if (result.by_registers == 0) {
    return fmt::format(
        "{} threads with {} registers each take {} registers: {} has {} for a block; use smaller "
        "blocks or __launch_bounds__({})",
        format_count(needs.threads), needs.registers_per_thread,
        format_count(result.registers_per_block), device.name,
        format_count(device.registers_per_block), needs.threads);
  }
  return fmt::format("{} bytes of shared memory per block: {} allows at most {}",
                     format_count(needs.shared_bytes), device.name,
                     format_count(std::uint64_t{device.shared_bytes_per_block_optin}));
}

}  // namespace

std::string_view name_of(Limiter limiter) {
  constexpr std::string_view names[] = {"threads", "blocks", "registers", "shared_memory"};
  return names[static_cast<std::size_t>(limiter)];
}

Occupancy occupancy(const BlockNeeds& needs, const DeviceProperties& device,
                    const AllocationUnits& units) {
  require_sensible(needs);
  if (device.warp_size < 1 || device.max_threads_per_sm < 1) {
    throw usage_error("{} has no SMs to occupy", device.name);
  }
  Occupancy result;
  result.max_warps_per_sm = device.max_threads_per_sm / device.warp_size;
  result.by_blocks = device.max_blocks_per_sm;
  if (needs.threads <= device.max_threads_per_block) {
    result.warps_per_block =
        static_cast<int>((needs.threads + device.warp_size - 1) / device.warp_size);
    result.by_threads = result.max_warps_per_sm / result.warps_per_block;
    result.by_registers = needs.registers_per_thread > units.max_registers_per_thread
                              ? 0
                              : blocks_by_registers(needs, device, units, result);
  }
  const auto reserved = static_cast<std::int64_t>(device.reserved_shared_bytes_per_block);
  const auto most = static_cast<std::int64_t>(device.shared_bytes_per_block_optin) + reserved;
  const std::int64_t asked = std::min(needs.shared_bytes, most + 1);
  result.shared_bytes_per_block =
      round_up(asked + reserved, static_cast<std::int64_t>(units.shared_unit));
  if (result.shared_bytes_per_block > most) {
    result.by_shared_memory = 0;
  } else if (result.shared_bytes_per_block > 0) {
    result.by_shared_memory = static_cast<int>(
        static_cast<std::int64_t>(device.shared_bytes_per_sm) / result.shared_bytes_per_block);
  }

  const std::pair<Limiter, int> limits[] = {{Limiter::threads, result.by_threads},
                                            {Limiter::blocks, result.by_blocks},
                                            {Limiter::registers, result.by_registers},
                                            {Limiter::shared_memory, result.by_shared_memory}};
  int blocks = result.by_threads;
  for (const auto& [limiter, limit] : limits) {
    if (limit != unlimited) blocks = std::min(blocks, limit);
  }
  for (const auto& [limiter, limit] : limits) {
    if (limit == blocks) result.limiters.push_back(limiter);
  }
  result.blocks_per_sm = blocks;
  result.threads_per_sm = blocks == 0 ? 0 : static_cast<int>(blocks * needs.threads);
  result.warps_per_sm = blocks * result.warps_per_block;
  if (blocks == 0) result.impossible = why_impossible(needs, device, units, result);
  return result;
}

std::vector<OccupancyPoint> vary_threads(const BlockNeeds& needs, const DeviceProperties& device,
                                         const AllocationUnits& units) {
  std::vector<OccupancyPoint> points;
  for (int threads = device.warp_size; threads <= device.max_threads_per_block;
       threads += device.warp_size) {
    BlockNeeds varied = needs;
    varied.threads = threads;
    points.push_back({threads, occupancy(varied, device, units).warps_per_sm});
  }
  return points;
}

std::vector<OccupancyPoint> vary_registers(const BlockNeeds& needs, const DeviceProperties& device,
                                           const AllocationUnits& units) {
  std::vector<OccupancyPoint> points;
  for (int registers = 1; registers <= units.max_registers_per_thread; ++registers) {
    BlockNeeds varied = needs;
    varied.registers_per_thread = registers;
    points.push_back({registers, occupancy(varied, device, units).warps_per_sm});
  }
  return points;
}

std::vector<OccupancyPoint> vary_shared_memory(const BlockNeeds& needs,
                                               const DeviceProperties& device,
                                               const AllocationUnits& units, int steps) {
  std::vector<OccupancyPoint> points;
  const auto most = static_cast<std::int64_t>(device.shared_bytes_per_block_optin);
  for (int step = 0; step <= steps; ++step) {
    BlockNeeds varied = needs;
    varied.shared_bytes = most * step / steps;
    points.push_back({varied.shared_bytes, occupancy(varied, device, units).warps_per_sm});
  }
  return points;
}

int registers_for_full_occupancy(const DeviceProperties& device, const AllocationUnits& units) {
  const int warps = device.max_threads_per_sm / device.warp_size;
  int best = 0;
  for (int registers = 1; registers <= units.max_registers_per_thread; ++registers) {
    const std::int64_t per_warp =
        round_up(std::int64_t{registers} * device.warp_size, units.register_unit);
    const std::int64_t resident =
        device.registers_per_sm / units.sub_partitions / per_warp * units.sub_partitions;
    if (resident >= warps) best = registers;
  }
  return best;
}

std::int64_t shared_bytes_per_thread_at_full_occupancy(const DeviceProperties& device) {
  return static_cast<std::int64_t>(device.shared_bytes_per_sm) / device.max_threads_per_sm;
}

}  // namespace tilescope::gpu

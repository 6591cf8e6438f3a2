#include "emulator/special_register_values.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/one_of.hpp"

namespace tilescope::emulator {

using ptx::SpecialRegister;

bool depends_on_block(SpecialRegister special) {
  return is_one_of(
      special,
      {SpecialRegister::ctaid_x, SpecialRegister::ctaid_y, SpecialRegister::ctaid_z,
       SpecialRegister::clusterid_x, SpecialRegister::clusterid_y, SpecialRegister::clusterid_z,
       SpecialRegister::cluster_ctaid_x, SpecialRegister::cluster_ctaid_y,
       SpecialRegister::cluster_ctaid_z, SpecialRegister::cluster_ctarank, SpecialRegister::smid});
}

bool is_counter(SpecialRegister special) {
  return is_one_of(special,
                   {SpecialRegister::clock, SpecialRegister::clock_hi, SpecialRegister::clock64,
                    SpecialRegister::globaltimer, SpecialRegister::globaltimer_lo,
                    SpecialRegister::globaltimer_hi, SpecialRegister::pm, SpecialRegister::pm64});
}

bool is_known(SpecialRegister special) {
  return special != SpecialRegister::current_graph_exec;
}

bool names_reserved_shared(SpecialRegister special) {
  return is_one_of(
      special,
      {SpecialRegister::reserved_smem_offset_begin, SpecialRegister::reserved_smem_offset_end,
       SpecialRegister::reserved_smem_offset_cap, SpecialRegister::reserved_smem_offset});
}

namespace {

std::uint64_t shared_memory_value(const LaunchSetup& setup, const LaunchInfo& info,
                                  SpecialRegister special, std::uint64_t number) {
  const std::uint64_t declared =
      std::uint64_t{setup.program.static_shared_bytes()} + setup.dynamic_shared_bytes;
  switch (special) {
    // As on an H200: in units of 128 bytes; with the system's part in front.
    case SpecialRegister::total_smem_size:
      return (declared + 127) / 128 * 128;
    case SpecialRegister::aggr_smem_size:
      return kReservedSharedBytes + declared;
    case SpecialRegister::reserved_smem_offset_begin:
      return info.shared_bytes - kReservedSharedBytes;
    case SpecialRegister::reserved_smem_offset_end:
      return info.shared_bytes;
    case SpecialRegister::reserved_smem_offset_cap:
      return kReservedSharedBytes;
    // Two parts; cooperative groups wider than a warp meet in the second.
    case SpecialRegister::reserved_smem_offset:
      return info.shared_bytes - kReservedSharedBytes / (number == 0 ? 1 : 2);
    case SpecialRegister::dynamic_smem_size:
      return setup.dynamic_shared_bytes;
    default:
      return 0;
  }
}

/// Without clusters every block is a cluster of its own.
std::optional<std::uint64_t> cluster_value(const LaunchSetup& setup, SpecialRegister special,
                                           const Dim3& at) {
  const Dim3 size = setup.cluster;
  switch (special) {
    case SpecialRegister::is_explicit_cluster:
      return setup.explicit_cluster ? 1 : 0;
    case SpecialRegister::clusterid_x:
      return at.x / size.x;
    case SpecialRegister::clusterid_y:
      return at.y / size.y;
    case SpecialRegister::clusterid_z:
      return at.z / size.z;
    case SpecialRegister::nclusterid_x:
      return setup.grid.x / size.x;
    case SpecialRegister::nclusterid_y:
      return setup.grid.y / size.y;
    case SpecialRegister::nclusterid_z:
      return setup.grid.z / size.z;
    case SpecialRegister::cluster_ctaid_x:
      return at.x % size.x;
    case SpecialRegister::cluster_ctaid_y:
      return at.y % size.y;
    case SpecialRegister::cluster_ctaid_z:
      return at.z % size.z;
    case SpecialRegister::cluster_nctaid_x:
      return size.x;
    case SpecialRegister::cluster_nctaid_y:
      return size.y;
    case SpecialRegister::cluster_nctaid_z:
      return size.z;
    case SpecialRegister::cluster_ctarank:
      return at.x % size.x + size.x * (at.y % size.y + size.y * (at.z % size.z));
    case SpecialRegister::cluster_nctarank:
      return size.count();
    default:
      return std::nullopt;
  }
}

std::uint64_t value(const LaunchSetup& setup, const LaunchInfo& info, SpecialRegister special,
                    std::uint64_t number, std::uint32_t warp, std::uint32_t lane,
                    std::uint64_t block, const Dim3& index, std::uint64_t local_base) {
  const Dim3& size = setup.block;
  const std::uint32_t thread = warp * kWarpSize + lane;
  switch (special) {
    case SpecialRegister::none:
      return local_base + number;
    case SpecialRegister::tid_x:
      return thread % size.x;
    case SpecialRegister::tid_y:
      return thread / size.x % size.y;
    case SpecialRegister::tid_z:
      return thread / size.x / size.y;
    case SpecialRegister::ntid_x:
      return size.x;
    case SpecialRegister::ntid_y:
      return size.y;
    case SpecialRegister::ntid_z:
      return size.z;
    case SpecialRegister::ctaid_x:
      return index.x;
    case SpecialRegister::ctaid_y:
      return index.y;
    case SpecialRegister::ctaid_z:
      return index.z;
    case SpecialRegister::nctaid_x:
      return setup.grid.x;
    case SpecialRegister::nctaid_y:
      return setup.grid.y;
    case SpecialRegister::nctaid_z:
      return setup.grid.z;
    case SpecialRegister::laneid:
      return lane;
    case SpecialRegister::warpid:
      return warp;
    case SpecialRegister::nwarpid:
      return info.warps_per_block;
    case SpecialRegister::smid:
      return block % setup.sm_count;
    case SpecialRegister::nsmid:
      return setup.sm_count;
    case SpecialRegister::gridid:
      return setup.grid_id;
    case SpecialRegister::lanemask_eq:
      return 1u << lane;
    case SpecialRegister::lanemask_le:
      return (2u << lane) - 1;
    case SpecialRegister::lanemask_lt:
      return (1u << lane) - 1;
    case SpecialRegister::lanemask_ge:
      return ~((1u << lane) - 1);
    case SpecialRegister::lanemask_gt:
      return ~((2u << lane) - 1);
    // The address of the workspace of grid-wide synchronisation: high half, low half.
    case SpecialRegister::envreg:
      return number == 1 ? setup.grid_workspace >> 32 : number == 2 ? setup.grid_workspace : 0;
    default:
      break;
  }
  if (const auto cluster = cluster_value(setup, special, index)) return *cluster;
  return shared_memory_value(setup, info, special, number);
}

}  // namespace

std::uint64_t other_block_special(const LaunchSetup& setup, const LaunchInfo& info,
                                  const SpecialUse& use, std::uint64_t block, const Dim3& index) {
  const std::uint64_t v = value(setup, info, use.special, use.addend, 0, 0, block, index, 0);
  if (use.bytes != 0) return v;
  return v != 0 ? kAllLanes : 0;
}

void fill_special(const LaunchSetup& setup, const LaunchInfo& info, const SpecialUse& use,
                  std::uint8_t* registers, std::uint32_t warp, std::uint64_t block,
                  std::uint64_t local_base) {
  std::uint8_t* at = registers + use.offset;
  const bool same_in_all_lanes = depends_on_block(use.special);
  const Dim3 index = setup.block_index(block);
  std::uint64_t v = 0;
  if (use.bytes == 0) {
    v = value(setup, info, use.special, use.addend, warp, 0, block, index, local_base);
    *reinterpret_cast<LaneMask*>(at) = v != 0 ? kAllLanes : 0;
    return;
  }
  if (same_in_all_lanes) {
    v = value(setup, info, use.special, use.addend, warp, 0, block, index, local_base);
    if (use.bytes == 8) {
      std::fill_n(reinterpret_cast<std::uint64_t*>(at), kWarpSize, v);
    } else {
      std::fill_n(reinterpret_cast<std::uint32_t*>(at), kWarpSize, static_cast<std::uint32_t>(v));
    }
    return;
  }
  for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
    v = value(setup, info, use.special, use.addend, warp, lane, block, index, local_base);
    std::memcpy(at + lane * use.bytes, &v, use.bytes);
  }
}

}  // namespace tilescope::emulator

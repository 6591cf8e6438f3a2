// Addresses of shared memory in a cluster: mapa, getctarank; and the barrier of the cluster.
#include <algorithm>
#include <bit>

#include "emulator/address_space.hpp"
#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {
namespace {

std::uint64_t read(Context& w, std::uint32_t offset, unsigned bytes, int lane) {
  return bytes == 4 ? r32(w, offset)[lane] : r64(w, offset)[lane];
}

// The address of the same variable in the block of rank c.b; for the own rank the address itself,
// as on the chip. A rank that no cluster has may be computed and never used.
void map_address(Context& w, const Code& c) {
  const std::uint64_t window = c.space == kGenericSpace ? kSharedWindow : 0;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t address = read(w, c.a, c.bytes, lane) - window;
    const std::uint32_t rank = std::min(r32(w, c.b)[lane], kLastRank);
    const std::uint64_t offset = address % kRankBytes;
    const std::uint64_t mapped =
        window + (rank == w.block->rank() ? offset : cluster_address(rank, offset));
    if (c.bytes == 4) {
      r32(w, c.dst)[lane] = static_cast<std::uint32_t>(mapped);
    } else {
      r64(w, c.dst)[lane] = mapped;
    }
  }
}

void rank_of_address(Context& w, const Code& c) {
  const std::uint64_t window = c.space == kGenericSpace ? kSharedWindow : 0;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t address = read(w, c.a, c.bytes, lane) - window;
    r32(w, c.dst)[lane] = shared_place(address, w.block->rank()).rank;
  }
}

bool decode_cluster_address(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Type type = in.modifiers.type();
  if (!set_space(in.modifiers.space, code)) return false;
  if (code.space != kGenericSpace && code.space != kClusterSpace) return false;
  code.bytes = static_cast<std::uint16_t>(ptx::byte_size(type));
  if (code.bytes != 4 && code.bytes != 8) return false;
  code.dst = d.destination(in.operands[0]);
  code.a = d.source(in.operands[1], type);
  return true;
}

}  // namespace

bool decode_mapa(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  if (!decode_cluster_address(d, in, code)) return false;
  code.b = d.source(in.operands[2], ptx::Type::u32);
  code.execute = map_address;
  d.needs_->maps_ranks = true;
  return true;
}

bool decode_getctarank(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  code.execute = rank_of_address;
  return decode_cluster_address(d, in, code);
}

// The warp executes it (Warp::cluster_barrier), by Code::access.
bool decode_barrier_cluster(FunctionDecoder&, const ptx::Instruction& in, Code& code) {
  const bool arrives = in.modifiers.barrier == ptx::BarrierKind::arrive;
  if (!arrives && in.modifiers.barrier != ptx::BarrierKind::wait) return false;
  code.access =
      static_cast<std::uint8_t>(arrives ? BarrierOperation::arrive : BarrierOperation::sync);
  return true;
}

void announce_request(Context& w, const Code& c, const LaneTargets& targets, std::uint32_t lanes,
                      unsigned bytes, ClusterOperation operation) {
  if ((w.events & kSharedAccess) == 0) return;
  std::uint32_t ranks[32];
  for (LaneMask m = lanes; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const Block* const owner = targets.owner[lane];
    ranks[lane] = owner != nullptr ? owner->rank() : w.block->rank();
  }
  const ClusterRequest request{c.id, w.warp_index, lanes, operation, bytes, targets.address, ranks};
  for (const auto& slot : w.block->observers()) {
    if ((slot.events & kSharedAccess) != 0) slot.observer->cluster_request(request);
  }
}

}  // namespace tilescope::emulator

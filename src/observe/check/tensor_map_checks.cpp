// The checks of tensor maps in global memory: a copy sees their changes behind a release and an
// acquire of the tensor map's proxy, and they stay as they are while a copy reads them.
//
// The host's writes count as a change too: stream order does not order the proxy. Maps in
// parameters and in constant memory do not change while a kernel runs.
#include <algorithm>
#include <bit>

#include "emulator/memory_map.hpp"
#include "observe/check/async_checks.hpp"

namespace tilescope::observe {
namespace {

constexpr std::uint32_t kMapBytes = 128;

AsyncMistake map_mistake(const EngineWork& copy, AsyncSide reader, AsyncFault fault) {
  AsyncMistake found;
  found.kind = FindingKind::tensor_map_in_use;
  found.facts.engine = copy.engine;
  found.facts.fault = fault;
  found.first = reader;
  found.first.bytes = kMapBytes;
  found.address = copy.map;
  found.space = emulator::Space::global;
  return found;
}

}  // namespace

void AsyncChecks::map_fence(Warp warp, const emulator::ProxyFence& fence) {
  if (fence.kind == emulator::ProxyFenceKind::tensor_map_release) order_.release_maps(warp);
  if (fence.kind != emulator::ProxyFenceKind::tensor_map_acquire) return;
  map_fences_[fence.map].push_back({warp, order_.time(warp), order_.of(warp).maps});
}

/// A copy begins to read its map.
void AsyncChecks::use_map(WorkId id) {
  const EngineWork& copy = work(id);
  const emulator::Allocation* in = memory_.find(copy.map);
  if (in == nullptr || in->kind() == emulator::AllocationKind::constant_variable) return;
  std::vector<WorkId>& readers = map_readers_[copy.map];
  std::erase_if(readers, [&](WorkId reader) { return ended(copy.warp, work(reader)); });
  readers.push_back(id);
  const AsyncSide reader = side_of(copy, ThreadAction::read);
  if (const auto change = unseen_change(copy)) {
    AsyncMistake found = map_mistake(copy, reader, AsyncFault::fence);
    found.second = change;
    log_.add(found);
  } else if (!is_acquired(copy, nullptr)) {
    log_.add(map_mistake(copy, reader, AsyncFault::fence));
  }
}

/// Whether an acquire of the copy's map by its block, which the copy's thread knows, shows the
/// write; null: whether there is any.
bool AsyncChecks::is_acquired(const EngineWork& copy, const WarpEvent* write) const {
  const auto found = map_fences_.find(copy.map);
  if (found == map_fences_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const MapFence& fence) {
    return order_.rank_of(fence.warp) == order_.rank_of(copy.warp) &&
           order_.knows(copy.warp, fence.warp, fence.time) &&
           (write == nullptr || (write->warp < fence.released.size() &&
                                 write->event.time < fence.released[write->warp]));
  });
}

/// The last write to the copy's map by a thread of the cluster that no proxy fence shows it.
std::optional<AsyncSide> AsyncChecks::unseen_change(const EngineWork& copy) const {
  std::optional<AsyncSide> last;
  std::uint32_t latest = 0;
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
    if (members_[rank].global == nullptr) continue;
    members_[rank].global->visit(copy.map, kMapBytes, [&](const Cell& cell, std::uint64_t) {
      if (cell.write.time < order_.start(rank) || (last && cell.write.time <= latest)) return;
      const WarpEvent write{order_.warp_of(rank, cell.write.tag.warp()), cell.write};
      if (is_acquired(copy, &write)) return;
      latest = cell.write.time;
      last = side_of(rank, cell.write, ThreadAction::write);
    });
  }
  return last;
}

void AsyncChecks::change_map(std::uint32_t by, const emulator::Access& access) {
  const Warp warp = order_.warp_of(by, access.warp);
  for (auto& [map, readers] : map_readers_) {
    for (emulator::LaneMask m = access.mask; m != 0 && !readers.empty(); m &= m - 1) {
      const int lane = std::countr_zero(m);
      const std::uint64_t at = access.addresses[lane];
      if (at >= map + kMapBytes || at + access.bytes <= map) continue;
      for (const WorkId reader : readers) {
        const EngineWork& copy = work(reader);
        if (ended(warp, copy)) continue;
        AsyncMistake found = map_mistake(copy, side_of(copy, ThreadAction::read), AsyncFault::wait);
        if (copy.mbarrier != kNoMbarrier) {
          found.mbarrier = copy.offset;
          found.facts.phase = copy.done ? copy.phase : order_.phase(copy.mbarrier);
        }
        found.second = {access.instruction, members_[by].block,
                        access.warp * emulator::kWarpSize + static_cast<std::uint32_t>(lane),
                        ThreadAction::write};
        log_.add(found);
      }
      readers.clear();  // said once
    }
  }
}

}  // namespace tilescope::observe

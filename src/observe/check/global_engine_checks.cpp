// The checks of global memory that engines read and write: what a bulk store writes belongs to it
// until its thread has waited for the writes, and what a bulk load reads has to be shown to the
// asynchronous proxy if threads of the cluster wrote it in this launch.
#include <algorithm>

#include "observe/check/async_checks.hpp"
#include "observe/check/race_checker.hpp"

namespace tilescope::observe {

/// Whether the warp knows that the work has written global memory.
bool AsyncChecks::has_written(Warp warp, const EngineWork& work) const {
  return work.written != 0 && order_.knows(warp, work.warp, work.written);
}

void AsyncChecks::store_to_global(WorkId id, std::uint64_t address, std::uint32_t bytes) {
  const Warp issuer = work(id).warp;
  for (std::uint64_t page = address / kGlobalPage; page * kGlobalPage < address + bytes; ++page) {
    std::vector<GlobalWrite>& writes = global_writes_[page];
    // A store to the same bytes by the same warp ends no earlier than the one before.
    std::erase_if(writes, [&](const GlobalWrite& write) {
      const EngineWork& before = work(write.work);
      const bool same = write.begin == address && write.end == address + bytes;
      return has_written(issuer, before) || (same && before.warp == issuer);
    });
    writes.push_back({address, address + bytes, id});
  }
}

/// Calls `visit` with the first byte and the work of stores under way to these bytes.
template <class Visit>
void AsyncChecks::visit_stores(Warp warp, std::uint64_t address, std::uint64_t bytes,
                               Visit&& visit) {
  for (std::uint64_t page = address / kGlobalPage; page * kGlobalPage < address + bytes; ++page) {
    const auto found = global_writes_.find(page);
    if (found == global_writes_.end()) continue;
    for (const GlobalWrite& write : found->second) {
      if (write.end <= address || address + bytes <= write.begin) continue;
      if (!has_written(warp, work(write.work))) {
        visit(std::max(write.begin, address), work(write.work));
      }
    }
  }
}

void AsyncChecks::global_access(std::uint32_t by, const emulator::Access& access,
                                std::span<const Run> runs) {
  if (verb_of(access.kind) == AccessVerb::atomic) return;
  const Toucher toucher{order_.warp_of(by, access.warp), by, access, false};
  const std::uint64_t base = base_address(access);
  for (const Run& run : runs) {
    visit_stores(toucher.warp, base + static_cast<std::uint64_t>(run.offset), run.bytes,
                 [&](std::uint64_t at, const EngineWork& store) {
                   AsyncMistake found =
                       mistake(FindingKind::unfinished_copy, AsyncFault::wait, store, true, at);
                   found.second = side_of(toucher, at);
                   found.space = emulator::Space::global;
                   log_.add(found);
                 });
  }
}

void AsyncChecks::load_from_global(WorkId id, std::uint64_t address, std::uint32_t bytes) {
  const EngineWork& load = work(id);
  if (!global_writes_.empty()) {
    visit_stores(load.warp, address, bytes, [&](std::uint64_t at, const EngineWork& store) {
      AsyncMistake found = mistake(FindingKind::unfinished_copy, AsyncFault::wait, store, true, at);
      found.second = side_of(load, ThreadAction::read);
      found.space = emulator::Space::global;
      log_.add(found);
    });
  }
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
    if (members_[rank].global == nullptr) continue;
    members_[rank].global->visit(address, bytes, [&](const Cell& cell, std::uint64_t at) {
      check_global_writers(load, rank, at, cell);
    });
  }
}

void AsyncChecks::check_global_writers(const EngineWork& load, std::uint32_t rank,
                                       std::uint64_t address, const Cell& cell) {
  for (const Event& event : {cell.write, cell.atomic}) {
    if (event.time < order_.start(rank)) continue;
    const Warp warp = order_.warp_of(rank, event.tag.warp());
    const bool ordered = order_.knows(load.warp, warp, event.time);
    if (ordered && order_.fenced(load.warp, warp, event.time)) continue;
    AsyncMistake found =
        mistake(ordered ? FindingKind::missing_proxy_fence : FindingKind::race,
                ordered ? AsyncFault::fence : AsyncFault::order, load, false, address);
    found.second = side_of(rank, event, ThreadAction::write);
    found.space = emulator::Space::global;
    log_.add(found);
  }
}

}  // namespace tilescope::observe

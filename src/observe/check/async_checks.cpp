#include "observe/check/async_checks.hpp"

#include <algorithm>
#include <bit>

#include "observe/check/race_checker.hpp"

namespace tilescope::observe {
namespace {

constexpr std::uint32_t kLaneAndStrength = 0x7f;  ///< bits of AccessTag
constexpr std::uint32_t kMatrixRow = 16;  ///< bytes that a lane of ldmatrix and stmatrix names

std::uint32_t bytes_of(const emulator::Access& access) {
  const bool matrix = access.kind == emulator::AccessKind::matrix_load ||
                      access.kind == emulator::AccessKind::matrix_store;
  return matrix ? kMatrixRow : access.bytes;
}

/// Names a store by its time, warp and instruction.
std::uint64_t store_key(std::uint32_t rank, std::uint32_t time, AccessTag tag) {
  return (std::uint64_t{time} << 32 | (tag.bits & ~kLaneAndStrength)) ^ std::uint64_t{rank} << 60;
}

/// Whether the thread's action came before the copy, as the copy's issuer knew.
bool is_covered(const EngineWork* copy, AsyncOrder::Warp warp, std::uint32_t time) {
  return copy != nullptr && warp < copy->issuer_knows.size() && time < copy->issuer_knows[warp];
}

}  // namespace

AsyncChecks::AsyncChecks(const emulator::LaunchInfo& launch)
    : memory_(launch.memory),
      order_(static_cast<std::uint32_t>(launch.cluster.count()), launch.warps_per_block),
      members_(launch.cluster.count()),
      shadows_(members_.size()),
      products_(members_.size() * launch.warps_per_block),
      product_ends_(products_.size()),
      reaches_(members_.size(), std::vector<Reach>(products_.size())) {
  for (EngineShadow& shadow : shadows_) shadow.resize(launch.shared_bytes);
}

void AsyncChecks::enter(std::uint32_t rank, const AsyncMember& member) {
  members_[rank] = member;
  order_.enter(rank, *member.order);
}

// --- sides and mistakes
// ----------------------------------------------------------------------------

AsyncSide AsyncChecks::side_of(const EngineWork& work, ThreadAction action) const {
  return {work.instruction, members_[order_.rank_of(work.warp)].block,
          order_.index_of(work.warp) * emulator::kWarpSize + static_cast<std::uint32_t>(work.lane),
          action, work.bytes};
}

AsyncSide AsyncChecks::side_of(std::uint32_t rank, const Event& event, ThreadAction action) const {
  return {event.tag.instruction(), members_[rank].block, event.tag.thread(), action};
}

AsyncSide AsyncChecks::side_of(const Toucher& toucher, std::uint64_t address) const {
  const emulator::Access& access = toucher.access;
  const auto lane_near = [&](std::uint64_t bytes) {
    emulator::LaneMask m = access.mask;
    for (; m != 0; m &= m - 1) {
      const std::uint64_t at = access.addresses[std::countr_zero(m)];
      if (at < address + bytes && address < at + bytes_of(access)) break;
    }
    return std::countr_zero(m);
  };
  int lane = lane_near(1);
  if (lane >= emulator::kWarpSize) lane = lane_near(Granule::kBytes);
  if (lane >= emulator::kWarpSize) lane = std::countr_zero(access.mask);
  return {access.instruction, members_[toucher.by].block,
          access.warp * emulator::kWarpSize + static_cast<std::uint32_t>(lane),
          action_of(verb_of(access.kind))};
}

AsyncMistake AsyncChecks::mistake(FindingKind kind, AsyncFault fault, const EngineWork& work,
                                  bool writes, std::uint64_t address) const {
  AsyncMistake found;
  found.kind = kind;
  found.facts.engine = work.engine;
  found.facts.fault = fault;
  found.facts.engine_writes = writes;
  found.facts.phase = work.done ? work.phase : 0;
  found.first = side_of(work, writes ? ThreadAction::write : ThreadAction::read);
  if (work.mbarrier != kNoMbarrier) {
    found.mbarrier = work.offset;
    if (!work.done) found.facts.phase = order_.phase(work.mbarrier);
  }
  found.address = address;
  return found;
}

bool AsyncChecks::ended(Warp warp, const EngineWork& work) const {
  if (work.engine == EngineKind::tensor_cores) {
    const Warp first = work.warp - order_.index_of(work.warp) % kWarpsPerGroup;
    const auto& ends = product_ends_[first];
    if (work.group >= ends.size()) return false;
    for (std::uint32_t i = 0; i < kWarpsPerGroup; ++i) {
      const std::uint32_t time = ends[work.group][i];
      if (time != 0 && order_.knows(warp, first + i, time)) return true;
    }
    return false;
  }
  if (!work.done) return false;
  if (work.mbarrier != kNoMbarrier) return order_.knows_phase(warp, work.mbarrier, work.phase);
  return order_.knows(warp, work.warp, work.ended);
}

// --- threads
// ----------------------------------------------------------------------------------------

void AsyncChecks::access(std::uint32_t rank, const emulator::Access& access,
                         std::span<const Run> runs, bool same_bits) {
  const bool writes = verb_of(access.kind) != AccessVerb::read && !same_bits;
  const Toucher toucher{order_.warp_of(rank, access.warp), rank, access, writes};
  if (same_bits) {
    same_bits_.insert(store_key(rank, members_[rank].order->time(),
                                AccessTag::of(access.instruction, access.warp, 0, {})));
  }
  const std::uint64_t base = base_address(access);
  for (const Run& run : runs) {
    touch(rank, base + static_cast<std::uint64_t>(run.offset), run.bytes, toucher);
  }
}

void AsyncChecks::remote_access(std::uint32_t by, const emulator::Access& access,
                                std::uint32_t rank) {
  const Toucher toucher{order_.warp_of(by, access.warp), by, access,
                        verb_of(access.kind) != AccessVerb::read};
  for (emulator::LaneMask m = access.mask; m != 0; m &= m - 1) {
    const std::uint64_t address = access.addresses[std::countr_zero(m)];
    touch(rank, address, bytes_of(access), toucher);
    reach(toucher.warp, rank, side_of(toucher, address), address);
  }
}

void AsyncChecks::touch(std::uint32_t rank, std::uint64_t address, std::uint32_t bytes,
                        const Toucher& toucher) {
  shadows_[rank].visit(address, bytes, [&](Granule& granule, std::uint64_t at) {
    if (granule.write != kNoWork && !ended(toucher.warp, work(granule.write))) {
      report_unfinished(work(granule.write), granule.previous, std::max(at, address), toucher);
    }
    if (!toucher.writes) return;
    for (const WorkId reader : granule.reads) {
      if (reader == kNoWork || ended(toucher.warp, work(reader))) continue;
      const bool products = work(reader).engine == EngineKind::tensor_cores;
      AsyncMistake found =
          mistake(products ? FindingKind::wgmma_order : FindingKind::bulk_source_reuse,
                  AsyncFault::wait, work(reader), false, std::max(at, address));
      found.second = side_of(toucher, *found.address);
      log_.add(found);
    }
  });
  if (!shadows_[rank].words().empty()) touch_stores(rank, address, bytes, toucher);
}

void AsyncChecks::touch_stores(std::uint32_t rank, std::uint64_t address, std::uint32_t bytes,
                               const Toucher& toucher) {
  auto& words = shadows_[rank].words();
  for (std::uint64_t at = address & ~std::uint64_t{3}; at < address + bytes; at += 4) {
    const auto found = words.find(at);
    if (found == words.end() || ended(toucher.warp, work(found->second))) continue;
    report_unfinished(work(found->second), kNoWork, at, toucher);
  }
}

/// The data of a copy is accessed by a thread that does not know its end. Who has not given the
/// memory back since it had the data of the copy before, was overtaken by this one.
void AsyncChecks::report_unfinished(const EngineWork& writer, WorkId previous,
                                    std::uint64_t address, const Toucher& toucher) {
  bool overtaken = false;
  if (previous != kNoWork && ended(toucher.warp, work(previous)) &&
      work(previous).mbarrier != kNoMbarrier && !writer.issuer_knows.empty()) {
    overtaken = writer.issuer_knows[toucher.warp] <=
                order_.learned_at(toucher.warp, work(previous).mbarrier);
  }
  AsyncMistake found =
      mistake(overtaken ? FindingKind::early_overwrite : FindingKind::unfinished_copy,
              AsyncFault::wait, writer, true, address);
  found.second = side_of(toucher, address);
  log_.add(found);
}

void AsyncChecks::check_started(Warp warp, std::uint32_t rank, const AsyncSide& side,
                                std::uint64_t address) {
  if (order_.knows_of(warp, rank)) return;
  AsyncMistake found;
  found.kind = FindingKind::cluster_not_started;
  found.facts.fault = AsyncFault::cluster;
  found.facts.rank = rank;
  found.first = side;
  found.address = address;
  log_.add(found);
}

/// The warp accesses memory of another block, which must have started and must stay.
void AsyncChecks::reach(Warp warp, std::uint32_t rank, const AsyncSide& side,
                        std::uint64_t address) {
  check_started(warp, rank, side, address);
  reaches_[rank][warp] = {order_.time(warp), side, address};
}

// --- engines
// ----------------------------------------------------------------------------------------

WorkId AsyncChecks::add(EngineWork&& work) {
  works_.push_back(std::move(work));
  return static_cast<WorkId>(works_.size());
}

/// Calls `visit` with the records of threads' accesses to a granule since the block began.
template <class Visit>
void AsyncChecks::visit_accesses(std::uint32_t rank, std::uint64_t address, Visit&& visit) const {
  const ShadowPage* page = members_[rank].accesses->find(address);
  if (page == nullptr) return;
  const auto offset = static_cast<std::uint32_t>(address % ShadowPage::kBytes);
  if (offset + Granule::kBytes <= page->low || offset >= page->high) return;
  const std::uint32_t unit = page->by_bytes ? 1 : 4;
  for (std::uint32_t at = 0; at < Granule::kBytes; at += unit) {
    visit(page->cells[(offset + at) / unit], address + at);
  }
}

void AsyncChecks::engine_reads(WorkId id, std::uint32_t rank, std::uint64_t address,
                               std::uint32_t bytes) {
  const EngineWork& reader = work(id);
  shadows_[rank].visit(address, bytes, [&](Granule& granule, std::uint64_t at) {
    const EngineWork* last = granule.write == kNoWork ? nullptr : &work(granule.write);
    if (last != nullptr && !ended(reader.warp, *last)) {
      AsyncMistake found = mistake(FindingKind::unfinished_copy, AsyncFault::wait, *last, true, at);
      found.second = side_of(reader, ThreadAction::read);
      log_.add(found);
    }
    visit_accesses(rank, at, [&](const Cell& cell, std::uint64_t word) {
      check_writers(reader, rank, word, cell, last);
    });
    WorkId* slot = granule.reads.data();
    for (WorkId& held : granule.reads) {
      if (held == kNoWork || work(held).warp == reader.warp || ended(reader.warp, work(held))) {
        slot = &held;
        break;
      }
    }
    *slot = id;
  });
}

void AsyncChecks::check_writers(const EngineWork& reader, std::uint32_t rank, std::uint64_t address,
                                const Cell& cell, const EngineWork* last) {
  for (const Event& event : {cell.write, cell.atomic}) {
    if (event.time < order_.start(rank)) continue;
    const Warp warp = order_.warp_of(rank, event.tag.warp());
    const bool ordered = order_.knows(reader.warp, warp, event.time);
    if (ordered &&
        (order_.fenced(reader.warp, warp, event.time) || is_covered(last, warp, event.time))) {
      continue;
    }
    if (same_bits_.contains(store_key(rank, event.time, event.tag))) continue;
    AsyncMistake found =
        mistake(ordered ? FindingKind::missing_proxy_fence : FindingKind::race,
                ordered ? AsyncFault::fence : AsyncFault::order, reader, false, address);
    found.second = side_of(rank, event, ThreadAction::write);
    log_.add(found);
  }
}

void AsyncChecks::engine_writes(WorkId id, std::uint32_t rank, std::uint64_t address,
                                std::uint32_t bytes) {
  const EngineWork& writer = work(id);
  shadows_[rank].visit(address, bytes, [&](Granule& granule, std::uint64_t at) {
    if (granule.write == id) return;  // another piece of the same box
    const EngineWork* last = granule.write == kNoWork ? nullptr : &work(granule.write);
    if (last != nullptr && !ended(writer.warp, *last)) {
      AsyncMistake found =
          mistake(FindingKind::early_overwrite, AsyncFault::wait, writer, true, at);
      found.second = side_of(*last, ThreadAction::write);
      log_.add(found);
    }
    visit_accesses(rank, at, [&](const Cell& cell, std::uint64_t word) {
      check_users(writer, rank, word, cell, last);
    });
    check_readers(writer, at, granule);
    granule.previous = granule.write;
    granule.write = id;
  });
}

/// Threads that may still use what the engine writes over.
void AsyncChecks::check_users(const EngineWork& writer, std::uint32_t rank, std::uint64_t address,
                              const Cell& cell, const EngineWork* last) {
  const auto check = [&](const Event& event, ThreadAction action) {
    if (event.time < order_.start(rank)) return;
    const Warp warp = order_.warp_of(rank, event.tag.warp());
    if (order_.knows(writer.warp, warp, event.time) || is_covered(last, warp, event.time)) return;
    AsyncMistake found =
        mistake(FindingKind::early_overwrite, AsyncFault::order, writer, true, address);
    found.second = side_of(rank, event, action);
    log_.add(found);
  };
  check(cell.write, ThreadAction::write);
  check(cell.atomic, ThreadAction::atomic);
  for (const Event& reader : cell.reader) check(reader, ThreadAction::read);
}

/// Engines that may still read what the engine writes over. A warp that gave the memory back before
/// its products were done is to blame, else who did not wait for it.
void AsyncChecks::check_readers(const EngineWork& writer, std::uint64_t address,
                                const Granule& granule) {
  for (const WorkId id : granule.reads) {
    if (id == kNoWork || ended(writer.warp, work(id))) continue;
    const EngineWork& reader = work(id);
    const bool given_back = order_.knows(writer.warp, reader.warp, reader.issued);
    const FindingKind kind = reader.engine != EngineKind::tensor_cores
                                 ? FindingKind::bulk_source_reuse
                             : given_back ? FindingKind::wgmma_order
                                          : FindingKind::early_overwrite;
    const bool by_writer = kind == FindingKind::early_overwrite;
    AsyncMistake found = by_writer ? mistake(kind, AsyncFault::order, writer, true, address)
                                   : mistake(kind, AsyncFault::wait, reader, false, address);
    found.second =
        by_writer ? side_of(reader, ThreadAction::read) : side_of(writer, ThreadAction::write);
    log_.add(found);
  }
}

// --- the end
// ----------------------------------------------------------------------------------------

void AsyncChecks::leave(std::uint32_t rank, bool complete) {
  if (!complete) return;
  end_works(rank);
  for (Warp warp = 0; warp < reaches_[rank].size(); ++warp) {
    const Reach& last = reaches_[rank][warp];
    if (last.time == 0 || order_.block_knows(rank, warp, last.time)) continue;
    AsyncMistake found;
    found.kind = FindingKind::cluster_exit;
    found.facts.fault = AsyncFault::cluster;
    found.facts.rank = rank;
    found.first = last.side;
    found.address = last.address;
    log_.add(found);
  }
}

/// Reports work that the block's threads, or threads that write its memory, started and nobody has
/// waited for.
void AsyncChecks::end_works(std::uint32_t rank) {
  for (const EngineWork& work : works_) {
    const bool on_mbarrier = work.mbarrier != kNoMbarrier;
    if ((on_mbarrier ? work.target : order_.rank_of(work.warp)) != rank) continue;
    bool known = on_mbarrier ? false : work.done;
    for (std::uint32_t w = 0; on_mbarrier && !known && w < products_.size() / members_.size();
         ++w) {
      known = ended(order_.warp_of(rank, w), work);
    }
    if (known) continue;
    const bool forgotten = work.engine == EngineKind::tensor_cores && !work.committed;
    AsyncMistake found =
        mistake(forgotten ? FindingKind::wgmma_order : FindingKind::unfinished_async_work,
                on_mbarrier || work.committed ? AsyncFault::wait : AsyncFault::commit, work,
                on_mbarrier, 0);
    found.address.reset();
    log_.add(found);
  }
}

}  // namespace tilescope::observe

#include "observe/check/mbarrier_protocol.hpp"

#include <algorithm>
#include <bit>

#include "emulator/address_space.hpp"
#include "observe/source_place.hpp"

namespace tilescope::observe {
namespace {

using emulator::LaneMask;
using emulator::MbarrierAction;
using emulator::MbarrierUse;

// The word of an mbarrier counts up to this many bytes.
constexpr std::int64_t kMostBytes = emulator::MbarrierWord::kMostTransactions;

std::uint32_t thread_of(std::uint32_t warp, int lane) {
  return warp * emulator::kWarpSize + static_cast<std::uint32_t>(lane);
}

}  // namespace

/// Why threads of a hang wait, and how sure it is that this is the cause: the lowest is.
struct MbarrierProtocol::Hang {
  enum class Reason { bytes, missed, arrivals, nobody_came } reason;
  PhaseMistake mistake;
};

void MbarrierProtocol::begin_block(const emulator::BlockInfo& block) {
  block_ = block;
  barriers_.clear();
  refused_ = reported_ = false;
}

ThreadPlace MbarrierProtocol::place_of(const emulator::BulkOrigin& origin) const {
  return thread_place(launch_, block_, origin);
}

MbarrierProtocol::View& MbarrierProtocol::view(Barrier& barrier, std::uint32_t thread) const {
  if (barrier.views.empty()) {
    barrier.views.resize(std::size_t{launch_.warps_per_block} * emulator::kWarpSize);
  }
  return barrier.views[thread];
}

PhaseFacts MbarrierProtocol::facts_of(const Barrier& barrier, PhaseFault fault) const {
  return {.fault = fault,
          .barrier = {},
          .phase = static_cast<std::uint64_t>(barrier.phase),
          .expected_arrivals = barrier.expected_arrivals,
          .arrivals = barrier.arrivals,
          .expected_bytes = barrier.expected_bytes,
          .bytes = barrier.bytes};
}

/// Keeps the first mistake with a barrier; the others may follow from it.
void MbarrierProtocol::report(Barrier& barrier, std::uint32_t offset, PhaseMistake mistake) {
  if (barrier.brings_bytes && !barrier.early.empty()) mistake = early_pass(barrier);
  barrier.reported = reported_ = true;
  explains_ |= barrier.awaited;
  mistake.offset = offset;
  log_.add(mistake);
}

/// Tests that passed before the first phase was over are right for those who fill what is empty.
/// Others have not waited for what the first phase brings.
PhaseMistake MbarrierProtocol::early_pass(const Barrier& barrier) const {
  const auto& [warp, early] = *barrier.early.begin();
  PhaseFacts facts = facts_of(barrier, PhaseFault::passes_at_once);
  facts.phase = 0;
  return {.kind = FindingKind::phase_parity,
          .facts = facts,
          .first = place_of({early.instruction, block_.rank, warp, std::countr_zero(early.lanes)}),
          .first_action = ThreadAction::wait,
          .second = barrier.expectation ? barrier.expectation : barrier.arrival};
}

void MbarrierProtocol::fence(const emulator::ProxyFence& fence) {
  if (fence.kind != emulator::ProxyFenceKind::async &&
      fence.kind != emulator::ProxyFenceKind::mbarrier_init) {
    return;
  }
  for (auto& [offset, barrier] : barriers_) barrier.fenced = true;
}

/// A relaxed arrival shows the other blocks only what has been fenced.
void MbarrierProtocol::cluster_barrier(const emulator::ClusterBarrier& barrier) {
  const ptx::Instruction& source = *launch_.program.instruction(barrier.instruction).source;
  if (barrier.waited || source.modifiers.ordering != ptx::Ordering::relaxed) return;
  for (auto& [offset, each] : barriers_) {
    if (each.init.thread / emulator::kWarpSize == barrier.warp) each.shown = each.fenced;
  }
}

void MbarrierProtocol::report_init(Barrier& barrier, const MbarrierUse& use) {
  barrier.fenced = barrier.shown = true;  // said once
  log_.add({.kind = FindingKind::missing_mbarrier_fence,
            .severity = Severity::warning,
            .facts = facts_of(barrier, PhaseFault::not_fenced),
            .offset = use.offset,
            .first = barrier.init,
            .second = place_of(use.origin)});
}

void MbarrierProtocol::use(const MbarrierUse& use) {
  if (use.action == MbarrierAction::init) {
    init(use);
    return;
  }
  const auto found = barriers_.find(use.offset);
  if (found == barriers_.end()) return;  // reported as a read of memory without contents
  Barrier& barrier = found->second;
  if (!barrier.shown && use.origin.rank != block_.rank) report_init(barrier, use);
  switch (use.action) {
    case MbarrierAction::init:
      break;
    case MbarrierAction::invalidate:
      barriers_.erase(found);
      break;
    case MbarrierAction::expect:
      expect(barrier, use);
      break;
    case MbarrierAction::arrive:
    case MbarrierAction::drop:
      arrive(barrier, use);
      break;
    case MbarrierAction::announce:
      announce(barrier, use);
      break;
    case MbarrierAction::complete:
      complete(barrier, use);
      if (use.ends_phase()) end_phase(barrier, use);
      break;
    case MbarrierAction::test:
      test(barrier, use);
      break;
  }
}

void MbarrierProtocol::init(const MbarrierUse& use) {
  Barrier fresh;
  fresh.init = place_of(use.origin);
  fresh.init_lanes = 1u << use.origin.lane;
  fresh.expected_arrivals = use.count;
  const auto found = barriers_.find(use.offset);
  if (found != barriers_.end() && found->second.is_of_warp(fresh.init)) {
    fresh.init_lanes |= found->second.init_lanes;
  }
  barriers_[use.offset] = std::move(fresh);
}

void MbarrierProtocol::expect(Barrier& barrier, const MbarrierUse& use) {
  barrier.expectation = place_of(use.origin);
  barrier.expected_bytes += use.bytes;
  ++barrier.expectations;
  barrier.brings_bytes = true;
  if (use.origin.rank == block_.rank) barrier.early.erase(use.origin.warp);
  if (barrier.expected_bytes - barrier.bytes > kMostBytes && !barrier.reported) {
    report(barrier, use.offset,
           {.kind = FindingKind::expected_bytes,
            .facts = facts_of(barrier, PhaseFault::over_limit),
            .first = *barrier.expectation});
  }
}

void MbarrierProtocol::arrive(Barrier& barrier, const MbarrierUse& use) {
  if (use.bytes != 0) expect(barrier, use);
  const ThreadPlace place = place_of(use.origin);
  if (use.before.pending() < use.count && !barrier.reported) {
    PhaseFacts facts = facts_of(barrier, PhaseFault::too_many_arrivals);
    facts.arrivals += use.count;
    report(barrier, use.offset,
           {.kind = FindingKind::arrival_count,
            .facts = facts,
            .first = place,
            .second = barrier.arrival});
  }
  barrier.arrivals += use.count;
  barrier.arrival = place;
  if (use.origin.rank == block_.rank) {
    view(barrier, place.thread).arrived = barrier.phase;
    barrier.early.erase(use.origin.warp);
  }
  if (use.ends_phase()) end_phase(barrier, use);
  if (use.action == MbarrierAction::drop) {
    barrier.expected_arrivals -= std::min<std::uint64_t>(use.count, barrier.expected_arrivals);
  }
}

void MbarrierProtocol::announce(Barrier& barrier, const MbarrierUse& use) {
  const ThreadPlace place = place_of(use.origin);
  barrier.under_way.push_back({place, use.bytes});
  barrier.brings_bytes = true;
  if (use.origin.rank == block_.rank) barrier.early.erase(use.origin.warp);
  if (barrier.fenced || barrier.reported) return;
  // The vendor's own copies ask for no fence behind the init of a cuda::barrier, nor does CUB where
  // one thread initialises the mbarrier and starts the copy.
  const bool by_itself =
      barrier.is_of_warp(place) && (barrier.init_lanes >> use.origin.lane & 1) != 0;
  if (!by_itself && !is_from_library(launch_.program, place.instruction, "memcpy_async")) {
    report_init(barrier, use);
  }
}

void MbarrierProtocol::complete(Barrier& barrier, const MbarrierUse& use) const {
  barrier.bytes += use.bytes;
  const ThreadPlace place = place_of(use.origin);
  const auto copy =
      std::find_if(barrier.under_way.begin(), barrier.under_way.end(), [&](const Copy& each) {
        return each.place.instruction == place.instruction && each.place.block == place.block &&
               each.place.thread == place.thread;
      });
  if (copy != barrier.under_way.end()) barrier.under_way.erase(copy);
}

/// The phase ends with this arrival or these bytes: nothing that belongs to it may be under way.
void MbarrierProtocol::end_phase(Barrier& barrier, const MbarrierUse& use) {
  if (!barrier.under_way.empty() && !barrier.reported) {
    const bool expects = barrier.expected_bytes != 0;
    PhaseFacts facts =
        facts_of(barrier, expects ? PhaseFault::too_many_bytes : PhaseFault::not_expected);
    for (const Copy& copy : barrier.under_way) facts.bytes += copy.bytes;
    const bool arrival = use.action == MbarrierAction::arrive || use.action == MbarrierAction::drop;
    const bool known = expects && barrier.expectation;
    report(barrier, use.offset,
           {.kind = FindingKind::expected_bytes,
            .facts = facts,
            .first = known                         ? *barrier.expectation
                     : arrival || !barrier.arrival ? place_of(use.origin)
                                                   : *barrier.arrival,
            .second = barrier.under_way.front().place});
  }
  ++barrier.phase;
  barrier.arrivals = 0;
  barrier.expected_bytes = barrier.bytes = 0;
  barrier.expectations = 0;
  barrier.failed.clear();
}

/// A parity names every other phase: a test for the phase under way that asks for the parity of the
/// phase before passes at once.
void MbarrierProtocol::test(Barrier& barrier, const MbarrierUse& use) {
  const std::uint32_t warp = use.origin.warp;
  barrier.awaited = true;
  explains_ |= barrier.reported;
  if (!use.passed) {
    barrier.failed[warp] = {use.origin.instruction, use.lanes};
    return;
  }
  const std::int64_t over = barrier.phase - 1;
  LaneMask wrong = 0;
  for (LaneMask m = use.lanes; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    View& seen = view(barrier, thread_of(warp, lane));
    // It has seen that phase end before, and the next one is under way by bytes or by itself.
    const bool again = seen.passed == over && !use.by_token &&
                       (barrier.moves_bytes() || seen.arrived == barrier.phase);
    if (again) wrong |= LaneMask{1} << lane;
    seen.passed = over;
  }
  if (over < 0 && !use.by_token && barrier.phase == 0) {
    Test& early = barrier.early[warp];
    if (early.lanes == 0) early.instruction = use.origin.instruction;
    early.lanes |= use.lanes;
  }
  if (wrong == 0 || barrier.reported) return;
  emulator::BulkOrigin origin = use.origin;
  origin.lane = std::countr_zero(wrong);
  report(barrier, use.offset,
         {.kind = FindingKind::phase_parity,
          .facts = facts_of(barrier, PhaseFault::passes_at_once),
          .first = place_of(origin),
          .first_action = ThreadAction::wait,
          .second = barrier.expectation ? barrier.expectation : barrier.arrival});
}

void MbarrierProtocol::ignored_test(const MbarrierUse& use) {
  const auto found = barriers_.find(use.offset);
  if (found == barriers_.end()) return;
  PhaseFacts facts = facts_of(found->second, PhaseFault::not_tested);
  if (use.passed && facts.phase > 0) --facts.phase;  // it is over
  log_.add({.kind = FindingKind::phase_parity,
            .severity = Severity::warning,
            .facts = facts,
            .offset = use.offset,
            .first = place_of(use.origin),
            .first_action = ThreadAction::wait});
}

void MbarrierProtocol::report_early_passes() {
  for (auto& [offset, barrier] : barriers_) {
    if (!barrier.brings_bytes || barrier.early.empty() || barrier.reported) continue;
    report(barrier, offset, early_pass(barrier));
  }
}

void MbarrierProtocol::end_block(bool complete) {
  if (!complete) return;
  report_early_passes();
  if (refused_) return;
  for (auto& [offset, barrier] : barriers_) {
    const std::int64_t missing = barrier.expected_bytes - barrier.bytes;
    // Another block of the cluster may still send them.
    if (missing == 0 || (missing > 0 && launch_.cluster.count() > 1) || barrier.reported) continue;
    const bool expects = barrier.expected_bytes != 0;
    PhaseFacts facts = facts_of(barrier, missing > 0 ? PhaseFault::too_few_bytes
                                         : expects   ? PhaseFault::too_many_bytes
                                                     : PhaseFault::not_expected);
    // Bytes that came behind the end of the phase that should have waited for them.
    if (!expects && barrier.arrivals == 0 && facts.phase > 0) --facts.phase;
    const bool known = expects && barrier.expectation;
    report(barrier, offset,
           {.kind = FindingKind::expected_bytes,
            .facts = facts,
            .first = known             ? *barrier.expectation
                     : barrier.arrival ? *barrier.arrival
                                       : barrier.init});
  }
}

MbarrierProtocol::Hang MbarrierProtocol::judge(std::uint32_t offset, const Barrier& barrier,
                                               const emulator::StuckLanes& lanes) const {
  const ThreadPlace waiter =
      place_of({lanes.instruction, block_.rank, lanes.warp, std::countr_zero(lanes.mask)});
  Hang hang{Hang::Reason::nobody_came,
            {.facts = facts_of(barrier, PhaseFault::none),
             .offset = offset,
             .first = waiter,
             .first_action = ThreadAction::wait}};
  const auto blame = [&](Hang::Reason reason, FindingKind kind, PhaseFault fault,
                         const std::optional<ThreadPlace>& cause) {
    hang.reason = reason;
    hang.mistake.kind = kind;
    hang.mistake.facts.fault = fault;
    if (!cause) return;
    hang.mistake.second = hang.mistake.first;
    hang.mistake.second_action = hang.mistake.first_action;
    hang.mistake.first = *cause;
    hang.mistake.first_action = ThreadAction::none;
  };
  const std::int64_t missing = barrier.expected_bytes - barrier.bytes;
  const bool all_arrived = barrier.arrivals >= barrier.expected_arrivals;
  const std::int64_t passed = barrier.views.empty() ? kNever : barrier.views[waiter.thread].passed;
  // A thread that waits for every phase wants the one behind the last that it has seen end.
  const std::int64_t wanted = std::max<std::int64_t>(passed + 1, 0);
  if (missing < 0) {
    blame(Hang::Reason::bytes, FindingKind::expected_bytes,
          barrier.expected_bytes != 0 ? PhaseFault::too_many_bytes : PhaseFault::not_expected,
          barrier.expectation);
  } else if (missing > 0 && all_arrived && !refused_) {
    const bool twice = barrier.expectations > 1 && barrier.expected_bytes == 2 * barrier.bytes;
    blame(Hang::Reason::bytes, FindingKind::expected_bytes,
          twice ? PhaseFault::expected_twice : PhaseFault::too_few_bytes, barrier.expectation);
  } else if (barrier.phase >= wanted + 2 && (barrier.phase - wanted) % 2 == 0) {
    blame(Hang::Reason::missed, FindingKind::phase_parity, PhaseFault::phase_missed, std::nullopt);
    hang.mistake.facts.phase = static_cast<std::uint64_t>(wanted);
    hang.mistake.second = barrier.arrival;
  } else if (barrier.arrivals != 0 && !all_arrived) {
    blame(Hang::Reason::arrivals, FindingKind::arrival_count, PhaseFault::too_few_arrivals,
          barrier.init);
  }
  return hang;
}

bool MbarrierProtocol::deadlock(const emulator::Deadlock& deadlock) {
  report_early_passes();
  std::optional<Hang> cause;
  const emulator::StuckLanes* culprit = nullptr;
  for (const emulator::StuckLanes& lanes : deadlock.stuck) {
    if (lanes.reason != emulator::StuckReason::spin || lanes.space != emulator::Space::shared) {
      continue;
    }
    const auto offset =
        static_cast<std::uint32_t>(emulator::shared_place(lanes.address, block_.rank).offset);
    const auto found = barriers_.find(offset);
    if (found == barriers_.end() || !found->second.failed.contains(lanes.warp)) continue;
    Hang hang = judge(offset, found->second, lanes);
    if (cause && cause->reason <= hang.reason) continue;
    cause = hang;
    culprit = &lanes;
  }
  if (!cause) return false;
  if (reported_) return true;
  PhaseMistake& mistake = cause->mistake;
  if (mistake.kind == FindingKind::endless_wait) {
    for (const emulator::StuckLanes& other : deadlock.stuck) {
      if (other.instruction == culprit->instruction) continue;
      mistake.second =
          place_of({other.instruction, block_.rank, other.warp, std::countr_zero(other.mask)});
      mistake.second_action = ThreadAction::wait;
      break;
    }
  }
  reported_ = true;
  explains_ |= mistake.kind != FindingKind::endless_wait;
  log_.add(mistake);
  return true;
}

}  // namespace tilescope::observe

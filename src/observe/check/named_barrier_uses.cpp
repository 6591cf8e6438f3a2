#include "observe/check/named_barrier_uses.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace tilescope::observe {
namespace {

using emulator::BarrierArrival;
using emulator::BarrierOperation;

bool only_arrives(const BarrierArrival& arrival) {
  return arrival.operation == BarrierOperation::arrive;
}

bool is_same_warp(const BarrierArrival& one, const BarrierArrival& other) {
  return one.warp == other.warp && (one.mask & other.mask) != 0;
}

/// A warp that arrives and then waits too: both count.
bool waits_for_itself(const BarrierArrival& first, const BarrierArrival& second) {
  return is_same_warp(first, second) && only_arrives(first) && !only_arrives(second);
}

}  // namespace

void NamedBarrierUses::begin_block(std::uint64_t block) {
  block_ = block;
  for (Arrivals& arrivals : arrivals_) arrivals.clear();
  for (auto& lone : lone_) lone.reset();
  mistaken_.fill(false);
}

ThreadPlace NamedBarrierUses::place_of(const BarrierArrival& arrival) const {
  return {arrival.instruction, block_,
          arrival.warp * emulator::kWarpSize +
              static_cast<std::uint32_t>(std::countr_zero(arrival.mask))};
}

void NamedBarrierUses::report(BarrierMixup mixup, const BarrierArrival& first,
                              const BarrierArrival& second) {
  // The first mistake counts: what happens next at this barrier follows from it.
  if (std::exchange(mistaken_[first.barrier], true)) return;
  mistakes_.add({mixup, first.instruction, second.instruction},
                {place_of(first), place_of(second), first.barrier});
}

void NamedBarrierUses::arrive(const BarrierArrival& arrival) {
  Arrivals& before = arrivals_[arrival.barrier];
  const std::uint32_t warp = 1u << arrival.warp;
  const bool like_others =
      (before.warps & warp) == 0 && before.expected_threads == arrival.expected_threads;
  before.warps |= warp;
  if (before.all.empty()) before.expected_threads = arrival.expected_threads;
  for (const BarrierArrival& other : before.all) {
    if (like_others) break;
    if (other.expected_threads != arrival.expected_threads) {
      report(BarrierMixup::other_count, other, arrival);
    } else if (is_same_warp(other, arrival) && !waits_for_itself(other, arrival)) {
      report(BarrierMixup::arrived_twice, other, arrival);
    }
  }
  before.all.push_back(arrival);
}

void NamedBarrierUses::complete(const emulator::BarrierCompletion& completion) {
  const auto arrivals = completion.arrivals;
  if (!arrivals.empty() && std::all_of(arrivals.begin(), arrivals.end(), only_arrives)) {
    report(BarrierMixup::nobody_waits, arrivals.front(), arrivals.back());
  }
  if (std::any_of(arrivals.begin(), arrivals.end(), only_arrives)) judge_lone_waits(completion);
  arrivals_[completion.barrier].clear();
}

/// Warps that take turns begin so: the first arrives for itself. But where others do the same at
/// that barrier, they meant to wait for each other.
void NamedBarrierUses::judge_lone_waits(const emulator::BarrierCompletion& completion) {
  std::optional<LoneWait> found;
  std::size_t in_pairs = 0;
  for (const BarrierArrival& first : completion.arrivals) {
    for (const BarrierArrival& second : completion.arrivals) {
      if (!waits_for_itself(first, second)) continue;
      if (!found) found = LoneWait{first, second};
      in_pairs += 2;
    }
  }
  if (!found || in_pairs < completion.arrivals.size()) return;
  std::optional<LoneWait>& before = lone_[completion.barrier];
  const bool is_first = !before;
  if (is_first) before = found;
  const auto is_before = [&](const BarrierArrival& arrival) {
    return arrival.warp == before->wait.warp;
  };
  if (!is_first &&
      std::none_of(completion.arrivals.begin(), completion.arrivals.end(), is_before)) {
    report(BarrierMixup::arrived_twice, before->arrival, before->wait);
  }
}

void NamedBarrierUses::describe(const Describer& describer, std::vector<Finding>& findings) const {
  for (const auto& [key, folded] : mistakes_) {
    const Mistake& mistake = folded.mistake;
    Finding f = describer.finding(FindingKind::named_barrier_reuse, key.second, ThreadAction::none,
                                  mistake.second.block, mistake.second.thread);
    f.count = folded.count;
    f.facts = WaitFacts{.barrier = mistake.barrier, .mixup = key.mixup};
    f.second =
        describer.access(key.first, ThreadAction::none, mistake.first.block, mistake.first.thread);
    if (f.second->place.line != 0 && f.second->place == f.first.place) f.second.reset();
    findings.push_back(std::move(f));
  }
}

}  // namespace tilescope::observe

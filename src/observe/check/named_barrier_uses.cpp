#include "observe/check/named_barrier_uses.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace tilescope::observe {
namespace {

using emulator::BarrierArrival;
using emulator::BarrierOperation;

}  // namespace

void NamedBarrierUses::begin_block(std::uint64_t block) {
  block_ = block;
  for (auto& arrivals : arrivals_) arrivals.clear();
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
  std::vector<BarrierArrival>& before = arrivals_[arrival.barrier];
  for (const BarrierArrival& other : before) {
    if (other.expected_threads != arrival.expected_threads) {
      report(BarrierMixup::other_count, other, arrival);
    } else if (other.warp == arrival.warp && (other.mask & arrival.mask) != 0) {
      report(BarrierMixup::arrived_twice, other, arrival);
    }
  }
  before.push_back(arrival);
}

void NamedBarrierUses::complete(const emulator::BarrierCompletion& completion) {
  const auto only_arrives = [](const BarrierArrival& arrival) {
    return arrival.operation == BarrierOperation::arrive;
  };
  const auto arrivals = completion.arrivals;
  if (!arrivals.empty() && std::all_of(arrivals.begin(), arrivals.end(), only_arrives)) {
    report(BarrierMixup::nobody_waits, arrivals.front(), arrivals.back());
  }
  arrivals_[completion.barrier].clear();
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

#include "observe/check/check_observer.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/one_of.hpp"
#include "base/symbol_names.hpp"
#include "observe/check/check_block.hpp"
#include "observe/check/race_findings.hpp"
#include "observe/check/wgmma_registers.hpp"
#include "observe/findings.hpp"

namespace tilescope::observe {
namespace {

/// From now on the bytes that the launch has written hold values.
void keep_contents(const GridSummary& summary, emulator::MemoryMap& memory) {
  emulator::Allocation* in = nullptr;
  summary.for_written([&](std::uint64_t address, std::uint64_t bytes) {
    if (in == nullptr || address - in->address() >= in->bytes()) in = memory.find(address);
    if (in != nullptr) in->mark_initialised(address - in->address(), bytes);
  });
}

/// The global memory that the launch has written.
Stretches written_by(const LaunchChecks& launch) {
  Stretches all(launch.bulk_writes.stretches().begin(), launch.bulk_writes.stretches().end());
  launch.summary.for_written([&](std::uint64_t address, std::uint64_t bytes) {
    all.emplace_back(address, address + bytes);
  });
  std::sort(all.begin(), all.end());
  Stretches apart;
  for (const auto& [begin, end] : all) {
    if (!apart.empty() && begin <= apart.back().second) {
      apart.back().second = std::max(apart.back().second, end);
    } else {
      apart.emplace_back(begin, end);
    }
  }
  return apart;
}

/// Whether the kernel has an effect other than on memory: printing, trapping, launching.
bool speaks(const emulator::Program& program) {
  for (const emulator::CodeFunction& function : program.functions()) {
    for (const emulator::CallCode& call : function.calls) {
      if (call.builtin == emulator::Builtin::printf ||
          call.builtin == emulator::Builtin::assert_fail ||
          call.builtin == emulator::Builtin::device) {
        return true;
      }
    }
  }
  return std::any_of(program.instructions().begin(), program.instructions().end(),
                     [](const emulator::InstructionInfo& info) {
                       return ptx::info(info.source->opcode).end == ptx::BlockEnd::trap;
                     });
}

/// The source line that ran most often, and its share of all instructions in percent.
std::pair<emulator::InstructionId, double> busiest_line(const emulator::LaunchTotals& totals,
                                                        const PlaceTable& places) {
  std::map<std::uint32_t, std::uint64_t> by_place;
  for (std::uint32_t id = 0; id < totals.counts.executed.size(); ++id) {
    by_place[places.index(id)] += totals.counts.executed[id];
  }
  const auto most =
      std::max_element(by_place.begin(), by_place.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  emulator::InstructionId busiest = 0;
  for (std::uint32_t id = 0; id < totals.counts.executed.size(); ++id) {
    if (places.index(id) == most->first &&
        totals.counts.executed[id] > totals.counts.executed[busiest]) {
      busiest = id;
    }
  }
  return {busiest, 100.0 * static_cast<double>(most->second) /
                       static_cast<double>(std::max<std::uint64_t>(1, totals.warp_instructions))};
}

void describe_all_races(LaunchChecks& launch, std::vector<Finding>& findings) {
  if (launch.races.empty() && launch.volatile_races.empty()) return;
  const UpdatePairs updates(launch.info.program);
  launch.volatile_races.resolve(launch.flags, updates, launch.races);
  describe_races(launch.races, launch.describer, {updates, launch.roles, launch.fences_blocks},
                 findings);
}

void describe_races_with_parent(const LaunchChecks& parent, const LaunchChecks& child,
                                std::vector<Finding>& findings) {
  const auto side = [](const LaunchChecks& of) {
    return ChildGrids::Grid{of.summary, of.describer, of.roles};
  };
  parent.children.find_races(child.info.child, side(parent), !parent.grid_order, side(child),
                             findings);
}

/// Where barriers end too early, threads read shared memory before its bytes have come, and copies
/// come before threads have read: those are no defects of their own. But a thread that waits for
/// nobody may well arrive too often, or leave others behind.
void drop_early_reads(std::vector<Finding>& findings) {
  const bool runs_ahead = std::any_of(findings.begin(), findings.end(), [](const Finding& f) {
    const PhaseFacts* facts = std::get_if<PhaseFacts>(&f.facts);
    return facts != nullptr &&
           is_one_of(facts->fault, {PhaseFault::too_many_arrivals, PhaseFault::phase_missed});
  });
  std::erase_if(findings, [&](const Finding& finding) {
    using enum FindingKind;
    if (std::holds_alternative<AsyncFacts>(finding.facts)) {
      return is_one_of(finding.kind, {unfinished_copy, unfinished_async_work}) ||
             (finding.kind == early_overwrite && !runs_ahead);
    }
    return finding.kind == uninitialised_read && finding.memory &&
           finding.memory->space == MemorySpace::shared;
  });
}

/// Where arrivals go astray, threads wait for ever: that is no defect of its own.
void drop_endless_waits(std::vector<Finding>& findings) {
  const bool astray = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.kind == FindingKind::local_arrive_remote;
  });
  std::erase_if(findings, [&](const Finding& finding) {
    return astray && is_one_of(finding.kind, {FindingKind::endless_wait, FindingKind::arrival_count,
                                              FindingKind::expected_bytes});
  });
}

/// Reports launches by the kernel that failed unnoticed.
void describe_refused(const emulator::LaunchTotals& totals, const LaunchChecks& launch,
                      std::vector<Finding>& findings) {
  for (const emulator::RefusedLaunch& refused : totals.refused) {
    Finding f = launch.describer.finding(FindingKind::illegal_launch, refused.instruction,
                                         ThreadAction::none, refused.block, refused.thread);
    f.facts = LaunchRefusal{refused.reason};
    f.count = refused.count;
    findings.push_back(std::move(f));
  }
}

/// Reports a launch that did not complete.
void describe_end(const emulator::LaunchTotals& totals, const LaunchChecks& launch,
                  std::vector<Finding>& findings) {
  if (totals.end == emulator::LaunchEnd::trapped) {
    const emulator::TrapPlace& trap = totals.trap;
    Finding f = launch.describer.finding(FindingKind::trap, trap.instruction, ThreadAction::none,
                                         trap.block, trap.thread);
    f.facts =
        TrapFacts{trap.reason, trap.what,
                  trap.reason == TrapReason::trap && !launch.info.cooperative &&
                      is_from_library(launch.info.program, trap.instruction, "cooperative_groups")};
    findings.push_back(std::move(f));
  } else if (totals.end == emulator::LaunchEnd::budget_spent && totals.warp_instructions != 0) {
    const auto [instruction, percent] = busiest_line(totals, launch.places);
    Finding f =
        launch.describer.finding(FindingKind::unfinished, instruction, ThreadAction::none, 0, 0);
    f.first.thread.reset();
    f.facts = LimitFacts{totals.warp_instructions, percent};
    findings.push_back(std::move(f));
  }
}

}  // namespace

CheckObserver::CheckObserver(std::uint64_t enough)
    : enough_(enough), found_(std::make_unique<FoundSoFar>()) {}
CheckObserver::~CheckObserver() = default;

std::uint32_t CheckObserver::events() const {
  return emulator::kGlobalAccess | emulator::kSharedAccess | emulator::kLocalAccess |
         emulator::kOrder | emulator::kFrames | emulator::kFaults | emulator::kBulk |
         emulator::kMatrix | emulator::kProtocol;
}

bool CheckObserver::has_seen_enough() const {
  return enough_ != 0 && found_->count() >= enough_;
}

bool CheckObserver::wants_block_order() const {
  return launch_ != nullptr && launch_->grid_order.has_value();
}

void CheckObserver::begin_launch(const emulator::LaunchInfo& launch) {
  findings_.clear();
  limitation_ = Limitation::none;
  // The same kernel again may be the same launch in another order.
  std::string kernel = function_name(std::string(launch.kernel));
  const bool overlaps = launch.overlaps_previous && kernel != kernel_;
  kernel_ = std::move(kernel);
  shared_symbols_.clear();
  for (const emulator::SharedVariable& variable : launch.shared_variables) {
    shared_symbols_.emplace_back(variable.name);
  }
  if (launch.child == 0) parents_.clear();
  launch_ = std::make_shared<LaunchChecks>(launch, overlaps ? before_ : Stretches{}, *found_);
  before_.clear();
}

std::unique_ptr<emulator::BlockObserver> CheckObserver::make_block_observer() {
  return std::make_unique<CheckBlock>(*launch_);
}

void CheckObserver::merge(emulator::BlockObserver& block) {
  static_cast<CheckBlock&>(block).merge_into(*launch_);
}

void CheckObserver::end_launch(const emulator::LaunchTotals& totals) {
  LaunchChecks& launch = *launch_;
  const bool overflowed = launch.overflowed || launch.summary.overflowed() ||
                          (launch.grid_order && launch.grid_order->overflowed());
  if (launch.grid_order) {
    launch.races.merge(launch.grid_order->log());
    launch.volatile_races.merge(launch.grid_order->volatile_races());
  } else {
    launch.summary.find_races(launch.values, launch.wild_threads, launch.races,
                              launch.volatile_races);
  }
  describe_all_races(launch, findings_);
  if (const auto parent = parents_.find(launch.info.child); parent != parents_.end()) {
    describe_races_with_parent(*parent->second, launch, findings_);
    parents_.erase(parent);
  }
  launch.children.for_launches([&](std::uint64_t number) { parents_[number] = launch_; });
  // Blocks that did not run might have written what others read.
  const bool all_known = !overflowed && totals.end != emulator::LaunchEnd::seen_enough;
  launch.undefined.describe(launch.describer, all_known ? &launch.summary : nullptr,
                            launch.bulk_writes, findings_);
  if (launch.async) {
    AsyncLog log = launch.async->log();
    find_touched_registers(launch.info.program, totals.counts.executed, log);
    log.describe(launch.describer, findings_);
  }
  launch.protocols.describe(launch.describer, findings_);
  if (launch.protocols.mbarriers.explains_early_reads()) drop_early_reads(findings_);
  launch.faults.describe(launch.describer, findings_);
  drop_endless_waits(findings_);
  describe_refused(totals, launch, findings_);
  describe_end(totals, launch, findings_);
  const bool complete = totals.end == emulator::LaunchEnd::complete;
  blocks_left_out_ = totals.end == emulator::LaunchEnd::seen_enough
                         ? launch.info.grid.count() - totals.blocks_run
                         : 0;
  // The kernel heap holds no results, but later launches see it: such kernels are left out.
  if (complete && !launch.info.program.needs().heap && totals.blocks_run != 0 &&
      totals.faults == 0 && totals.deadlocked_blocks == 0 && !overflowed &&
      !launch.summary.anything_written() && launch.bulk_writes.empty() &&
      !speaks(launch.info.program)) {
    Finding f = launch.describer.finding(FindingKind::wrote_nothing, 0, ThreadAction::none, 0, 0);
    f.severity = Severity::warning;
    f.first.thread.reset();
    findings_.push_back(std::move(f));
  }
  if (overflowed) {
    limitation_ = Limitation::memory_records;
    launch.info.memory.mark_all_initialised();
  } else {
    keep_contents(launch.summary, launch.info.memory);
    launch.bulk_writes.keep(launch.info.memory);
    if (launch.protocols.grid.lets_next_begin()) before_ = written_by(launch);
  }
  fold(findings_);
  launch_.reset();
}

}  // namespace tilescope::observe

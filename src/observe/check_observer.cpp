#include "observe/check_observer.hpp"

#include <algorithm>

#include "observe/check_block.hpp"
#include "observe/race_findings.hpp"

namespace tilescope::observe {
namespace {

/// Bytes that the launch has written hold values from now on.
void keep_contents(const GridSummary& summary, emulator::MemoryMap& memory) {
  std::uint64_t begin = 0, end = 0;
  const auto flush = [&] {
    if (end == begin) return;
    emulator::Allocation* allocation = memory.find(begin);
    if (allocation != nullptr)
      allocation->mark_initialised(begin - allocation->address(), end - begin);
  };
  const emulator::Allocation* in = nullptr;
  summary.for_written([&](std::uint64_t address, std::uint64_t bytes) {
    if (in == nullptr || address - in->address() >= in->bytes()) in = memory.find(address);
    if (in == nullptr || in->fully_initialised()) return;
    if (address != end) {
      flush();
      begin = address;
    }
    end = address + bytes;
  });
  flush();
}

/// Does the kernel have an effect that leaves memory alone: printing, trapping?
bool speaks(const emulator::Program& program) {
  for (const emulator::CodeFunction& function : program.functions()) {
    for (const emulator::CallCode& call : function.calls) {
      if (call.builtin == emulator::Builtin::printf ||
          call.builtin == emulator::Builtin::assert_fail) {
        return true;
      }
    }
  }
  return std::any_of(program.instructions().begin(), program.instructions().end(),
                     [](const emulator::InstructionInfo& info) {
                       return info.source->opcode == ptx::Opcode::trap;
                     });
}

}  // namespace

CheckObserver::CheckObserver() = default;
CheckObserver::~CheckObserver() = default;

std::uint32_t CheckObserver::events() const {
  return emulator::kGlobalAccess | emulator::kSharedAccess | emulator::kLocalAccess |
         emulator::kOrder | emulator::kFrames | emulator::kFaults;
}

bool CheckObserver::wants_block_order() const {
  return launch_ != nullptr && launch_->grid_order.has_value();
}

void CheckObserver::begin_launch(const emulator::LaunchInfo& launch) {
  findings_.clear();
  limitation_.clear();
  launch_ = std::make_unique<LaunchChecks>(launch);
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
  launch.races.merge(launch.grid_order ? launch.grid_order->log()
                                       : launch.summary.races(launch.values));
  describe_races(launch.races, launch.describer, findings_);
  launch.undefined.describe(launch.describer, launch.races, overflowed ? nullptr : &launch.summary,
                            findings_);
  launch.faults.describe(launch.describer, findings_);
  const bool complete = totals.end == emulator::LaunchEnd::complete;
  if (complete && totals.blocks_run != 0 && totals.faults == 0 && totals.deadlocked_blocks == 0 &&
      !overflowed && !launch.summary.anything_written() && !speaks(launch.info.program)) {
    Finding f;
    f.kind = FindingKind::wrote_nothing;
    f.severity = Severity::warning;
    f.first = launch.describer.access(0, "", 0, 0);
    f.message = "the kernel wrote nothing to global memory";
    f.cure = "check the condition that guards the stores, and the launch's extents";
    findings_.push_back(std::move(f));
  }
  if (overflowed) {
    limitation_ =
        "the launch touches more global memory than the check of races and uninitialised reads "
        "keeps records for; what lies beyond was not checked";
    launch.info.memory.mark_all_initialised();
  } else {
    keep_contents(launch.summary, launch.info.memory);
  }
  fold(findings_);
  launch_.reset();
}

}  // namespace tilescope::observe
